import json
import re
from importlib import resources

import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag.benchmark import paper_results
from keras_zigzag.benchmark.paper_results import published
from keras_zigzag.evaluation.metric_sets import split_key

RESULTS = json.loads(
    (resources.files("keras_zigzag.benchmark") / paper_results.FILE).read_text(
        encoding="utf-8"
    )
)
TABLES = RESULTS["tables"]
NUMBERS = [
    (name, method, metric)
    for name, table in TABLES.items()
    for method, values in table["values"].items()
    for metric in values
]
ERRORS = {"mae", "rmse"}


def metrics_of(task, prediction, ood):
    targets = np.array([0, 1, 1])
    report = kz.evaluate_scores(
        targets, prediction, [0.1, 0.2, 0.5], ood, task=task
    )
    return {split_key(key)[1] for key in (*report, *report.missing)}


@pytest.fixture(scope="module")
def known_metrics():
    ood = {"ood": [0.4, 0.8]}
    classes = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    values = np.array([0.1, 1.2, 0.5])
    return metrics_of("classification", classes, ood) | metrics_of(
        "regression", values, ood
    )


def test_the_paper_is_named():
    assert RESULTS["paper"]["url"] in kz.methods()["ZigZagModel"].url
    assert set(RESULTS) == {"paper", "tables"}


@pytest.mark.parametrize("name", TABLES)
def test_tables_say_where_they_are_from(name):
    table = TABLES[name]
    keys = {"number", "title", "source", "place", "note", "values"}
    assert set(table) == keys
    assert re.fullmatch(r"[A-Z]?\d+|notebook", table["number"])
    assert table["source"].startswith("https://")
    assert table["title"] and table["place"] and table["values"]


@pytest.mark.parametrize("name, method, metric", NUMBERS)
def test_names_and_ranges(name, method, metric, known_metrics):
    assert method in kz.methods()
    assert split_key(metric)[1] in known_metrics
    found = published(name, method, metric)
    assert found.value >= 0
    assert metric in ERRORS or found.value <= 1
    assert found.spread is None or 0 < found.spread < found.value


@pytest.mark.parametrize(
    "name, method, metric, expected",
    [
        ("mnist-notebook", "ZigZagModel", "accuracy", 0.9844),
        ("mnist-notebook", "ZigZagModel", "fashion_mnist_roc_auc", 0.98541304),
        ("mnist-notebook-earlier", "ZigZagModel", "accuracy", 0.9836),
        ("cifar10-notebook", "ZigZagModel", "svhn_roc_auc", 0.901),
        ("cifar10-notebook", "ZigZagModel", "svhn_pr_auc", 0.933),
        ("boston-notebook", "DeepEnsemble", "mae", 0.2459),
    ],
)
def test_values_as_they_were_read(name, method, metric, expected):
    found = published(name, method, metric)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.spread is None
    assert found.place == "authors' notebook"
    assert "cvlab-epfl/zigzag" in found.source


def test_spreads_and_numbers_of_tables(monkeypatch):
    table = {
        "number": "3",
        "source": "https://example.org",
        "values": {"SNGP": {"raulc": [0.9, 0.01]}},
    }
    monkeypatch.setattr(
        paper_results, "_read", lambda: {"tables": {"new": table}}
    )
    found = published("new", "SNGP", "raulc")
    assert (found.value, found.spread) == (0.9, 0.01)
    assert (found.number, found.place) == ("3", "Table 3")
    assert found.source == "https://example.org"


@pytest.mark.parametrize(
    "method, metric", [("SNGP", "accuracy"), ("ZigZagModel", "ece")]
)
def test_what_was_not_published_is_none(method, metric):
    assert published("mnist-notebook", method, metric) is None


def test_unknown_tables_are_refused_with_the_list():
    with pytest.raises(ValueError, match="mnist-notebook.*Received: 'mnst'"):
        published("mnst", "ZigZagModel", "accuracy")


def test_tables_have_titles():
    assert list(paper_results.tables()) == list(TABLES)
    assert "MNIST" in paper_results.tables()["mnist-notebook"]
