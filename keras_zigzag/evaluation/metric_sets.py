"""Which metrics a report holds for which task."""

import functools
from collections.abc import Callable, Iterable

import numpy as np

from keras_zigzag import metrics
from keras_zigzag.evaluation.samples import OodScores, Samples

Functions = dict[str, Callable[[], float]]
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
    if samples.task == "regression":
        result = _regression(samples)
    else:
        result = _classification(samples)
    for name, ood in samples.ood.items():
        for key, function in _detection(samples, ood).items():
            result[f"{name}_{key}"] = function
    return result


def names_of_all(ood: Iterable[str]) -> list[str]:
    """The metrics that there may be, whatever the task, with OOD sets."""
    detection = [f"{one}_{metric}" for one in ood for metric in DETECTION]
    return [name for name in HEADINGS if name not in DETECTION] + detection


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


def _ranked(samples: Samples) -> Functions:
    """What a ranking of the samples is worth, whatever the task."""
    arguments = samples.loss, samples.id.uncertainty, samples.id.weight
    bind = functools.partial
    return {
        "aurc": bind(metrics.aurc, *arguments, samples.nan_policy),
        "excess_aurc": bind(
            metrics.excess_aurc, *arguments, samples.nan_policy
        ),
        "augrc": bind(metrics.augrc, *arguments, samples.nan_policy),
        "prediction_rejection_ratio": bind(
            metrics.prediction_rejection_ratio, *arguments, samples.nan_policy
        ),
    }


def _classification(samples: Samples) -> Functions:
    correct, weight = 1.0 - samples.loss, samples.id.weight
    ranked = correct, samples.id.uncertainty, weight, samples.nan_policy
    bind = functools.partial
    return {
        "accuracy": bind(_mean, correct, weight),
        "aulc": bind(metrics.aulc, *ranked),
        "raulc": bind(metrics.raulc, *ranked),
        **_ranked(samples),
        "ece": bind(
            _of_probabilities, metrics.expected_calibration_error, samples
        ),
        "nll": bind(
            _of_probabilities, metrics.negative_log_likelihood, samples
        ),
        "brier": bind(_of_probabilities, metrics.brier_score, samples),
    }


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


def _regression(samples: Samples) -> Functions:
    error, weight = samples.loss, samples.id.weight
    scored = error, samples.id.uncertainty, weight
    policy = samples.nan_policy
    bind = functools.partial
    ranked = _ranked(samples)
    del ranked["augrc"]
    return {
        "mae": bind(_mean, error, weight),
        "rmse": lambda: _mean(samples.square, weight) ** 0.5,
        "aulc": bind(metrics.aulc_regression, *scored, policy),
        "raulc": bind(metrics.raulc_regression, *scored, policy),
        **ranked,
        "ause": bind(metrics.ause, *scored, policy),
        "pearson": bind(metrics.pearson, *scored),
        "spearman": bind(metrics.spearman, *scored, policy),
        "cumulative_calibration_error": bind(
            metrics.cumulative_calibration_error, *scored
        ),
    }


def _detection(samples: Samples, ood: OodScores) -> Functions:
    def bound(metric: Callable[..., float]) -> Callable[[], float]:
        return functools.partial(
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
        "prevalence": functools.partial(
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
