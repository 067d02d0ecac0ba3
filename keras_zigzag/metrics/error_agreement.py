"""How far the uncertainty agrees with the size of the error."""

import math
from typing import Any, NamedTuple

import numpy as np

from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
    as_errors,
    as_finite,
    as_weight,
    flat,
    loss_arrays,
    where_there,
)
from keras_zigzag.metrics.ranking import (
    BLOCK,
    mid_ranks_in_order,
    rank,
    running_sum,
    sort_finite,
)

# The smallest normal float64: what is below it is zero here.
SMALLEST = np.finfo("float64").tiny


class CumulativeCalibrationCurve(NamedTuple):
    """Two arrays that rise from 0 to 1, one point per distinct uncertainty."""

    uncertainty_share: Array
    error_share: Array


def pearson(
    absolute_error: Any, uncertainty: Any, sample_weight: Any = None
) -> float:
    """Pearson's correlation of error and uncertainty, the paper's `r`.

    `Σ (e − ē)(u − ū) / √(Σ (e − ē)² Σ (u − ū)²)`. Unlike the other metrics it
    depends on the scale of the uncertainty, not on its order only.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    figure "True vs Estimated Error".

    Args:
        absolute_error: Array of errors, one per sample, of any shape.
        uncertainty: Array of the same shape, finite.
        sample_weight: Array of the same shape, or `None`.

    Returns:
        Float in `[-1, 1]`.

    Raises:
        ValueError: If one of the two is constant: there is no correlation.

    Example:

    >>> keras_zigzag.metrics.pearson(
    ...     absolute_error=[1.0, 2.0, 3.0], uncertainty=[0.1, 0.4, 0.4])
    0.866025404
    """
    weight, error, score = where_there(
        as_weight(sample_weight), absolute_error, uncertainty
    )
    error, score, weight = flat(
        absolute_error=as_finite(error, "absolute_error"),
        uncertainty=as_finite(score, "uncertainty"),
        sample_weight=weight,
    )
    error = _standardised(error, weight, "absolute_error")
    score = _standardised(score, weight, "uncertainty")
    if weight is not None:
        error *= weight
    return _correlation(float(error @ score))


