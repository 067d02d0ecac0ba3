import json
import sys
import types

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from tests.evaluation.arrays.data import classification, regression


def report(**kwargs):
    labels, p, u, ood = classification()
    return kz.evaluate_scores(
        labels, p, u, {"svhn": ood}, name="mine", **kwargs
    )


def without_mistakes():
    return kz.evaluate_scores([0, 1], [0, 1], [0.1, 0.2])


def test_arrays_for_plots():
    labels, p, u, ood = classification()
    one = report()
    assert (one.name, one.task) == ("mine", "classification")
    np.testing.assert_array_equal(one.targets, labels)
    np.testing.assert_array_equal(one.prediction, p)
    np.testing.assert_array_equal(one.uncertainty, u)
    np.testing.assert_array_equal(one.loss, p.argmax(-1) != labels)
    np.testing.assert_array_equal(one.ood_uncertainty["svhn"], ood)
    for array in (one.uncertainty, one.loss, one.ood_uncertainty["svhn"]):
        assert array.dtype == "float64"
    y, prediction, u, _ = regression()
    error = kz.evaluate_scores(y, prediction, u, task="regression").loss
    np.testing.assert_allclose(error, np.abs(y - prediction).mean(axis=-1))


class TestText:
    def test_terminal(self):
        text = str(report())
        title, _, *lines = text.splitlines()
        assert title == "mine, classification, 60 ID samples, 30 svhn"
        assert len({len(line) for line in lines}) == 1
        assert any(
            line.split("|")[1:3] == [f" {'rAULC ↑':24} ", "       0.816 "]
            for line in lines
        ), text

    def test_rows_are_in_order(self):
        names = [line.split("|")[1].strip() for line in table_of(report())]
        assert names[2:5] == ["accuracy ↑", "AULC ↑", "rAULC ↑"]
        assert names[-5:] == [
            "svhn ROC-AUC ↑",
            "svhn PR-AUC ↑",
            "svhn average precision ↑",
            "svhn FPR95 ↓",
            "svhn prevalence",
        ]

    def test_missing_metrics_keep_their_place(self):
        one = without_mistakes()
        names = [line.split("|")[1].strip() for line in table_of(one)]
        assert names.index("rAULC ↑") == names.index("AULC ↑") + 1
        row = next(line for line in table_of(one) if "rAULC" in line)
        assert row.split("|")[2].strip() == "–"
        assert "– rAULC: rAULC has no scale without a mistake" in str(one)

    def test_html(self):
        labels, p, u, _ = classification()
        html = kz.evaluate_scores(labels, p, u, name="<a & b>")._repr_html_()
        assert "<td>rAULC ↑</td><td>0.816</td>" in html
        assert "&lt;a &amp; b&gt;" in html and "<a" not in html

    def test_repr(self):
        assert repr(report()) == (
            "<UncertaintyReport 'mine', classification: 15 metrics, 0 missing>"
        )

    def test_intervals(self):
        text = report().bootstrap(50, confidence=0.9).to_markdown()
        row = next(line for line in text.splitlines() if "accuracy" in line)
        assert " to " in row
        assert "90% confidence interval" in text

    def test_a_confidence_is_not_rounded(self):
        intervals = report().bootstrap(np.int64(50), confidence=0.999)
        assert "99.9% confidence interval" in intervals.to_markdown()


class TestJson:
    def test_what_is_in_it(self, tmp_path):
        text = report().to_json(tmp_path / "report.json")
        assert (tmp_path / "report.json").read_text("utf-8") == text
        content = json.loads(text)
        assert content["versions"]["keras"] == keras.__version__
        assert content["versions"]["backend"] == keras.backend.backend()
        assert content["metrics"] == dict(report())

    @pytest.mark.parametrize(
        "one",
        [report, without_mistakes, lambda: report().bootstrap(20)],
        ids=["report", "missing", "intervals"],
    )
    def test_round_trip(self, one):
        one = one()
        again = kz.UncertaintyReport.from_json(one.to_json())
        assert dict(again) == dict(one)
        assert again.missing == one.missing
        assert again.intervals == one.intervals
        assert again.to_markdown() == one.to_markdown()
        assert again.to_json() == one.to_json()

    def test_numbers_only(self):
        again = kz.UncertaintyReport.from_json(report().to_json())
        for use in (again.plot, again.bootstrap, lambda: again.loss):
            with pytest.raises(ValueError, match="read from JSON"):
                use()

    @pytest.mark.parametrize("text", ["[]", '{"format": 99}'])
    def test_other_json(self, text):
        with pytest.raises(ValueError, match="no report that this version"):
            kz.UncertaintyReport.from_json(text)


def test_plot(monkeypatch, tmp_path):
    class Figure:
        def savefig(self, path):
            path.write_text("picture")

    plots = types.ModuleType("keras_zigzag.plots")
    plots.report = lambda report: Figure()
    monkeypatch.setitem(sys.modules, "keras_zigzag.plots", plots)
    assert isinstance(report().plot(tmp_path / "a.png"), Figure)
    assert (tmp_path / "a.png").exists()


def table_of(one):
    lines = one.to_markdown().splitlines()
    return [line for line in lines if line.startswith("|")]
