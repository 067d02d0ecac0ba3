"""What a Gaussian prediction of a real value is worth.

The prediction is a mean and a standard deviation per value, in arrays of the
shape of the targets.
"""

import math
import statistics
from typing import Any, NamedTuple

import numpy as np

from keras_zigzag.metrics.inputs import (
    Array,
    as_finite,
    as_weight,
    flat,
    where_there,
)


class Interval(NamedTuple):
    """Two arrays of the shape of the mean."""

    lower: Array
    upper: Array


def gaussian_nll(
    targets: Any, mean: Any, standard_deviation: Any, sample_weight: Any = None
) -> float:
    """Mean of `½ log(2πσ²) + (y − μ)² / (2σ²)`, in nats.

    Reference: [Nix & Weigend, 1994](https://doi.org/10.1109/ICNN.1994.374138).

    Args:
        targets: Array of what happened.
        mean: Array of the same shape.
        standard_deviation: Array of the same shape, positive.
        sample_weight: Array of the same shape, or `None`.

    Returns:
        Float. Lower is better.

    Example:

    >>> keras_zigzag.metrics.gaussian_nll(
    ...     targets=[0.0, 1.0], mean=[0.0, 0.0], standard_deviation=[1.0, 1.0])
    1.168938533
    """
    z, deviation, weight = _standard_scores(
        targets, mean, standard_deviation, sample_weight
    )
    nll = np.log(deviation) + 0.5 * z**2 + 0.5 * math.log(2.0 * math.pi)
    return float(np.average(nll, weights=weight))


def gaussian_crps(
    targets: Any, mean: Any, standard_deviation: Any, sample_weight: Any = None
) -> float:
    """Mean of the continuous ranked probability score, in the targets' unit.

    `σ (z (2Φ(z) − 1) + 2φ(z) − 1/√π)` with `z = (y − μ)/σ`, the closed form
    of `E|X − y| − ½ E|X − X'|`. It becomes the absolute error as `σ → 0`.

    Reference: [Gneiting & Raftery, 2007](https://doi.org/10.1198/016214506000001437).

    Args as for `gaussian_nll`.

    Returns:
        Float. Lower is better.

    Example:

    >>> keras_zigzag.metrics.gaussian_crps(
    ...     targets=[0.0, 1.0], mean=[0.0, 0.0], standard_deviation=[1.0, 1.0])
    0.418067821
    """
    from scipy.special import erf

    z, deviation, weight = _standard_scores(
        targets, mean, standard_deviation, sample_weight
    )
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    crps = deviation * (
        z * erf(z / math.sqrt(2.0)) + 2.0 * density - 1.0 / math.sqrt(math.pi)
    )
    return float(np.average(crps, weights=weight))


def gaussian_interval(
    mean: Any, standard_deviation: Any, level: float = 0.95
) -> Interval:
    """The central interval, `μ ± Φ⁻¹((1 + level)/2) σ`.

    Args:
        mean: Array.
        standard_deviation: Array of the same shape, positive.
        level: Float in `(0, 1)`. Probability of the interval. Defaults to
            `0.95`.

    Returns:
        `Interval` of arrays `lower` and `upper`.

    Example:

    >>> interval = keras_zigzag.metrics.gaussian_interval(
    ...     mean=[0.0, 1.0], standard_deviation=[1.0, 2.0])
    >>> interval.upper
    [1.959963985, 4.919927969]
    """
    mean = as_finite(mean, "mean")
    half = _half_width(standard_deviation, level)
    flat(mean=mean, standard_deviation=half)
    return Interval(mean - half, mean + half)


def interval_coverage(
    targets: Any, lower: Any, upper: Any, sample_weight: Any = None
) -> float:
    """Share of targets in `[lower, upper]`, to compare with the level.

    Args:
        targets: Array of what happened.
        lower: Array of the same shape.
        upper: Array of the same shape, not below `lower`.
        sample_weight: Array of the same shape, or `None`.

    Returns:
        Float in `[0, 1]`.

    Example:

    >>> keras_zigzag.metrics.interval_coverage(
    ...     targets=[0.0, 3.0], lower=[-1.0, -1.0], upper=[1.0, 1.0])
    0.5
    """
    weight, targets, lower, upper = where_there(
        as_weight(sample_weight), targets, lower, upper
    )
    target, low, high, weight = flat(
        targets=as_finite(targets, "targets"),
        lower=as_finite(lower, "lower"),
        upper=as_finite(upper, "upper"),
        sample_weight=weight,
    )
    _check_order(low, high)
    is_inside = (low <= target) & (target <= high)
    return float(np.average(is_inside, weights=weight))


def interval_width(lower: Any, upper: Any, sample_weight: Any = None) -> float:
    """Mean of `upper − lower`: of two intervals with the same coverage, the
    narrower one says more.

    Args:
        lower: Array.
        upper: Array of the same shape, not below `lower`.
        sample_weight: Array of the same shape, or `None`.

    Returns:
        Float, in the unit of the targets.

    Example:

    >>> keras_zigzag.metrics.interval_width(
    ...     lower=[-1.0, -1.0], upper=[1.0, 2.0])
    2.5
    """
    weight, lower, upper = where_there(as_weight(sample_weight), lower, upper)
    low, high, weight = flat(
        lower=as_finite(lower, "lower"),
        upper=as_finite(upper, "upper"),
        sample_weight=weight,
    )
    _check_order(low, high)
    return float(np.average(high - low, weights=weight))


def _standard_scores(
    targets: Any, mean: Any, standard_deviation: Any, sample_weight: Any
) -> tuple[Array, Array, Array | None]:
    weight, targets, mean, standard_deviation = where_there(
        as_weight(sample_weight), targets, mean, standard_deviation
    )
    target, mean, deviation, weight = flat(
        targets=as_finite(targets, "targets"),
        mean=as_finite(mean, "mean"),
        standard_deviation=_positive(standard_deviation),
        sample_weight=weight,
    )
    return (target - mean) / deviation, deviation, weight


def _positive(standard_deviation: Any) -> Array:
    array = as_finite(standard_deviation, "standard_deviation")
    if array.min() <= 0:
        raise ValueError(
            "`standard_deviation` must be positive everywhere. "
            f"Received: a smallest value of {array.min()}."
        )
    return array


def _half_width(standard_deviation: Any, level: float) -> Array:
    if not 0 < level < 1:
        raise ValueError(
            f"`level` must be in (0, 1). Received: level={level!r}"
        )
    quantile = statistics.NormalDist().inv_cdf((1.0 + level) / 2.0)
    return quantile * _positive(standard_deviation)


def _check_order(lower: Array, upper: Array) -> None:
    if np.any(upper < lower):
        raise ValueError(
            "`upper` must not be below `lower`. Received: "
            f"{int(np.count_nonzero(upper < lower))} of {lower.size} "
            "intervals the wrong way round."
        )
