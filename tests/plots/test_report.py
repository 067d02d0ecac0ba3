import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag import plots
from tests.plots.cases import CORRECT, ERROR, ID, LABELS, OOD, PROBABILITIES


class Report(dict):
    """What the page needs of an `UncertaintyReport`."""

    def __init__(self, task="classification", **changes):
        super().__init__(raulc=0.9, near_roc_auc=0.8)
        self.name, self.task = "ZigZag", task
        self.targets, self.prediction = LABELS, PROBABILITIES
        self.uncertainty, self.ood_uncertainty = ID, OOD
        self.loss, self.num_samples = 1.0 - CORRECT, len(ID)
        self.sample_weight = None
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
    assert "near_roc_auc  0.800" in text(figure)
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


def test_the_table_shows_small_numbers_in_columns():
    report = Report()
    report.update(aurc=2.5e-05, mae=-1234.5)
    table = plots.report(report).axes[0].texts[1].get_text()
    assert table == (
        "raulc             0.900   near_roc_auc      0.800   "
        "aurc            2.5e-05   mae           -1234.500"
    )


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


def numbers(figure, title):
    """What the legend of a panel says of each curve."""
    (ax,) = [ax for ax in figure.axes if ax.get_title(loc="left") == title]
    return " ".join(one.get_text() for one in ax.get_legend().get_texts())


def test_panels_are_weighted_as_the_table_is():
    weight = np.where(CORRECT, 10.0, 1.0)
    weight[::7] = 0.0
    answers = LABELS, PROBABILITIES, ID, {"near": OOD["near"]}
    report = kz.evaluate_scores(*answers, sample_weight=weight)
    figure = plots.report(report)
    for title, text in {
        "Risk–coverage": f"AURC {report['aurc']:.3g}",
        "Lift": f"AULC {report['aulc']:.3g}",
        "Reliability": f"ECE {report['ece']:.3f}",
        "ROC": f"AUC {report['near_roc_auc']:.3f}",
        "Precision–recall": f"AP {report['near_average_precision']:.3f}",
    }.items():
        assert text in numbers(figure, title).replace("\n", " ")


def test_panels_of_a_regression_are_weighted_too():
    weight = np.where(CORRECT, 10.0, 1.0)
    report = kz.evaluate_scores(
        ERROR, 0 * ERROR, ID, task="regression", sample_weight=weight
    )
    figure = plots.report(report)
    text = numbers(figure, "Error against uncertainty")
    assert f"r = {report['pearson']:.3f}" in text
    text = numbers(figure, "Cumulative calibration")
    assert f"{report['cumulative_calibration_error']:.3f}" in text


def test_several_labels_and_a_dense_task_with_weights():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=(5, 4, 2))
    report = kz.evaluate_scores(
        (rng.uniform(size=p.shape) < p).astype(int),
        p,
        rng.uniform(size=(5, 4)),
        task="binary",
        sample_weight=rng.uniform(size=(5, 4)),
    )
    figure = plots.report(report)
    assert f"ECE {report['ece']:.3f}" in numbers(figure, "Reliability")
    assert "Binary, 5 samples" in text(figure)


def test_a_panel_says_why_it_is_missing():
    figure = plots.report(Report(prediction=9 * PROBABILITIES))
    assert "Not drawn: `probabilities` must be in [0, 1]" in text(figure)
    assert titles(figure)[3] == "Reliability"
