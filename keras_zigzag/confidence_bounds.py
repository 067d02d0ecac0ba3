"""How high the mean of losses in `[0, 1]` may be, from some of them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from keras_zigzag.metrics.inputs import Array


def upper_bound_of_mean(
    num_samples: int, mean: float, confidence: float, binary: bool = True
) -> float:
    """Upper confidence bound of the mean of losses in `[0, 1]`.

    For losses of 0 and 1 the bound of Clopper & Pearson, the highest `p` with
    `P(Bin(n, p) <= n · mean) >= 1 - confidence`. For others the highest `p`
    with `min(exp(-n · KL(mean ‖ p)), e · P(Bin(n, p) <= ⌈n · mean⌉)) >= 1 -
    confidence`, Bates et al., 2021, section 3.1.2.

    Args:
        num_samples: Integer. Number of losses.
        mean: Float in `[0, 1]`. Their mean.
        confidence: Float in `(0, 1)`.
        binary: Boolean. Whether all are 0 or 1. Defaults to `True`.

    Returns:
        Float in `[0, 1]`.

    Example:

    >>> keras_zigzag.confidence_bounds.upper_bound_of_mean(
    ...     10, 0.0, confidence=0.95)
    0.2588655508930523
    """
    total = num_samples * mean
    if binary:
        return _clopper_pearson(num_samples, round(total), 1 - confidence)
    # A whole number but for rounding does not count as the next one.
    bentkus = _clopper_pearson(
        num_samples, math.ceil(total - 1e-9), (1 - confidence) / math.e
    )
    return min(bentkus, _hoeffding(num_samples, mean, 1 - confidence))


def p_values(counts: Array, means: Array, risk: float, binary: bool) -> Array:
    """Of the hypothesis that the mean is above `risk`, for many samples.

    Args:
        counts: Array. Number of losses of each sample.
        means: Array. Their means.
        risk: Float, positive.
        binary: Boolean. Whether all losses are 0 or 1.

    Returns:
        Array. At most `level` where `upper_bound_of_mean` at a confidence of
        `1 - level` is at most `risk`.
    """
    if risk >= 1:
        return np.zeros(len(counts))
    counts = counts.astype("int64")
    totals = counts * means
    if binary:
        return special.bdtr(np.round(totals), counts, risk)
    bentkus = math.e * special.bdtr(np.ceil(totals - 1e-9), counts, risk)
    hoeffding = np.exp(-counts * _kl(means, risk))
    return np.minimum(bentkus, np.where(means < risk, hoeffding, 1.0))


def _clopper_pearson(num_samples: int, total: int, level: float) -> float:
    if total >= num_samples:
        return 1.0
    return float(special.betaincinv(total + 1, num_samples - total, 1 - level))


def _hoeffding(num_samples: int, mean: float, level: float) -> float:
    """The `p` above `mean` with `exp(-n · KL(mean ‖ p)) = level`."""
    largest = -math.log(level) / num_samples
    return _root_above(lambda p: _kl(mean, p) - largest, mean)


def _root_above(function: Callable[[float], float], low: float) -> float:
    """Root of an increasing function, rounded up."""
    high = 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if function(middle) >= 0:
            high = middle
        else:
            low = middle
    return high


def _kl(mean: Any, p: float) -> Any:
    return special.rel_entr(mean, p) + special.rel_entr(1 - mean, 1 - p)
