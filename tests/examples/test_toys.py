import matplotlib.image
import pytest

from tests.examples.scripts import run_example

pytestmark = [pytest.mark.backend("tensorflow"), pytest.mark.slow]

EPOCHS = 1


def read_rows(output):
    """The numbers of the table by row."""
    lines = [line for line in output.splitlines() if line.startswith("|")]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]
    ]
    return {row[0]: [float(cell) for cell in row[1:]] for row in rows}


def test_classification(tmp_path):
    picture = tmp_path / "moons.png"
    output = run_example(
        "toy_classification.py",
        "--epochs",
        EPOCHS,
        "--out",
        picture,
        timeout=300,
    )
    rows = read_rows(output)
    assert list(rows) == [
        "single model, entropy",
        "ZigZag, distance",
        "ZigZag, entropy of y0",
        "ZigZag on values, distance",
        "ZigZag on values, blank -100, distance",
    ]
    for accuracy, area in rows.values():
        assert 0.0 < accuracy <= 1.0 and 0.0 <= area <= 1.0
    assert matplotlib.image.imread(picture).std() > 0.1


def test_regression(tmp_path):
    picture = tmp_path / "cubic.png"
    output = run_example(
        "toy_regression.py", "--epochs", EPOCHS, "--out", picture, timeout=300
    )
    rows = read_rows(output)
    assert len(rows) == 3
    for error, *_, area, correlation in rows.values():
        assert error > 0.0
        assert 0.0 <= area <= 1.0 and -1.0 <= correlation <= 1.0
    assert matplotlib.image.imread(picture).std() > 0.1


@pytest.mark.slow
def test_regression_is_uncertain_where_there_was_no_data(tmp_path):
    output = run_example(
        "toy_regression.py", "--out", tmp_path / "cubic.png", timeout=3000
    )
    for name, (error, seen, unseen, area, _) in read_rows(output).items():
        if name.startswith("ZigZag"):
            assert error < 0.05
            assert unseen > 4 * seen
            assert area > 0.8
