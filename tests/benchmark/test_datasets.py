import sys

import numpy as np
import pytest

from keras_zigzag.benchmark import datasets


@pytest.fixture
def uci(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_ZIGZAG_UCI_DIR", str(tmp_path))
    (tmp_path / "two.csv").write_text("y,x1,x0\n1,2,3\n4,5,6\n")
    return tmp_path


def test_split_is_of_the_seed_and_loses_nothing():
    x, y = np.arange(20), np.arange(20) * 2
    (x1, y1), (x2, y2) = datasets.split_validation(x, y, 0.25, seed=3)
    assert len(x1) == 15 and len(x2) == 5
    assert sorted([*x1, *x2]) == list(x)
    np.testing.assert_array_equal(y1, x1 * 2)
    np.testing.assert_array_equal(y2, x2 * 2)
    again = datasets.split_validation(x, y, 0.25, seed=3)
    np.testing.assert_array_equal(again[1][0], x2)
    other = datasets.split_validation(x, y, 0.25, seed=4)
    assert list(other[1][0]) != list(x2)


def test_split_of_a_count():
    x = np.arange(60_000)
    _, (found, _) = datasets.split_validation(x, x, 5_000 / 60_000, seed=0)
    assert len(found) == 5_000


@pytest.mark.parametrize("fraction", [0, 1, -0.1, "half", 0.01, 0.99])
def test_split_fractions(fraction):
    x = np.arange(10)
    with pytest.raises(ValueError, match="Received: fraction="):
        datasets.split_validation(x, x, fraction, seed=0)


def test_split_of_other_lengths_and_seeds():
    x = np.arange(10)
    with pytest.raises(ValueError, match="10 inputs and 9 targets"):
        datasets.split_validation(x, x[1:], 0.5, seed=0)
    with pytest.raises(ValueError, match="Received: seed=-1"):
        datasets.split_validation(x, x, 0.5, seed=-1)


def test_csv_columns_by_name(uci):
    x, y = datasets.load_csv("two")
    np.testing.assert_array_equal(x, [[3, 2], [6, 5]])
    np.testing.assert_array_equal(y, [[1], [4]])
    assert x.dtype == y.dtype == "float32"


def test_csv_folder_argument(uci, monkeypatch):
    monkeypatch.delenv("KERAS_ZIGZAG_UCI_DIR")
    assert datasets.load_csv("two", uci)[0].shape == (2, 2)
    monkeypatch.setenv("TFDS_DATA_DIR", str(uci / "tfds"))
    assert datasets.uci_folder() == uci / "uci"


def test_csv_missing(uci):
    with pytest.raises(FileNotFoundError, match="KERAS_ZIGZAG_UCI_DIR") as e:
        datasets.load_csv("three")
    assert str(uci / "three.csv") in str(e.value)


def test_csv_of_other_columns_or_values(uci):
    (uci / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="Received: .'a', 'b'"):
        datasets.load_csv("other")
    (uci / "gap.csv").write_text("x0,y\n1,nan\n")
    with pytest.raises(ValueError, match="not finite"):
        datasets.load_csv("gap")


def test_prepared(tmp_path, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    assert not datasets.is_prepared("mnist")
    (tmp_path / "mnist" / "3.0.1").mkdir(parents=True)
    assert not datasets.is_prepared("mnist")
    (tmp_path / "mnist" / "3.0.1" / "dataset_info.json").touch()
    assert datasets.is_prepared("mnist")
    assert not datasets.is_prepared("mnist", tmp_path / "other")


def test_missing_data_set(tmp_path):
    pytest.importorskip("tensorflow_datasets")
    with pytest.raises(FileNotFoundError, match="TFDS_DATA_DIR") as error:
        datasets.load_tfds("mnist", "test", tmp_path, download=False)
    assert str(tmp_path / "mnist") in str(error.value)


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"keras-zigzag\[examples\]"):
        datasets.load_tfds("mnist", "test")


@pytest.mark.slow
def test_prepared_data_set(tfds_data_dir):
    x, y = datasets.load_tfds("mnist", "test[:100]")
    assert x.shape == (100, 28, 28, 1) and x.dtype == "uint8"
    assert y.shape == (100,)
    with pytest.raises(ValueError, match="nonsense"):
        datasets.load_tfds("mnist", "nonsense")
