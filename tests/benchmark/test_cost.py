import dataclasses
import json
import subprocess
import sys

import keras
import pytest

from keras_zigzag.benchmark import (
    cost,
    cost_cases,
    cost_measure,
    cost_memory,
    cost_table,
)
from keras_zigzag.benchmark.cost_table import Row, Spread
from tests.benchmark.tiny import TINY


def test_spread_is_median_and_quartiles():
    assert Spread.of([5.0, 1.0, 3.0, 2.0, 4.0]) == Spread(3.0, 2.0, 4.0)


def test_ratio_is_taken_within_each_repeat():
    # The machine is three times as slow in the last repeat, for both.
    row = cost_table.compare("m", "q", "s", [1.0, 1.0, 3.0], [2.0, 2.0, 6.0])
    assert row.ratio == Spread(2.0, 2.0, 2.0)
    assert (row.base, row.zigzag) == (1.0, 2.0)


@pytest.mark.parametrize("zigzag", [[], [1.0, 2.0]])
def test_series_of_different_length(zigzag):
    with pytest.raises(ValueError, match="Received: 1 and"):
        cost_table.compare("m", "q", "s", [1.0], zigzag)


@pytest.mark.parametrize(
    "target, reached", [(2.0, True), (1.9, False), (None, None)]
)
def test_reached(target, reached):
    row = cost_table.compare("m", "q", "s", [1.0], [2.0], target)
    assert row.reached is reached


def test_table():
    rows = [
        Row("m", "predict", "s", 0.1, 0.25, Spread(2.5, 2.4, 2.6), 2.0),
        Row("m", "parameters", "parameters", 1e3, 1e3, Spread(1.0, 1.0, 1.0)),
        Row("m", "memory", "bytes", 2.0**20, 2.0**21, Spread(2.0, 1.9, 2.1)),
        Row("m", "export", "s", skipped="skipped: why"),
    ]
    lines = cost_table.format_table(rows).splitlines()
    assert lines[2:] == [
        "| m | predict | 100.0 ms | 250.0 ms | 2.50 (2.40–2.60) | ≤ 2.00 "
        "| no |",
        "| m | parameters | 1,000 | 1,000 | 1.000 | – | – |",
        "| m | memory | 1 MiB | 2 MiB | 2.00 (1.90–2.10) | – | – |",
        "| m | export | – | – | skipped: why | – | – |",
    ]
    assert {line.count("|") for line in lines} == {8}


def test_runs_alternate_after_warm_up():
    calls = []
    runs = {name: lambda n=name: calls.append(n) for name in "ab"}
    seconds = cost_measure.time_interleaved(runs, repeats=2)
    assert "".join(calls) == "abab" + "abba"
    assert {len(series) for series in seconds.values()} == {2}


def test_targets():
    late = cost_cases.CASES["resnet50-head"]
    assert late.target("predict") == 1.1
    assert late.target("fit step, both") == 2.05
    assert late.target("exported SavedModel") is None


def test_contestants_are_compiled_alike():
    models = [
        cost_cases.build_contestant(TINY, name)
        for name in cost_cases.CONTESTANTS
    ]
    assert len({model.jit_compile for model in models}) == 1
    assert models[1].passes == "both"
    assert models[2].passes == "sampled"


@pytest.mark.slow
def test_heads_are_compared_with_one():
    case = dataclasses.replace(TINY, build=build_two, heads_from="hidden")
    rows = list(cost_measure.measure_case("tiny", case, 1, 1, "wall"))
    assert {row.quantity: row.target for row in rows} == {
        "parameters, five heads to one": None,
        "fit step, five heads to one": 1.1,
        "fit step, prior at five heads": None,
        "predict, five heads to one": 1.1,
        "predict, prior at five heads": 1.15,
    }
    assert rows[0].ratio.median > 2


def build_two():
    inputs = keras.Input((6,))
    x = keras.layers.Dense(4)(inputs)
    return cost_cases.with_dense_layers(keras.Model(inputs, x))


@pytest.mark.slow_but_on("tensorflow")
def test_peak_memory_in_a_fresh_process():
    if reason := cost_memory.why_unavailable():
        pytest.skip(reason)
    assert cost_memory.peak_growth("mlp", "both", "predict", 2) > 0


def test_failing_process_is_reported(monkeypatch):
    failing = ["-c", "import sys; sys.exit('no memory')"]
    run = subprocess.run
    monkeypatch.setattr(
        cost_memory.subprocess,
        "run",
        lambda _, **kwargs: run([sys.executable, *failing], **kwargs),
    )
    with pytest.raises(RuntimeError, match="'fit', '2'.*failed:\nno memory"):
        cost_memory.peak_growth("mlp", "both", "fit", 2)


def test_import_times(monkeypatch):
    monkeypatch.setattr(cost, "TIME_IMPORTS", "print('log', 2.0, 0.5)")
    base, added = cost.time_imports(repeats=2)
    assert (base.median, added.median) == (2.0, 0.5)


def test_code_that_times_imports(capsys):
    exec(cost.TIME_IMPORTS, {})
    base, added = map(float, capsys.readouterr().out.split())
    assert base > 0 and added > 0


@pytest.mark.parametrize(
    "added, verdict", [(0.05, "s: reached"), (0.2, "s: not reached")]
)
def test_import_sentence(added, verdict):
    spreads = (Spread(seconds, seconds, seconds) for seconds in (3.0, added))
    sentence = cost.format_imports(*spreads)
    assert f"adds {added:.3f} s" in sentence and verdict in sentence


def test_main_from_end_to_end(monkeypatch, capsys, tmp_path):
    # The processes of their own are slow to start and have tests above.
    one = Spread(1.0, 1.0, 1.0)
    monkeypatch.setattr(cost, "time_imports", lambda repeats: (one, one))
    monkeypatch.setattr(cost_memory, "peak_growth", lambda *args: 2**20)
    monkeypatch.setitem(cost_cases.CASES, "mlp", TINY)
    path = tmp_path / "cost.json"
    cost.main(
        ["--models", "mlp", "--repeats", "2", "--batch-size", "3"]
        + ["--json", str(path)]
    )
    printed = capsys.readouterr()
    quantities = [
        row["quantity"] for row in json.loads(path.read_text())["rows"]
    ]
    assert quantities == [
        "parameters",
        "fit step, both",
        "fit step, sampled",
        "predict",
        "exported SavedModel",
        "peak memory of fit, both",
        "peak memory of fit, sampled",
        "peak memory of predict",
    ]
    assert printed.out.count("| tiny |") == len(quantities)
    assert "batch size × batches per run: mlp 3 × 2" in printed.out
    assert printed.err.count("| tiny |") == len(quantities)


@pytest.mark.parametrize(
    "arguments", [["--repeats", "0"], ["--batch-size", "-1"]]
)
def test_bad_counts(arguments, capsys):
    with pytest.raises(SystemExit):
        cost.main(arguments)
    assert f"Received: {arguments[1]}" in capsys.readouterr().err


def test_quick_halves_the_batches():
    options = cost.parse_arguments(["--quick"])
    expected = dataclasses.replace(TINY, num_steps=1)
    assert cost.scale(TINY, options) == expected
