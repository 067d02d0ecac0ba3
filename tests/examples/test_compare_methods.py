import matplotlib.image
import pytest

import keras_zigzag as kz
from tests.examples.scripts import read_table, run_example

pytestmark = pytest.mark.backend("tensorflow")


@pytest.mark.slow
def test_all_thirteen(tmp_path):
    picture = tmp_path / "methods.png"
    output = run_example(
        "compare_methods.py", "--epochs", 4, "--out", picture, timeout=300
    )
    table = read_table(output)
    assert set(table) == set(kz.methods()) and len(table) == 13
    for row in table.values():
        assert row["accuracy"] > 0.6
        assert 0 <= row["ROC-AUC"] <= 1
        assert row["predict time"] > 0
    single = table["SingleModel"]
    for cost in ("parameters", "fit time", "predict time"):
        assert single[cost] == 1
    assert table["DeepEnsemble"]["parameters"] == pytest.approx(5)

    pixels = matplotlib.image.imread(picture)
    assert pixels.shape[:2] == (504, 1080)
    assert pixels.std() > 0.05
