import matplotlib.image
import pytest

from tests.examples.scripts import read_table, run_example

pytestmark = pytest.mark.backend("tensorflow")

ROWS = ["single model, entropy", "ZigZag, distance", "ZigZag, entropy of y0"]
COLUMNS = ["accuracy", "rAULC", "OOD ROC-AUC", "OOD average precision"]


@pytest.mark.slow
def test_few_epochs(tmp_path):
    picture = tmp_path / "digits.png"
    output = run_example(
        "digits.py", "--seeds", 1, "--epochs", 8, "--out", picture, timeout=60
    )

    table = read_table(output)
    assert list(table) == ROWS
    for row in table.values():
        assert list(row) == COLUMNS
        assert row["accuracy"] > 0.9
        assert row["rAULC"] > 0.5
        assert 0.7 < row["OOD ROC-AUC"] <= 1.0
        assert 0.7 < row["OOD average precision"] <= 1.0
    # y0 is the prediction, so its entropy is judged on the same answers.
    assert table[ROWS[1]]["accuracy"] == table[ROWS[2]]["accuracy"]
    assert "Epoch 8/8" in output
    assert "631 test digits 0-4, 896 digits 5-9" in output

    pixels = matplotlib.image.imread(picture)
    assert pixels.shape[:2] == (576, 840)
    assert pixels.std() > 0.1
