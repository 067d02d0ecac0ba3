import numpy as np
import pytest

from keras_zigzag import plots
from tests.plots.cases import CORRECT, ERROR, ID, LABELS, OOD, PROBABILITIES


class Report(dict):
    """What the page needs of an `UncertaintyReport`."""

    def __init__(self, task="classification", **changes):
        super().__init__(raulc=0.9, near_roc_auc=0.8)
        self.name, self.task = "ZigZag", task
        self.targets, self.prediction = LABELS, PROBABILITIES
        self.uncertainty, self.ood_uncertainty = ID, OOD
        self.loss = 1.0 - CORRECT
        if task == "regression":
            self.targets, self.prediction, self.loss = ERROR, 0 * ERROR, ERROR
        vars(self).update(changes)


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes[1:]]


def text(figure):
    return "\n".join(t.get_text() for ax in figure.axes for t in ax.texts)


def test_classification(tmp_path):
    figure = plots.report(Report())
    assert titles(figure) == [
        "Risk–coverage",
        "Uncertainties",
        "Lift",
        "Reliability",
        "ROC",
        "Precision–recall",
    ]
    assert "ZigZag: classification, 60 samples" in text(figure)
    assert "near_roc_auc  0.8000" in text(figure)
    assert "Not drawn" not in text(figure)
    figure.savefig(tmp_path / "page.png")
    assert figure.get_tightbbox().x1 <= 6.9


def test_regression():
    figure = plots.report(Report("regression"))
    assert titles(figure)[2:4] == [
        "Error against uncertainty",
        "Cumulative calibration",
    ]
    assert "Not drawn" not in text(figure)


def test_without_ood():
    assert len(titles(plots.report(Report(ood_uncertainty={})))) == 4


def test_class_indices_have_no_reliability():
    figure = plots.report(Report(prediction=LABELS, name=""))
    assert "Reliability" not in titles(figure)
    assert "Not drawn" not in text(figure)
    assert "Classification, 60 samples" in text(figure)


@pytest.mark.parametrize(
    "report",
    [
        Report(targets=np.eye(3)[LABELS]),
        Report(
            "binary",
            targets=CORRECT.astype(int),
            prediction=PROBABILITIES[:, :1],
        ),
        Report(uncertainty=np.where(ID > 0.2, np.nan, ID)),
        Report(loss=np.zeros(60)),
    ],
    ids=["one_hot", "binary", "nan", "all_correct"],
)
def test_nothing_is_missing(report):
    assert "Not drawn" not in text(plots.report(report))


def test_a_panel_says_why_it_is_missing():
    figure = plots.report(Report(prediction=9 * PROBABILITIES))
    assert "Not drawn: `probabilities` must be in [0, 1]" in text(figure)
    assert titles(figure)[3] == "Reliability"
