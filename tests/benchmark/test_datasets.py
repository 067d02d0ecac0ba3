import sys

import keras
import numpy as np
import pytest

from keras_zigzag.benchmark import datasets


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


def test_batches(monkeypatch):
    tf = pytest.importorskip("tensorflow")
    images = tf.reshape(tf.range(10 * 8 * 4 * 3), (10, 8, 4, 3))
    given = {}

    class FakeDatasets:
        ReadConfig = dict

        def load(name, **options):
            given.update(options, name=name)
            return tf.data.Dataset.from_tensor_slices((images, tf.range(10)))

    monkeypatch.setattr(datasets, "import_tfds", lambda: FakeDatasets)
    options = {"image_size": 4, "batch_size": 6, "data_dir": "here"}
    batches = list(datasets.tfds_batches("some", "train", **options))
    assert given["name"] == "some" and given["split"] == "train"
    assert not given["download"]
    assert [tuple(x.shape) for x, _ in batches] == [(6, 4, 4, 3), (4, 4, 4, 3)]
    np.testing.assert_array_equal(batches[0][0][0], images[0, 2:6])
    assert "shuffle_files" not in given

    def labels(seed, epoch):
        keras.utils.set_random_seed(0)
        batches = datasets.tfds_batches(
            "some", "train", shuffle_seed=seed, **options
        )
        batches.begin_epoch(epoch)
        return [int(one) for index in (0, 1) for one in batches[index][1]]

    orders = [labels(3, 0), labels(3, 1), labels(4, 0)]
    assert given["shuffle_files"]
    assert len({*map(tuple, orders), tuple(range(10))}) == 4
    assert all(sorted(order) == list(range(10)) for order in orders)
    # Whatever was read before, as after a restart or of another method.
    files = given["read_config"]
    assert labels(4, 0) == orders[2] and labels(3, 1) == orders[1]
    assert given["read_config"] != files
    assert labels(4, 0) == orders[2] and given["read_config"] == files


def test_batches_of_a_missing_data_set(tmp_path):
    pytest.importorskip("tensorflow_datasets")
    with pytest.raises(FileNotFoundError, match="imagenet2012"):
        datasets.tfds_batches("imagenet2012", "train", 8, 4, data_dir=tmp_path)


def test_arrays_are_read_without_the_package(tmp_path, monkeypatch):
    x, y = np.arange(12).reshape(3, 4), np.arange(3)
    np.savez_compressed(tmp_path / "pond-test.npz", x=x, y=y)
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    assert datasets.is_prepared("pond")
    found = datasets.load_tfds("pond", "test")
    np.testing.assert_array_equal(found[0], x)
    np.testing.assert_array_equal(found[1], y)
    with pytest.raises(ImportError, match="examples"):
        datasets.load_tfds("pond", "train")


@pytest.mark.skipif(
    not datasets.is_prepared("svhn_cropped"), reason="SVHN is not prepared"
)
@pytest.mark.backend("tensorflow")
def test_written_arrays_are_those_of_the_data_set(tmp_path, capsys):
    datasets.main(["svhn_cropped", "--to", str(tmp_path)])
    assert str(tmp_path / "svhn_cropped-test.npz") in capsys.readouterr().out
    x, y = datasets.load_tfds("svhn_cropped", "test", tmp_path)
    expected = datasets.load_tfds("svhn_cropped", "test")
    np.testing.assert_array_equal(x, expected[0])
    np.testing.assert_array_equal(y, expected[1])
