"""Which metrics a report holds for which task."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from keras_zigzag import metrics
from keras_zigzag.evaluation.samples import OodScores, Samples

Functions = dict[str, Callable[[], float]]
Metrics = dict[str, Callable[[Samples], float]]
DETECTION = ("roc_auc", "pr_auc", "average_precision", "fpr95", "prevalence")
LOWER_IS_BETTER = {
    "mae",
    "rmse",
    "aurc",
    "excess_aurc",
    "augrc",
    "ece",
    "nll",
    "brier",
    "ause",
    "cumulative_calibration_error",
    "fpr95",
}
# In the order of the tables.
HEADINGS = {
    "accuracy": "accuracy",
    "mae": "MAE",
    "rmse": "RMSE",
    "aulc": "AULC",
    "raulc": "rAULC",
    "aurc": "AURC",
    "excess_aurc": "excess AURC",
    "augrc": "AUGRC",
    "prediction_rejection_ratio": "rejection ratio",
    "ece": "ECE",
    "nll": "NLL",
    "brier": "Brier score",
    "ause": "AUSE",
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "cumulative_calibration_error": "cumulative calibration error",
    "roc_auc": "ROC-AUC",
    "pr_auc": "PR-AUC",
    "average_precision": "average precision",
    "fpr95": "FPR95",
    "prevalence": "prevalence",
}


def evaluate(samples: Samples) -> tuple[dict[str, float], dict[str, str]]:
    """The metrics that are defined, and why the others are not."""
    values, missing = {}, {}
    for name, function in functions(samples).items():
        try:
            values[name] = function()
        except ValueError as error:
            missing[name] = str(error)
    return values, missing


def functions(samples: Samples) -> Functions:
    """All metrics of the task and of the OOD sets, by key, not yet run."""
    result: Functions = {
        name: partial(metric, samples)
        for name, metric in OF_TASK[samples.task].items()
    }
    for name, ood in samples.ood.items():
        for key, function in _detection(samples, ood).items():
            result[f"{name}_{key}"] = function
    return result


def known_names(ood: Iterable[str], task: str | None = None) -> list[str]:
    """The metrics that there may be, of a task or any, with OOD sets."""
    of_id = {*OF_TASK[task]} if task in OF_TASK else {*HEADINGS} - {*DETECTION}
    return [name for name in HEADINGS if name in of_id] + [
        f"{name}_{metric}" for name in ood for metric in DETECTION
    ]


def split_key(key: str) -> tuple[str, str]:
    """The name of the OOD set, or `""`, and the metric."""
    for metric in DETECTION:
        if key.endswith(f"_{metric}"):
            return key[: -len(metric) - 1], metric
    return "", key


def in_order(keys: Iterable[str]) -> list[str]:
    """ID metrics, then those of each OOD set, each in the order of tables."""
    metrics_in_order = list(HEADINGS)
    sets = [""]
    by_place = {}
    for key in keys:
        ood, metric = split_key(key)
        if ood not in sets:
            sets.append(ood)
        by_place[key] = sets.index(ood), metrics_in_order.index(metric)
    return sorted(by_place, key=lambda key: by_place[key])


def heading(key: str) -> str:
    """What a table calls a metric."""
    ood, metric = split_key(key)
    return f"{ood} {HEADINGS.get(metric, metric)}".strip()


def direction(key: str) -> int:
    """1 if more is better, −1 if less is, 0 if it is neither."""
    _, metric = split_key(key)
    if metric == "prevalence":
        return 0
    return -1 if metric in LOWER_IS_BETTER else 1


def arrow(key: str) -> str:
    """Which way is up, after the heading."""
    return {1: " ↑", -1: " ↓", 0: ""}[direction(key)]


def _of_probabilities(metric: Callable[..., float], samples: Samples) -> float:
    if samples.id.prediction.ndim == 1:
        raise ValueError(
            "This is a metric of probabilities. Received: predictions that "
            "are class indices."
        )
    weight = samples.id.weight
    if weight is not None and samples.task == "binary":
        weight = np.repeat(weight, samples.id.targets.shape[-1])
    return metric(*labelled(samples), sample_weight=weight)


def labelled(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    targets, prediction = samples.id.targets, samples.id.prediction
    if samples.task == "binary":
        return targets.ravel(), prediction.ravel()
    return targets, prediction


def _detection(samples: Samples, ood: OodScores) -> Functions:
    def bound(metric: Callable[..., float]) -> Callable[[], float]:
        return partial(
            metric,
            samples.id.uncertainty,
            ood.uncertainty,
            id_weight=samples.id.weight,
            nan_policy=samples.nan_policy,
        )

    return {
        "roc_auc": bound(metrics.roc_auc),
        "pr_auc": bound(metrics.pr_auc),
        "average_precision": bound(metrics.average_precision),
        "fpr95": bound(metrics.fpr_at_tpr),
        "prevalence": partial(
            metrics.prevalence,
            samples.id.uncertainty,
            ood.uncertainty,
            id_weight=samples.id.weight,
        ),
    }


def _mean(values: np.ndarray, weight: np.ndarray | None) -> float:
    result = float(np.average(values, weights=weight))
    if not np.isfinite(result):
        raise ValueError(
            "There are predictions or targets that are not finite. "
            f"Received: a mean of {result}."
        )
    return result


def _of_errors(metric: Callable[..., float], samples: Samples) -> float:
    scores = samples.id.uncertainty, samples.id.weight
    return metric(samples.loss, *scores, samples.nan_policy)


def _of_answers(metric: Callable[..., float], samples: Samples) -> float:
    """A metric of which answers are right."""
    scores = samples.id.uncertainty, samples.id.weight
    return metric(1.0 - samples.loss, *scores, samples.nan_policy)


def _of_values(metric: Callable[..., float], samples: Samples) -> float:
    """A metric of errors and uncertainties that have no rank where NaN."""
    return metric(samples.loss, samples.id.uncertainty, samples.id.weight)


_CLASSIFICATION: Metrics = {
    "accuracy": lambda one: _mean(1.0 - one.loss, one.id.weight),
    "aulc": partial(_of_answers, metrics.aulc),
    "raulc": partial(_of_answers, metrics.raulc),
    "aurc": partial(_of_errors, metrics.aurc),
    "excess_aurc": partial(_of_errors, metrics.excess_aurc),
    "augrc": partial(_of_errors, metrics.augrc),
    "prediction_rejection_ratio": partial(
        _of_errors, metrics.prediction_rejection_ratio
    ),
    "ece": partial(_of_probabilities, metrics.expected_calibration_error),
    "nll": partial(_of_probabilities, metrics.negative_log_likelihood),
    "brier": partial(_of_probabilities, metrics.brier_score),
}
_REGRESSION: Metrics = {
    "mae": lambda one: _mean(one.loss, one.id.weight),
    "rmse": lambda one: _mean(one.square, one.id.weight) ** 0.5,
    "aulc": partial(_of_errors, metrics.aulc_regression),
    "raulc": partial(_of_errors, metrics.raulc_regression),
    "aurc": partial(_of_errors, metrics.aurc),
    "excess_aurc": partial(_of_errors, metrics.excess_aurc),
    "prediction_rejection_ratio": partial(
        _of_errors, metrics.prediction_rejection_ratio
    ),
    "ause": partial(_of_errors, metrics.ause),
    "pearson": partial(_of_values, metrics.pearson),
    "spearman": partial(_of_errors, metrics.spearman),
    "cumulative_calibration_error": partial(
        _of_values, metrics.cumulative_calibration_error
    ),
}
OF_TASK: dict[str, Metrics] = {
    "classification": _CLASSIFICATION,
    "binary": _CLASSIFICATION,
    "regression": _REGRESSION,
}
