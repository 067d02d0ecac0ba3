"""Cells, marks and daggers against numbers worked out by hand."""

from dataclasses import replace

import pytest

from keras_zigzag.benchmark.paper_results import PublishedValue
from keras_zigzag.benchmark.report_header import in_words, made_with
from keras_zigzag.benchmark.report_noise import seed_table
from keras_zigzag.benchmark.report_paper import NOTE, paper_table
from keras_zigzag.benchmark.report_rows import (
    Estimate,
    find,
    marks,
    with_runs,
)
from keras_zigzag.benchmark.report_runs import load_results
from keras_zigzag.benchmark.report_section import sections
from keras_zigzag.benchmark.report_tables import (
    deviation,
    deviations_table,
    digits,
    main_table,
    number,
    set_table,
    short_names,
    two_sample_table,
)
from tests.benchmark.report_cases import failed, line, regression, write


def _metrics(accuracy, raulc, roc_auc):
    return {
        "accuracy": accuracy,
        "raulc": raulc,
        "rings_roc_auc": roc_auc,
        "rings_pr_auc": roc_auc - 0.1,
    }


def _section(folder, lines):
    write(folder, lines)
    (section,) = sections(load_results(folder), folder)
    return section


@pytest.fixture
def section(tmp_path):
    """Three methods with two seeds; one run did not train."""
    two = {"1": _metrics(0.85, 0.5, 0.6), "2": _metrics(0.88, 0.6, 0.65)}
    costs = {
        "size": 2.0,
        "inference_time": [2.0, 1.8, 2.4],
        "training_time": [3.0, 2.0, 4.0],
        "changed_layers": 0.25,
    }
    return _section(
        tmp_path,
        [
            line("SingleModel", 0, metrics=_metrics(0.90, 0.80, 0.70)),
            line("SingleModel", 1, metrics=_metrics(0.92, 0.84, 0.72)),
            line(
                "MCDropout",
                0,
                metrics=_metrics(0.92, 0.70, 0.80),
                by_samples=two,
                cost=costs,
            ),
            line("MCDropout", 1, metrics=_metrics(0.50, 0.99, 0.99)),
            line(
                "ZigZagModel",
                0,
                metrics=_metrics(0.91, 0.86, 0.75),
                entropy_metrics=_metrics(0.91, 0.88, 0.77),
            ),
            line(
                "ZigZagModel",
                1,
                metrics=_metrics(0.93, 0.90, 0.79),
                entropy_metrics=_metrics(0.93, 0.90, 0.79),
            ),
        ],
    )


