"""How well the uncertainty tells out-of-distribution (OOD) samples apart.

OOD is the positive class and the uncertainty its score; `positive="id"` asks
the question the other way round: in-distribution (ID) samples are looked for
among the least uncertain.
"""

import math
from typing import Any

import numpy as np

from keras_zigzag.metrics.detection import (
    Positive,
    checked_scores,
    is_ood_positive,
    rank_detection,
)
from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
)
from keras_zigzag.metrics.ranking import Block, Ranking


def roc_auc(
    id_uncertainty: Any,
    ood_uncertainty: Any,
    id_weight: Any = None,
    ood_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Probability that an OOD sample is the more uncertain one.

    `P(u_ood > u_id) + ½ P(u_ood = u_id)`, the area under the ROC curve. It is
    the same with ID as the positive class.

    Reference: [Hanley & McNeil, 1982](https://doi.org/10.1148/radiology.143.1.7063747).

    Args:
        id_uncertainty: Array of any shape, one value per ID sample.
        ood_uncertainty: Array of any shape, one value per OOD sample.
        id_weight: Array of the shape of `id_uncertainty`, or `None`.
        ood_weight: Array of the shape of `ood_uncertainty`, or `None`.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.

    Returns:
        Float: 1 if all OOD samples are above all ID samples, ½ for a
        constant score.

    Example:

    >>> keras_zigzag.metrics.roc_auc(
    ...     id_uncertainty=[0.1, 0.4], ood_uncertainty=[0.35, 0.8])
    0.75
    """
    return roc_auc_of(
        rank_detection(
            id_uncertainty, ood_uncertainty, id_weight, ood_weight, nan_policy
        )
    )


def average_precision(
    id_uncertainty: Any,
    ood_uncertainty: Any,
    positive: Positive = "ood",
    id_weight: Any = None,
    ood_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Area under the precision–recall curve by steps, `Σ (R_k − R_{k−1}) P_k`.

    As `sklearn.metrics.average_precision_score`: one step per threshold, so
    that samples that tie are found together. A constant score has the
    prevalence.

    Args:
        id_uncertainty: As for `roc_auc`.
        ood_uncertainty: As for `roc_auc`.
        positive: `"ood"` or `"id"`. Defaults to `"ood"`.
        id_weight: As for `roc_auc`.
        ood_weight: As for `roc_auc`.
        nan_policy: As for `roc_auc`.

    Returns:
        Float.

    Example:

    >>> keras_zigzag.metrics.average_precision(
    ...     id_uncertainty=[0.1, 0.4], ood_uncertainty=[0.35, 0.8])
    0.833333333
    """
    ranking = rank_detection(
        id_uncertainty,
        ood_uncertainty,
        id_weight,
        ood_weight,
        nan_policy,
        positive,
    )
    return average_precision_of(ranking)


def pr_auc(
    id_uncertainty: Any,
    ood_uncertainty: Any,
    positive: Positive = "ood",
    id_weight: Any = None,
    ood_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Area under the precision–recall curve by trapezoids, as in the paper.

    `Σ (R_k − R_{k−1}) (P_k + P_{k−1}) / 2` from `P_0 = 1`: what
    `sklearn.metrics.auc` makes of `precision_recall_curve`, and the paper's
    code prints. It is too high where many samples tie: a constant score has
    `(1 + prevalence) / 2`. `average_precision` has no such weakness.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML).

    Args as for `average_precision`.

    Returns:
        Float.

    Example:

    >>> keras_zigzag.metrics.pr_auc(
    ...     id_uncertainty=[0.1, 0.4], ood_uncertainty=[0.35, 0.8])
    0.791666667
    """
    ranking = rank_detection(
        id_uncertainty,
        ood_uncertainty,
        id_weight,
        ood_weight,
        nan_policy,
        positive,
    )
    areas, last = [], 1.0
    for block in ranking.blocks():
        precision = _precision(block)
        before = np.concatenate([[last], precision[:-1]])
        areas.append((block.total * (precision + before)).sum() / 2.0)
        last = precision[-1]
    return float(math.fsum(areas) / ranking.total.sum())


def prevalence(
    id_uncertainty: Any,
    ood_uncertainty: Any,
    positive: Positive = "ood",
    id_weight: Any = None,
    ood_weight: Any = None,
) -> float:
    """Share of the positive class: the average precision of a random score.

    Args as for `average_precision`.

    Returns:
        Float in `(0, 1)`.

    Example:

    >>> keras_zigzag.metrics.prevalence(
    ...     id_uncertainty=[0.1, 0.4, 0.2], ood_uncertainty=[0.35])
    0.25
    """
    num_id = _num_samples(id_uncertainty, id_weight, "id")
    num_ood = _num_samples(ood_uncertainty, ood_weight, "ood")
    found = num_ood if is_ood_positive(positive) else num_id
    return float(found / (num_id + num_ood))


def roc_auc_of(ranking: Ranking) -> float:
    count, positive = ranking.sums()
    pairs = math.fsum(_pairs(block) for block in ranking.blocks())
    return float(pairs / (positive * (count - positive)))


def average_precision_of(ranking: Ranking) -> float:
    area = math.fsum(
        (block.total * _precision(block)).sum() for block in ranking.blocks()
    )
    return float(area / ranking.total.sum())


def _num_samples(uncertainty: Any, weight: Any, which: str) -> float:
    score, weight = checked_scores(uncertainty, weight, which, "worst")
    return len(score) if weight is None else float(weight.sum())


def _pairs(block: Block) -> float:
    """Negatives that come after each positive, or with it as a half."""
    negative = block.count - block.total
    positives_ahead = block.total_before + block.total / 2.0
    return float((negative * positives_ahead).sum())


def _precision(block: Block) -> Array:
    return (block.total_before + block.total) / (
        block.count_before + block.count
    )
