import pytest

from tests.examples.scripts import read_table, run_example

pytestmark = [pytest.mark.backend("tensorflow"), pytest.mark.slow]

ROWS = [
    "single model, entropy",
    "ZigZag, notebook, distance",
    "ZigZag, notebook, entropy of y0",
    "ZigZag, default, distance",
    "ZigZag, default, entropy of y0",
]


def test_quick(tfds_data_dir, tmp_path):
    picture = tmp_path / "mnist.png"
    output = run_example("mnist.py", "--quick", "--out", picture, timeout=300)
    table = read_table(output)
    assert list(table) == ROWS
    assert table["ZigZag, default, distance"]["accuracy"] > 0.85
    assert table["ZigZag, default, distance"]["OOD ROC-AUC"] > 0.7
    assert picture.stat().st_size > 10_000


def test_notebook_setting_in_the_mean_of_three_seeds(tfds_data_dir, tmp_path):
    output = run_example(
        "mnist.py", "--out", tmp_path / "mnist.png", timeout=3600
    )
    notebook = read_table(output)["ZigZag, notebook, distance"]
    assert notebook["OOD ROC-AUC"] >= 0.97
    assert notebook["rAULC"] >= 0.94
