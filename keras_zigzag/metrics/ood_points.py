"""The detection of OOD samples threshold by threshold."""

from typing import Any, NamedTuple

import numpy as np

from keras_zigzag.metrics.detection import (
    Positive,
    is_ood_positive,
    rank_detection,
)
from keras_zigzag.metrics.inputs import Array, NanPolicy, as_fraction
from keras_zigzag.metrics.operating_points import whole_samples
from keras_zigzag.metrics.ranking import Ranking, check_counts, running_sum


class DetectionCurves(NamedTuple):
    """Arrays of shape `(num_thresholds + 1,)`, from nothing found to all.

    `threshold` is the uncertainty from which on (`"ood"`) or up to which
    (`"id"`) samples count as positive, `fpr` and `tpr` are the axes of the
    ROC curve, `tpr` (the recall) and `precision` those of the PR curve.
    `prevalence` is the share of the positive class, a float.
    """

    threshold: Array
    fpr: Array
    tpr: Array
    precision: Array
    prevalence: float


def fpr_at_tpr(
    id_uncertainty: Any,
    ood_uncertainty: Any,
    tpr: float = 0.95,
    positive: Positive = "ood",
    id_weight: Any = None,
    ood_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Share of negatives taken for positives once enough positives are found.

    Samples are looked at in order until `⌈tpr · P⌉` of the `P` positives are
    found. Of a group of ties with `p` positives and `q` negatives that is
    needed for `k` more positives, `q k / (p + 1)` negatives are expected in
    front of the last one. FPR95 of a constant score is thus about 0.95, not
    0 and not 1.

    Reference: [Hendrycks & Gimpel, 2017](https://arxiv.org/abs/1610.02136);
    [Liang et al., 2018](https://arxiv.org/abs/1706.02690).

    Args:
        id_uncertainty: As for `roc_auc`.
        ood_uncertainty: As for `roc_auc`.
        tpr: Float in `(0, 1]`. Share of positives to find. Defaults to
            `0.95`.
        positive: `"ood"` or `"id"`. Defaults to `"ood"`.
        id_weight: As for `roc_auc`. How many samples each one stands for.
        ood_weight: As for `id_weight`.
        nan_policy: As for `roc_auc`.

    Returns:
        Float in `[0, 1]`. Lower is better.

    Example:

    >>> keras_zigzag.metrics.fpr_at_tpr(
    ...     id_uncertainty=[0.1, 0.4], ood_uncertainty=[0.35, 0.8])
    0.5
    """
    tpr = as_fraction(tpr, "tpr")
    ranking = rank_detection(
        id_uncertainty,
        ood_uncertainty,
        id_weight,
        ood_weight,
        nan_policy,
        positive,
    )
    return fpr_of(ranking, tpr)


def detection_curves(
    id_uncertainty: Any,
    ood_uncertainty: Any,
    positive: Positive = "ood",
    id_weight: Any = None,
    ood_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> DetectionCurves:
    """ROC and precision–recall curve, one point per distinct score.

    As `sklearn.metrics.roc_curve` and `precision_recall_curve` without
    dropped points, from the first positive on: `tpr` rises from 0 to 1.

    Args as for `average_precision`.

    Returns:
        `DetectionCurves` of arrays `threshold`, `fpr`, `tpr`, `precision`,
        and `prevalence`.

    Example:

    >>> curves = keras_zigzag.metrics.detection_curves(
    ...     id_uncertainty=[0.1, 0.4], ood_uncertainty=[0.35, 0.8])
    >>> curves.fpr
    [0.0, 0.0, 0.5, 0.5, 1.0]
    >>> curves.tpr
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    ranking = rank_detection(
        id_uncertainty,
        ood_uncertainty,
        id_weight,
        ood_weight,
        nan_policy,
        positive,
    )
    nothing = np.inf if is_ood_positive(positive) else -np.inf
    threshold = np.append(nothing, ranking.score)
    # In place from here on, for the sake of memory.
    fpr, tpr = running_sum(ranking.count), running_sum(ranking.total)
    del ranking
    fpr[0] = tpr[0] = 1.0
    precision = tpr / fpr
    prevalence = float(precision[-1])
    fpr[0] = tpr[0] = 0.0
    fpr -= tpr
    np.maximum(fpr, 0.0, out=fpr)
    fpr /= fpr[-1]
    tpr /= tpr[-1]
    return DetectionCurves(threshold, fpr, tpr, precision, prevalence)


def fpr_of(ranking: Ranking, tpr: float) -> float:
    check_counts(ranking)
    count, found = np.cumsum(ranking.count), np.cumsum(ranking.total)
    needed = min(whole_samples(tpr * found[-1]), found[-1])
    group = int(np.searchsorted(found, needed))
    num_positive = ranking.total[group]
    num_negative = ranking.count[group] - num_positive
    before = count[group] - found[group] - num_negative
    missing = needed - (found[group] - num_positive)
    expected = num_negative * missing / (num_positive + 1.0)
    return float((before + expected) / (count[-1] - found[-1]))