def spearman(
    absolute_error: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Spearman's correlation: Pearson's of the ranks, ties at their middle.

    Reference: Spearman (1904), The proof and measurement of association
    between two things.

    Args:
        absolute_error: Array of errors, one per sample, of any shape.
        uncertainty: Array of the same shape; higher means less trust.
        sample_weight: Array of the same shape, or `None`.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.

    Returns:
        Float in `[-1, 1]`.

    Raises:
        ValueError: If one of the two is constant: there is no correlation.

    Example:

    >>> keras_zigzag.metrics.spearman(
    ...     absolute_error=[1.0, 2.0, 3.0], uncertainty=[0.1, 0.9, 0.4])
    0.5
    """
    error, score, weight = loss_arrays(
        absolute_error, uncertainty, sample_weight, nan_policy, "absolute_error"
    )
    # Everything in the order of the errors, which then rank by position.
    order, error = sort_finite(error)
    score = score[order]
    weight = None if weight is None else weight[order]
    del order
    error_rank = mid_ranks_in_order(error, weight)
    del error
    _centre(error_rank, weight, "absolute_error")
    ranking = rank(score, error_rank, weight)
    del score, error_rank
    middle = np.cumsum(ranking.count)
    middle -= ranking.count / 2.0
    middle /= middle[-1]
    _centre(middle, ranking.count, "uncertainty")
    return _correlation(float(middle @ ranking.total))


def cumulative_calibration_curve(
    absolute_error: Any, uncertainty: Any, sample_weight: Any = None
) -> CumulativeCalibrationCurve:
    """Share of all error against share of all uncertainty, in rising order.

    With the samples in order of rising uncertainty, a point is
    `(Σ_{i≤k} u_i / Σ u_i, Σ_{i≤k} e_i / Σ e_i)`. If the expected error is
    proportional to the uncertainty it lies on the diagonal; above it the
    certain samples have more of the error than they own up to.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    figure "Actual error vs uncertainty". The definition is our reading of that
    figure.

    Args:
        absolute_error: Array of errors that are not negative, one per
            sample, of any shape.
        uncertainty: Array of the same shape, finite and not negative.
        sample_weight: Array of the same shape, or `None`.

    Returns:
        `CumulativeCalibrationCurve` of arrays `uncertainty_share` and
        `error_share`, both from 0 to 1.

    Example:

    >>> curve = keras_zigzag.metrics.cumulative_calibration_curve(
    ...     absolute_error=[1.0, 1.0, 2.0], uncertainty=[0.1, 0.4, 0.5])
    >>> curve.uncertainty_share
    [0.0, 0.1, 0.5, 1.0]
    >>> curve.error_share
    [0.0, 0.25, 0.5, 1.0]
    """
    weight, error, score = where_there(
        as_weight(sample_weight), absolute_error, uncertainty
    )
    error, score, weight = flat(
        absolute_error=as_errors(error),
        uncertainty=as_errors(score, "uncertainty"),
        sample_weight=weight,
    )
    ranking = rank(score, error, weight)
    return CumulativeCalibrationCurve(
        _share(ranking.score * ranking.count, "uncertainty"),
        _share(ranking.total, "absolute_error"),
    )


def cumulative_calibration_error(
    absolute_error: Any, uncertainty: Any, sample_weight: Any = None
) -> float:
    """Area between the cumulative calibration curve and the diagonal.

    `∫ |y(x) − x| dx` with straight lines between the points.

    Args as for `cumulative_calibration_curve`.

    Returns:
        Float in `[0, ½]`, 0 where error and uncertainty are proportional.

    Example:

    >>> keras_zigzag.metrics.cumulative_calibration_error(
    ...     absolute_error=[1.0, 1.0, 2.0], uncertainty=[0.1, 0.4, 0.5])
    0.0375
    """
    x, gap = cumulative_calibration_curve(
        absolute_error, uncertainty, sample_weight
    )
    gap -= x
    pieces = (slice(i, i + BLOCK + 1) for i in range(0, len(x) - 1, BLOCK))
    return math.fsum(area_to_zero(x[piece], gap[piece]) for piece in pieces)


def area_to_zero(x: Array, y: Array) -> float:
    """`∫ |y| dx` with straight lines between the points."""
    start, end = y[:-1], y[1:]
    height = np.abs(start) + np.abs(end)
    # Where a line crosses zero there are two triangles.
    crossing = start * end < 0
    square = (start**2 + end**2)[crossing]
    height[crossing] = square / height[crossing]
    return float(height @ np.diff(x) / 2.0)


def _standardised(values: Array, weight: Array | None, name: str) -> Array:
    """Centred, whatever the size of the values."""
    # A scale of one keeps the squares of tiny and of huge values apart.
    values = values / max(np.abs(values).max(), SMALLEST)
    _centre(values, weight, name)
    return values


def _centre(values: Array, weight: Array | None, name: str) -> None:
    """Gives, in place, a mean of 0 and a (weighted) sum of squares of 1."""
    spread = values.max() - values.min()
    if spread == 0.0:
        raise ValueError(
            f"There is no correlation with a constant. Received: `{name}` with "
            "one and the same value or rank for all samples."
        )
    values -= np.average(values, weights=weight)
    values /= spread
    square = values @ values if weight is None else (values * weight) @ values
    values /= np.sqrt(square)


def _correlation(value: float) -> float:
    # Rounding must not lead out of the range.
    return min(max(value, -1.0), 1.0)


def _share(values: Array, name: str) -> Array:
    running = running_sum(values)
    if running[-1] == 0.0:
        raise ValueError(
            f"`{name}` must not be zero everywhere. "
            f"Received: {len(values)} distinct value(s), a sum of zero."
        )
    running /= running[-1]
    return running
