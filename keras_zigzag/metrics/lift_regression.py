"""The lift of a regression: `F(q)` is one over the mean absolute error (MAE).

Samples that tie count with the expected error over all orders.
"""

import math
from typing import Any

import numpy as np

from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
    error_arrays,
)
from keras_zigzag.metrics.lift import LiftCurve, relative_curve
from keras_zigzag.metrics.ranking import (
    Ranking,
    check_counts,
    rank,
    rank_by_value,
)
from keras_zigzag.metrics.sums import inverse_mean_sum


def lift_curve_regression(
    absolute_error: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> LiftCurve:
    """Lift of one over the MAE, `L(q) = MAE(1) / MAE(q)`.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML).

    Args:
        absolute_error: Array of errors that are not negative, one per
            sample, of any shape.
        uncertainty: Array of the same shape; higher means less trust.
        sample_weight: Array of the same shape, or `None`. How many samples
            each one stands for.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.

    Returns:
        `LiftCurve` of arrays `fraction` and `lift`.

    Raises:
        ValueError: If the most certain samples have no error at all.

    Example:

    >>> curve = keras_zigzag.metrics.lift_curve_regression(
    ...     absolute_error=[1.0, 3.0, 2.0], uncertainty=[0.1, 0.2, 0.3])
    >>> curve.lift
    [2.0, 1.0, 1.0]
    """
    ranking = _rank_error(
        *error_arrays(absolute_error, uncertainty, sample_weight, nan_policy)
    )
    count, total = ranking.positions()
    curve = relative_curve(count, total)
    np.divide(1.0, curve.lift, out=curve.lift)
    return curve


def aulc_regression(
    absolute_error: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Area under the lift curve of a regression, `(1/n) Σ_k L(k/n) − 1`.

    `L(q) = MAE(1) / MAE(q)` divides by the mean of a few errors where `q` is
    small, so that a handful of the smallest errors can make up most of the
    area. `prediction_rejection_ratio` has no such weakness: report it as
    well. Samples that tie count with their expected error, so that a constant
    score has 0.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML).

    Args as for `lift_curve_regression`.

    Returns:
        Float. Higher is better.

    Raises:
        ValueError: If the most certain samples have no error at all, which
            makes the lift infinite.

    Example:

    >>> keras_zigzag.metrics.aulc_regression(
    ...     absolute_error=[1.0, 3.0, 2.0], uncertainty=[0.1, 0.2, 0.3])
    0.333333333
    """
    ranking = _rank_error(
        *error_arrays(absolute_error, uncertainty, sample_weight, nan_policy)
    )
    return _aulc_regression(ranking)


def raulc_regression(
    absolute_error: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """AULC of a regression relative to the oracle's, which ranks by error.

    The few smallest errors dominate it, in the oracle most of all: see
    `aulc_regression`, and report `prediction_rejection_ratio` beside it.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML).

    Args as for `lift_curve_regression`.

    Returns:
        Float: 1 for the oracle, 0 for a random order, negative if worse.

    Raises:
        ValueError: If an error is zero, or all are the same.

    Example:

    >>> keras_zigzag.metrics.raulc_regression(
    ...     absolute_error=[1.0, 3.0, 2.0], uncertainty=[0.1, 0.2, 0.3])
    0.75
    """
    error, score, weight = error_arrays(
        absolute_error, uncertainty, sample_weight, nan_policy
    )
    oracle = rank_by_value(error, weight)
    if len(oracle) == 1:
        raise ValueError(
            "rAULC has no scale where all errors are the same: the oracle's "
            f"AULC is 0. Received: {error.size} errors of "
            f"{float(oracle.score[0])}."
        )
    if oracle.total[0] == 0.0:
        raise ValueError(
            "1/MAE is infinite for an error of zero, which the oracle puts "
            "first. Use `prediction_rejection_ratio`, which is defined there. "
            f"Received: {int(oracle.num_samples[0])} error(s) of zero."
        )
    oracle_area = _aulc_regression(oracle)
    del oracle
    return _aulc_regression(_rank_error(error, score, weight)) / oracle_area


def _rank_error(error: Array, score: Array, weight: Array | None) -> Ranking:
    ranking = rank(score, error, weight)
    _check_lift(ranking)
    return ranking


def _check_lift(ranking: Ranking) -> None:
    check_counts(ranking)
    if ranking.total[0] == 0.0:
        raise ValueError(
            "1/MAE is infinite where the most certain samples have no error. "
            "Use `prediction_rejection_ratio`, which is defined there. "
            f"Received: {int(ranking.num_samples[0])} error(s) of zero at an "
            f"uncertainty of {float(ranking.score[0])}."
        )


def _aulc_regression(ranking: Ranking) -> float:
    if len(ranking) == 1:
        return 0.0
    count, total = ranking.sums()
    with np.errstate(over="ignore"):
        area = math.fsum(
            inverse_mean_sum(block).sum() for block in ranking.blocks()
        )
    result = float((area / count) * (total / count) - 1.0)
    if not math.isfinite(result):
        raise ValueError(
            "1/MAE of the most certain samples is too large for a float. "
            "Use `prediction_rejection_ratio`, which is defined there. "
            f"Received: an error of {float(ranking.total[0])} at the lowest "
            "uncertainty."
        )
    return result