def _texts(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def _marks(table):
    return {row[0].text: [cell.mark for cell in row[1:]] for row in table.rows}


def test_main_table(section):
    table = main_table(section.rows, section.measures)
    assert table.header == [
        "",
        "accuracy ↑",
        "rAULC ↑",
        "Size ↓",
        "Inf. Time ↓",
        "Time ↓",
        "Simple ↓",
        "rings ROC-AUC ↑",
        "rings PR-AUC ↑",
    ]
    texts = _texts(table)
    assert list(texts) == [
        "ZigZagModel",
        "ZigZagModel, entropy of y0",
        "SingleModel",
        "MCDropout†",
    ]
    # std of two numbers is their distance over √2.
    assert texts["ZigZagModel"] == [
        "0.920 ± 0.014",
        "0.880 ± 0.028",
        "1.00",
        "1.00",
        "1.00",
        "0 %",
        "0.770 ± 0.028",
        "0.670 ± 0.028",
    ]
    assert texts["ZigZagModel, entropy of y0"][1:7] == (
        ["0.890 ± 0.014"] + ["–"] * 4 + ["0.780 ± 0.014"]
    )
    # Of the run that trained alone, so without a deviation.
    assert texts["MCDropout†"] == [
        "0.920",
        "0.700",
        "2.00",
        "2.00",
        "3.00",
        "25 %",
        "0.800",
        "0.700",
    ]
    assert table.notes == [
        "† MCDropout: 1 of 2 runs failed: accuracy 0.500 is more than 0.05 "
        "below the single model's 0.910 (seed 1)."
    ]


def test_best_and_second_best(section):
    marks = _marks(main_table(section.rows, section.measures))
    none = [""] * 4
    assert marks == {
        "ZigZagModel": ["best", "second", *none, "", ""],
        "ZigZagModel, entropy of y0": ["best", "best", *none, *["second"] * 2],
        "SingleModel": ["second", "", *none, "", ""],
        "MCDropout†": ["best", "", *none, "best", "best"],
    }


def test_deviations(section):
    texts = _texts(deviations_table(section.rows, section.measures))
    assert texts["SingleModel"] == [
        "0.014",
        "0.028",
        "0.90–1.10",
        "0.90–1.10",
        "0.014",
        "0.014",
    ]
    assert texts["MCDropout†"] == ["–", "–", "1.80–2.40", "2.00–4.00", "–", "–"]


def test_two_samples(section):
    table = two_sample_table(section.rows, section.measures)
    texts = _texts(table)
    assert list(texts)[2:] == ["SingleModel", "MCDropout†"]
    assert texts["MCDropout†"] == ["0.880", "0.600", "0.650", "0.550"]
    assert _marks(table)["SingleModel"] == ["second", "", "", ""]


def test_two_samples_without_sampling_methods(tmp_path):
    section = _section(tmp_path, [line("SingleModel")])
    assert two_sample_table(section.rows, section.measures) is None


def _variant(label, options, entropy):
    return line(
        label,
        metrics=_metrics(0.9, 0.8, 0.7),
        entropy_metrics=_metrics(0.9, 0.8, entropy),
        settings={"options": options},
    ) | {"class": "ZigZagModel"}


def test_the_reference_is_the_variant_with_no_options(tmp_path):
    lines = [
        _variant("sampled", {"passes": "sampled"}, 0.6),
        _variant("default", {}, 0.7),
    ]
    rows = _section(tmp_path, lines).rows
    assert find(rows, "ZigZagModel").label == "default"
    own_name = line("ZigZagModel", settings={"options": {"seed": 0}})
    (tmp_path / "own").mkdir()
    rows = _section(tmp_path / "own", [*lines, own_name]).rows
    assert find(rows, "ZigZagModel").label == "ZigZagModel"


def test_the_entropy_of_one_network_is_shown_once(tmp_path):
    lines = [
        _variant("default", {}, 0.7),
        _variant("l1", {"distance": "l1"}, 0.7),
        _variant("sampled", {"passes": "sampled"}, 0.6),
    ]
    assert [row.label for row in _section(tmp_path, lines).rows] == [
        "default",
        "default, entropy of y0",
        "l1",
        "sampled",
        "sampled, entropy of y0",
    ]


def test_all_runs_failed(tmp_path):
    lines = [line("SingleModel", s) for s in (0, 1)]
    lines += [line("SNGP", s, **failed()) for s in (0, 1)]
    section = _section(tmp_path, lines)
    table = main_table(section.rows, section.measures)
    assert _texts(table)["SNGP†"] == ["failed"] + ["–"] * 7
    assert (
        "† SNGP: 2 of 2 runs failed: ValueError: no such layer"
        in (table.notes[0])
    )
    assert table.notes[0].endswith("(seed 0, seed 1).")
    # One method alone is not the best.
    assert not any(sum(_marks(table).values(), [])[:2])


def test_the_time_after_the_training_is_told_of(tmp_path):
    after = ["OrthonormalCertificates", "TemperatureScaling"]
    lines = [
        line(label, metrics=_metrics(0.9, 0.8, 0.7))
        for label in ["SingleModel", "MCDropout", *after]
    ]
    section = _section(tmp_path / "some", lines)
    (note,) = main_table(section.rows, section.measures).notes
    assert note.startswith("OrthonormalCertificates, TemperatureScaling: Time ")
    assert "without what the method does after it" in note
    section = _section(tmp_path / "others", lines[:2])
    assert main_table(section.rows, section.measures).notes == []


def test_costs_that_could_not_be_measured(tmp_path):
    metrics = _metrics(0.9, 0.8, 0.7)
    none = {"cost": {"fit_seconds": 1.0}, "metrics": metrics}
    lines = [
        line("SingleModel", metrics=metrics),
        line("TemperatureScaling", **none),
        line("SNGP", 0, **none),
        line("SNGP", 1, metrics=metrics),
    ]
    section = _section(tmp_path, lines)
    table = main_table(section.rows, section.measures)
    assert _texts(table)["TemperatureScaling"][2:6] == ["–"] * 4
    assert _texts(table)["SNGP"][2:6] == ["1.00", "1.00", "1.00", "0 %"]
    assert table.notes == []
    spreads = _texts(deviations_table(section.rows, section.measures))
    assert spreads["TemperatureScaling"][2:4] == ["–"] * 2


def test_a_metric_that_one_run_lacks(tmp_path):
    perfect = line(
        "SingleModel",
        1,
        metrics={"accuracy": 1.0, "rings_roc_auc": 0.9},
        missing={"raulc": "All samples are right."},
    )
    lines = [line("SingleModel", 0, metrics=_metrics(0.98, 0.8, 0.7)), perfect]
    section = _section(tmp_path, lines)
    table = main_table(section.rows, section.measures)
    assert _texts(table)["SingleModel"][1] == "0.800†"
    assert table.notes[0] == (
        "† SingleModel, rAULC: 1 of 2 without it: All samples are right"
    )


@pytest.mark.parametrize(
    "value, text",
    [
        (0.98449, "0.984"),
        (0.0, "0.000"),
        (1e-5, "1e-05"),
        (12.345, "12.35"),
        (123.45, "123.5"),
        (12345.6, "12346"),
    ],
)
def test_three_digits(value, text):
    assert digits(value) == text


@pytest.fixture
def group(tmp_path):
    """Two data sets, three methods, two seeds; one fails on one set."""
    lines = []
    for index, protocol in enumerate(["uci-yacht", "uci-energy"]):
        for seed in (0, 1):
            for method, roc_auc in [
                ("ZigZagModel", 0.6 + 0.1 * seed),
                ("SingleModel", 0.5 + 0.1 * index),
                ("TwoModels", 0.9),
            ]:
                one = regression(method, seed, protocol=protocol)
                one["metrics"] = one["metrics"] | {"upper_roc_auc": roc_auc}
                if method == "TwoModels" and index:
                    one["metrics"]["mae"] = 0.31
                lines.append(one)
    return _section(tmp_path, lines)


def test_group_is_one_section(group):
    assert group.title == "uci: 2 data sets"
    table = main_table(group.rows, group.measures)
    texts = _texts(table)
    # Means of the sets .65 and .65; each has the deviation .1/√2, and their
    # mean that by √2 less.
    assert texts["ZigZagModel"][8] == "0.650 ± 0.050"
    assert texts["SingleModel"][8] == "0.550 ± 0.000"
    assert table.header[1:5] == [
        "MAE ↓",
        "Pearson's r ↑",
        "rAULC ↑",
        "rejection ratio ↑",
    ]


def test_mean_over_fewer_sets_is_not_compared(group):
    table = main_table(group.rows, group.measures)
    assert not any(_marks(table)["TwoModels†"])
    assert _marks(table)["ZigZagModel"][8] == "best"
    failure, fewer = table.notes
    assert "2 of 4 runs failed" in failure
    assert "(energy seed 0, energy seed 1)" in failure
    assert "the mean is over 1 of 2 data sets" in fewer


def test_a_mean_over_sets_that_lack_the_metric_is_not_compared(group):
    def without(run):
        kept = {k: v for k, v in run.metrics.items() if k != "upper_roc_auc"}
        return replace(run, metrics=kept) if run.protocol == first else run

    first = group.results[0].name
    rows = [
        with_runs(row, without) if row.label == "ZigZagModel" else row
        for row in group.rows
    ]
    measure = group.detections[0]
    assert marks(group.rows, measure)["ZigZagModel"] == "best"
    assert "ZigZagModel" not in marks(rows, measure)


def test_table_of_sets(group):
    table = set_table(group.rows, group.detections)
    assert table.header == ["", "energy", "yacht", "mean"]
    assert _texts(table)["TwoModels†"] == ["failed", "0.900", "0.900 ± 0.000"]
    assert _texts(table)["SingleModel"] == ["0.600", "0.500", "0.550 ± 0.000"]
    assert _marks(table)["TwoModels†"] == ["", "best", ""]
    assert _marks(table)["ZigZagModel"] == ["best", "second", "best"]


def test_names_of_a_group_without_what_they_share():
    names = ["uci-yacht-random", "uci-yard-random"]
    assert list(short_names(names).values()) == ["yacht", "yard"]
    assert list(short_names(["a", "b-c"]).values()) == ["a", "b-c"]
    assert short_names(["uci-yacht"]) == {"uci-yacht": "uci-yacht"}


def test_errors_in_different_units_have_no_mean(tmp_path):
    lines = [
        regression("SingleModel", protocol="uci-a", units="m"),
        regression("SingleModel", protocol="uci-b", units="kg"),
    ]
    section = _section(tmp_path, lines)
    assert [measure.key for measure in section.quality] == [
        "pearson",
        "raulc",
        "prediction_rejection_ratio",
    ]


def test_ood_sets_of_other_names_are_averaged(tmp_path):
    first = regression("SingleModel", protocol="uci-a")
    second = regression("SingleModel", protocol="uci-b")
    second["metrics"] = {"mae": 0.2, "low_roc_auc": 0.5, "high_roc_auc": 0.6}
    section = _section(tmp_path, [first, second])
    (measure,) = section.detections
    assert measure.heading == "OOD ROC-AUC"
    # (.7 + (.5 + .6)/2) / 2
    assert section.rows[0].estimate(measure).mean == pytest.approx(0.625)


def _lookup(table, method, metric):
    assert table == "mnist"
    values = {
        ("ZigZagModel", "accuracy"): (0.98, None),
        ("ZigZagModel", "raulc"): (0.90, 0.02),
        ("ZigZagModel", "rings_roc_auc"): (0.77, 0.001),
        ("SingleModel", "inference_time"): (1.3, None),
        ("MCDropout", "accuracy"): (0.92, None),
    }
    if (method, metric) not in values:
        return None
    value, spread = values[method, metric]
    return PublishedValue(value, spread, "2", "https://example.org")


def test_beside_the_paper(section):
    table = paper_table(section.rows, section.measures, "mnist", _lookup)
    rows = [[cell.text for cell in row] for row in table.rows]
    of = "Table 2"
    assert rows == [
        # |−.06| > 2 · .014, but |−.02| < 2 · .028.
        ["ZigZagModel", "accuracy", "0.920 ± 0.014", "0.980", of]
        + ["−0.060", "yes"],
        ["ZigZagModel", "rAULC", "0.880 ± 0.028", "0.900 ± 0.020", of]
        + ["−0.020", "no"],
        ["ZigZagModel", "rings ROC-AUC", "0.770 ± 0.028", "0.770 ± 0.001", of]
        + ["+0.000", "no"],
        # Half the range of the measurements is .1.
        ["SingleModel", "Inf. Time", "1.000 ± 0.000", "1.300", of]
        + ["−0.300", "yes"],
        # One run and no published spread.
        ["MCDropout", "accuracy", "0.920", "0.920", of, "+0.000", "?"],
    ]
    assert table.notes == [NOTE, "Table 2: https://example.org"]
    nothing = paper_table(
        section.rows, section.measures, "mnist", lambda *_: None
    )
    assert nothing is None


def test_differences_over_the_seeds(section):
    single = section.rows[2]
    table = seed_table(section.rows, section.tested, single)
    texts = _texts(table)
    # Differences .06 and .06 in rAULC; .05 and .07 in ROC-AUC, where
    # t(1) = 12.706 and the standard error is .01.
    assert texts["ZigZagModel"] == [
        "+0.060 [+0.060, +0.060]",
        "+0.060 [−0.067, +0.187]",
    ]
    # Two that are equal by chance say no more than two of the same sign.
    assert _marks(table)["ZigZagModel"] == ["", ""]
    assert texts["MCDropout"] == ["–", "–"]
    assert "SingleModel" not in texts


def test_every_reference_has_its_table(tmp_path):
    labels = ["ZigZagModel", "SingleModel", "MCDropout", "DeepEnsemble"]
    lines = [
        line(label, seed, metrics=_metrics(0.9, 0.8, 0.7 + 0.1 * place))
        | {"references": ["DeepEnsemble", "ZigZagModel"]}
        for place, label in enumerate(labels)
        for seed in (0, 1)
    ]
    tables = dict(_section(tmp_path, lines).tables(None))
    found = {
        name.split()[1].rstrip(","): _texts(table)
        for name, table in tables.items()
        if name.startswith("Against")
    }
    assert list(found) == ["ZigZagModel", "SingleModel", "DeepEnsemble"]
    assert list(found["DeepEnsemble"]) == labels[:3]
    differences = [row[-1] for row in found["DeepEnsemble"].values()]
    assert [one[:6] for one in differences] == ["−0.300", "−0.200", "−0.100"]


def test_header(section):
    told = made_with(section.results)
    assert told[0] == "Seeds 0, 1; **quick** settings."
    assert "revision v0.1-5-g0123456; 2026-11-28." in told[1]
    assert told[2] == (
        "Settings: epochs 3, batch size 64, optimizer Adam, loss "
        "sparse_categorical_crossentropy, learning rate 0.001."
    )
    assert told[3].startswith("Not run at all: DeepEnsemble, BatchEnsemble")


def test_header_lists_what_is_missing(tmp_path):
    lines = [line("SingleModel", 0), line("SingleModel", 1), line("SNGP", 1)]
    section = _section(tmp_path, lines)
    told = "\n".join(section.about)
    assert "Not run in `blobs`, seed in brackets: SNGP (0)." in told


def test_header_says_that_nothing_was_judged(tmp_path):
    section = _section(tmp_path, [line("SNGP")])
    assert any("no run is judged" in text for text in section.about)


@pytest.mark.parametrize(
    "value, text",
    [
        (True, "yes"),
        (None, "none"),
        (1e-3, "0.001"),
        ([0.1, 0.1, 0.01], "2 × 0.1, 0.01"),
        ({"num_samples": 5, "rates": [1, 2]}, "num samples 5, rates (1, 2)"),
    ],
)
def test_settings_in_words(value, text):
    assert in_words(value) == text


@pytest.mark.parametrize(
    ("value", "mean", "text"),
    [
        (0.0123, 0.95, "0.012"),
        (0.000636, 0.99, "0.001"),
        (0.00007, 0.983, "<0.001"),
        (0.0, 0.983, "0.000"),
        (0.25, 45.67, "0.25"),
    ],
)
def test_deviations_have_the_decimals_of_the_mean(value, mean, text):
    assert deviation(value, mean) == text


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (0.95, 0.0123, "0.950 ± 0.012"),
        (-0.000879, 0.0393, "-0.001 ± 0.039"),
        (-0.0003, 0.0393, "0.000 ± 0.039"),
        (0.0001234, 0.00002, "0.000123 ± 0.000020"),
    ],
)
def test_means_that_are_lost_in_their_deviation(mean, std, text):
    assert number(Estimate(mean, std, 3)) == text
