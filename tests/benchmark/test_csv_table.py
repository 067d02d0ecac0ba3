import numpy as np
import pytest

from keras_zigzag.benchmark import csv_table


@pytest.fixture
def uci(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_ZIGZAG_UCI_DIR", str(tmp_path))
    (tmp_path / "two.csv").write_text("y,x1,x0\n1,2,3\n4,5,6\n")
    return tmp_path


def test_csv_columns_by_name(uci):
    x, y = csv_table.load_csv("two")
    np.testing.assert_array_equal(x, [[3, 2], [6, 5]])
    np.testing.assert_array_equal(y, [[1], [4]])
    assert x.dtype == y.dtype == "float32"


def test_csv_folder_argument(uci, monkeypatch):
    monkeypatch.delenv("KERAS_ZIGZAG_UCI_DIR")
    assert csv_table.load_csv("two", uci)[0].shape == (2, 2)
    monkeypatch.setenv("TFDS_DATA_DIR", str(uci / "tfds"))
    assert csv_table.uci_folder() == uci / "uci"


def test_csv_missing(uci):
    with pytest.raises(FileNotFoundError, match="KERAS_ZIGZAG_UCI_DIR") as e:
        csv_table.load_csv("three")
    assert str(uci / "three.csv") in str(e.value)


def test_csv_of_other_columns_or_values(uci):
    (uci / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="Received: .'a', 'b'"):
        csv_table.load_csv("other")
    (uci / "gap.csv").write_text("x0,y\n1,nan\n")
    with pytest.raises(ValueError, match="not finite"):
        csv_table.load_csv("gap")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x0,x1,y\n1,2,3,4\n5,6,7,8\n", r"of its 3 columns.*\(2, 4\)"),
        ("x0,x1,y\n1,2\n", r"of its 3 columns.*\(1, 2\)"),
        ("x0,y\n1,1e39\n", "too large for float32"),
    ],
)
def test_csv_whose_rows_are_not_those_of_the_header(uci, text, message):
    (uci / "odd.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        csv_table.load_csv("odd")


@pytest.mark.filterwarnings("ignore:loadtxt. input contained no data")
def test_csv_without_rows(uci):
    (uci / "odd.csv").write_text("x0,y\n")
    with pytest.raises(ValueError, match="a number for each of its 2 columns"):
        csv_table.load_csv("odd")
