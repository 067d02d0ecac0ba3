"""What is gained by rejecting the most uncertain samples.

As in `risk_coverage`, but the loss is shared by all samples, kept or not, so
that a rejected sample counts as one without loss.
"""

import math
from typing import Any

from keras_zigzag.metrics.inputs import NanPolicy, loss_arrays
from keras_zigzag.metrics.ranking import (
    Ranking,
    rank,
    rank_by_value,
)
from keras_zigzag.metrics.risk_coverage import rank_loss
from keras_zigzag.metrics.sums import trapezoid_sum


def augrc(
    loss: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Area under the generalised risk–coverage curve, `∫ c r(c) dc`.

    The generalised risk is the loss of the kept samples per sample of *all*,
    so that each error counts the same wherever it is ranked. By trapezoids
    from `(0, 0)`, as the reference; half the mean loss for a constant score.

    Reference: [Traub et al., 2024](https://arxiv.org/abs/2407.01032).

    Args as for `risk_coverage_curve`.

    Returns:
        Float. Lower is better.

    Example:

    >>> keras_zigzag.metrics.augrc(
    ...     loss=[0, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    0.1875
    """
    return _augrc(rank_loss(loss, uncertainty, sample_weight, nan_policy))


def prediction_rejection_ratio(
    loss: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """How much of the oracle's gain by rejection the uncertainty has.

    With the rejected samples answered without loss, the loss per sample falls
    as they become more: along a straight line for a random order. The ratio
    is the area between that line and the curve, divided by the same area of
    the oracle, `(mean/2 − AUGRC) / (mean/2 − AUGRC_oracle)`.

    Reference: [Malinin & Gales, 2021](https://arxiv.org/abs/2002.07650).

    Args as for `risk_coverage_curve`.

    Returns:
        Float: 1 for the oracle, 0 for a random order, negative if worse.

    Example:

    >>> keras_zigzag.metrics.prediction_rejection_ratio(
    ...     loss=[0, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    0.5
    """
    loss, score, weight = loss_arrays(
        loss, uncertainty, sample_weight, nan_policy
    )
    oracle = rank_by_value(loss, weight)
    if len(oracle) == 1:
        raise ValueError(
            "The rejection ratio has no scale where all losses are the same. "
            f"Received: {loss.size} losses of {float(oracle.score[0])}."
        )
    return _gain(rank(score, loss, weight)) / _gain(oracle)


def _augrc(ranking: Ranking) -> float:
    area = math.fsum(trapezoid_sum(block).sum() for block in ranking.blocks())
    return float(area / ranking.count.sum() ** 2)


def _gain(ranking: Ranking) -> float:
    """`mean/2 − AUGRC`, exactly zero for a constant score."""
    if len(ranking) == 1:
        return 0.0
    count, total = ranking.sums()
    return total / count / 2.0 - _augrc(ranking)
