import json

import pytest

from keras_zigzag.benchmark import cost, cost_cases, cost_methods
from keras_zigzag.benchmark.cost_methods import MethodRow
from keras_zigzag.benchmark.cost_table import Spread
from tests.benchmark.tiny import TINY


def test_the_ratio_is_taken_within_each_repeat():
    seconds = {"SingleModel": [1.0, 2.0, 1.0], "other": [3.0, 6.0, 3.0]}
    assert cost_methods.ratio(seconds, "other") == Spread(3.0, 3.0, 3.0)


@pytest.mark.parametrize(
    ("method", "median", "reached"),
    [
        ("MCDropout", 5.1, True),
        ("MCDropout", 5.3, False),
        ("TemperatureScaling", 1.2, False),
        ("ZigZagModel", 2.0, None),
    ],
)
def test_targets(method, median, reached):
    spread = Spread(median, median - 0.1, median + 0.1)
    row = MethodRow("m", method, 1.0, spread, spread)
    assert row.reached is reached
    cells = cost_methods.format_method(row).split(" | ")
    assert len(cells) == len(cost_methods.COLUMNS)
    assert cells[4] == f"{median:.2f} ({median - 0.1:.2f}–{median + 0.1:.2f})"


def test_five_networks_have_five_times_the_parameters(monkeypatch):
    monkeypatch.setattr(
        cost_methods, "time_interleaved", lambda runs, *_: dict.fromkeys(runs)
    )
    monkeypatch.setattr(cost_methods, "ratio", lambda seconds, name: None)
    names = [
        "DeepEnsemble",
        "TwoModels",
        "TemperatureScaling",
        "BatchEnsemble",
        "BatchEnsemble-last-layer",
    ]
    rows = cost_methods.measure_methods(TINY, names, 1, "wall")
    ratios = {row.method: row.parameters for row in rows}
    assert ratios["DeepEnsemble"] == 5
    assert ratios["TwoModels"] == 2
    assert ratios["BatchEnsemble-last-layer"] < ratios["BatchEnsemble"]
    # The temperature is a weight too.
    assert ratios["TemperatureScaling"] == pytest.approx(1, abs=0.02)


@pytest.mark.slow
def test_main_from_end_to_end(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(cost_cases.CASES, "mlp", TINY)
    out = tmp_path / "out.json"
    cost.main(f"--methods all --models mlp --repeats 1 --json {out}".split())
    table = capsys.readouterr().out
    rows = json.loads(out.read_text())
    assert [row["method"] for row in rows] == cost_methods.method_names()
    assert all(f"| {row['method']} |" in table for row in rows)
    assert all(row["predict"]["median"] > 0 for row in rows)


def test_methods_that_are_not():
    with pytest.raises(SystemExit):
        cost.main(["--methods", "Magic"])
