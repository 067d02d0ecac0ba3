"""How much better than all samples the most certain ones are.

With the samples in order of rising uncertainty, `F(q)` is the accuracy of the
most certain fraction `q`. The lift is `L(q) = F(q) / F(1)`. Samples that tie
count with their expected value over all orders.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
    as_correct,
    as_scores,
    as_weight,
    flat,
    where_there,
)
from keras_zigzag.metrics.ranking import (
    Ranking,
    check_counts,
    rank,
)
from keras_zigzag.metrics.sums import mean_sum


class LiftCurve(NamedTuple):
    """Two arrays of shape `(num_samples,)`, most certain sample first."""

    fraction: Array
    lift: Array


def lift_curve(
    correct: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> LiftCurve:
    """Lift of the accuracy, `L(q) = accuracy(q) / accuracy(1)`.

    Reference: Vuk & Curk (2006), ROC curve, lift chart and calibration plot.

    Args:
        correct: Array of Booleans, or 0 and 1: whether the prediction is
            right, one per sample, of any shape.
        uncertainty: Array of the same shape; higher means less trust.
        sample_weight: Array of the same shape, or `None`. How many samples
            each one stands for.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.

    Returns:
        `LiftCurve` of arrays `fraction` and `lift`.

    Example:

    >>> curve = keras_zigzag.metrics.lift_curve(
    ...     correct=[1, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    >>> curve.lift
    [1.333333333, 1.333333333, 0.888888889, 1.0]
    """
    ranking = _rank_correct(correct, uncertainty, sample_weight, nan_policy)
    return relative_curve(*ranking.positions())


def aulc(
    correct: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Area under the lift curve, `(1/n) Σ_k L(k/n) − 1`.

    Higher is better; a constant score has 0.

    References: Vuk & Curk (2006), ROC curve, lift chart and calibration
    plot; [Postels et al., 2022](https://arxiv.org/abs/2107.00649).

    Args as for `lift_curve`.

    Returns:
        Float.

    Example:

    >>> keras_zigzag.metrics.aulc(
    ...     correct=[1, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    0.138888889
    """
    return aulc_of(
        _rank_correct(correct, uncertainty, sample_weight, nan_policy)
    )


def raulc(
    correct: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """AULC relative to that of the oracle, which ranks every mistake last.

    Reference: [Postels et al., 2022](https://arxiv.org/abs/2107.00649).

    Args as for `lift_curve`.

    Returns:
        Float: 1 for the oracle, 0 for a random order, negative if worse.

    Raises:
        ValueError: If all samples are right, or all wrong.

    Example:

    >>> keras_zigzag.metrics.raulc(
    ...     correct=[1, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    0.555555556
    """
    return raulc_of(
        _rank_correct(correct, uncertainty, sample_weight, nan_policy)
    )


def relative_curve(count: Array, total: Array) -> LiftCurve:
    """`total / count` relative to its last value, in place."""
    total /= count
    total /= total[-1]
    count /= count[-1]
    return LiftCurve(count, total)


def _rank_correct(
    correct: Any, uncertainty: Any, sample_weight: Any, nan_policy: NanPolicy
) -> Ranking:
    weight, correct, uncertainty = where_there(
        as_weight(sample_weight), correct, uncertainty
    )
    correct, score, weight = flat(
        correct=as_correct(correct),
        uncertainty=as_scores(uncertainty, nan_policy=nan_policy),
        sample_weight=weight,
    )
    ranking = rank(score, correct, weight)
    check_lift(ranking)
    return ranking


def check_lift(ranking: Ranking) -> None:
    """Raises a `ValueError` where no sample is right."""
    if not ranking.total.any():
        raise ValueError(
            "The lift needs at least one correct sample. Received: "
            f"{ranking.num_samples.sum()} samples, all of them wrong."
        )


def aulc_of(ranking: Ranking) -> float:
    check_counts(ranking)
    count, total = ranking.sums()
    area = math.fsum(mean_sum(block).sum() for block in ranking.blocks())
    return float((area / count) / (total / count) - 1.0)


def raulc_of(ranking: Ranking) -> float:
    count, right = ranking.sums()
    if right == count:
        raise ValueError(
            "rAULC has no scale without a mistake to rank: the oracle's AULC "
            f"is 0. Received: {int(ranking.num_samples.sum())} samples, all "
            "of them correct."
        )
    oracle = Ranking(
        score=np.array([0.0, 1.0]),
        num_samples=np.array([1, 1]),
        count=np.array([right, count - right]),
        total=np.array([right, 0.0]),
    )
    return aulc_of(ranking) / aulc_of(oracle)
