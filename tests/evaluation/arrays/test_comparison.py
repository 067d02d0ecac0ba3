import pytest

import keras_zigzag as kz
from tests.examples.scripts import read_table


def report(name="", **values):
    return kz.UncertaintyReport(values, "classification", name)


def cells(table, row):
    line = next(x for x in table.splitlines() if x.startswith(f"| {row} "))
    return [cell.strip() for cell in line.split("|")[2:-1]]


METHODS = [
    report("a", accuracy=0.9, aurc=0.3, svhn_roc_auc=0.8, svhn_prevalence=0.5),
    report("b", accuracy=0.8, aurc=0.1, svhn_roc_auc=0.8, svhn_prevalence=0.5),
    report("c", accuracy=0.7, aurc=0.2, svhn_roc_auc=0.7, svhn_prevalence=0.5),
]


def test_best_and_second_best():
    table = str(kz.compare(METHODS))
    assert cells(table, "a") == ["**0.900**", "0.300", "**0.800**", "0.500"]
    assert cells(table, "b") == ["_0.800_", "**0.100**", "**0.800**", "0.500"]
    assert cells(table, "c") == ["0.700", "_0.200_", "_0.700_", "0.500"]


def test_headings():
    header = str(kz.compare(METHODS)).splitlines()[0]
    assert [cell.strip() for cell in header.split("|")[2:-1]] == [
        "accuracy ↑",
        "AURC ↓",
        "svhn ROC-AUC ↑",
        "svhn prevalence",
    ]


def test_chosen_columns_without_marks():
    table = kz.compare(METHODS, {"aurc": "area", "accuracy": "right"})
    assert read_table(table.to_markdown(mark_best=False)) == {
        "a": {"area": 0.3, "right": 0.9},
        "b": {"area": 0.1, "right": 0.8},
        "c": {"area": 0.2, "right": 0.7},
    }


def test_mean_and_spread_over_seeds():
    seeds = [report(accuracy=0.9, aurc=0.5), report(accuracy=0.8, aurc=0.7)]
    table = kz.compare({"two": seeds, "one": METHODS[0]})
    text = table.to_markdown(mark_best=False)
    assert cells(text, "two")[:2] == ["0.850 ± 0.071", "0.600 ± 0.141"]
    assert cells(text, "one")[:2] == ["0.900", "0.300"]
    assert len({len(x) for x in text.splitlines() if x.startswith("|")}) == 1
    assert table.mean("two", "accuracy") == pytest.approx(0.85)


def test_missing_values_say_why():
    perfect = kz.UncertaintyReport(
        {"accuracy": 1.0}, "classification", "b", {"raulc": "All right."}
    )
    some = report("a", accuracy=0.9, raulc=0.5)
    text = str(kz.compare([some, perfect]))
    assert cells(text, "b") == ["**1.000**", "–"]
    assert text.endswith("– b, rAULC: All right.")
    text = str(kz.compare({"m": [some, perfect]}))
    assert cells(text, "m")[1] == "0.500†"
    assert "† m, rAULC: 1 of 2: All right." in text


def test_html_and_repr():
    table = kz.compare(METHODS)
    assert "<td><b>0.900</b></td>" in table._repr_html_()
    assert "<td><u>0.800</u></td>" in table._repr_html_()
    assert repr(table) == "<Comparison of ['a', 'b', 'c']>"


@pytest.mark.parametrize(
    "reports, metrics, message",
    [
        ([METHODS[0], METHODS[0]], None, "a name of its own"),
        ([report(accuracy=0.5)], None, "a name of its own"),
        ([], None, "at least one report"),
        ({"a": []}, None, "at least one report"),
        (METHODS, ["raulc"], r"No report has \['raulc'\]"),
    ],
)
def test_bad_input(reports, metrics, message):
    with pytest.raises(ValueError, match=message):
        kz.compare(reports, metrics)


def test_reports_are_what_is_compared():
    with pytest.raises(ValueError, match="under 'a' an object of type dict"):
        kz.compare({"a": {"raulc": 0.3}})


def test_a_bar_in_a_name_does_not_end_its_cell():
    report = kz.evaluate_scores([0, 1], [0, 0], [1, 2], name="a|b")
    *_, row = kz.compare([report], "accuracy").to_markdown().splitlines()
    assert row.startswith(r"| a\|b ")
