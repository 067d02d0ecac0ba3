"""Closed forms of what a group of tied samples adds to an area.

Up to its `t`-th sample, a group of `count` samples with the sum `total` has
on average the sum `total_before + t * total / count`, in whatever order. Each
function sums one expression over `t = 1 … count`; for counts that are no
whole numbers it is the same formula, continued through the digamma function.
"""

import numpy as np

from keras_zigzag.metrics.inputs import Array
from keras_zigzag.metrics.ranking import Block


def mean_sum(block: Block) -> Array:
    """`Σ_t S(t) / N(t)`: the mean value so far, summed over the samples."""
    mean = block.total / block.count
    lead = block.total_before - mean * block.count_before
    return block.total + lead * harmonic(block.count_before, block.count)


def inverse_mean_sum(block: Block) -> Array:
    """`Σ_t N(t) / S(t)`: one over the mean value so far, summed likewise."""
    if _all_ones(block.count):
        return (block.count_before + 1.0) / (block.total_before + block.total)
    count, mean = block.count, block.total / block.count
    result = np.empty(len(count))
    # Where the group hardly moves the sum, the closed form would cancel.
    is_flat = block.total_before > 1e4 * mean * np.maximum(count, 1.0)
    far, near = is_flat, ~is_flat
    result[far] = _flat_inverse_sum(
        block.count_before[far], block.total_before[far], count[far], mean[far]
    )
    start = block.total_before[near] / mean[near]
    inverse = harmonic(start, count[near])
    result[near] = (
        count[near] + (block.count_before[near] - start) * inverse
    ) / mean[near]
    return result


def trapezoid_sum(block: Block) -> Array:
    """`∫ S(t) dt`: the sum so far, a straight line within the group."""
    return block.count * (block.total_before + block.total / 2.0)


def least_precision_sum(block: Block) -> Array:
    """The least that the positives of a group add to an average precision.

    The precision at the `t`-th positive is `(P + t) / (N + t)` where all
    negatives of the group, counted in `N`, come first. Its integral over `t`
    is below the sum, in whatever steps that is taken.
    """
    before = block.count_before + block.count - block.total
    inverse = np.zeros(len(before))
    np.divide(block.total, before, out=inverse, where=before > 0)
    return block.total + (block.total_before - before) * np.log1p(inverse)


def harmonic(start: Array, count: Array) -> Array:
    """`Σ_t 1 / (start + t)`, the difference of two harmonic numbers."""
    x = start + 1.0
    if _all_ones(count):
        return 1.0 / x
    # ψ(x + count) − ψ(x) by the asymptotic series, in a form that does not
    # cancel for a large start.
    y = x + count
    first = count / (x * y)
    second = first * (1.0 / x + 1.0 / y)
    fourth = second * (1.0 / x**2 + 1.0 / y**2)
    result = np.log1p(count / x) + first / 2 + second / 12 - fourth / 120
    small = x < 100.0
    if small.any():
        from scipy.special import digamma

        result[small] = digamma(y[small]) - digamma(x[small])
    return result


def _all_ones(count: Array) -> bool:
    return bool(np.all(count == 1.0))


def _flat_inverse_sum(
    count_before: Array, total_before: Array, count: Array, mean: Array
) -> Array:
    """Three terms of the series in `t * mean / total_before < 1e-4`."""
    slope = mean / total_before
    sum_1 = count * (count + 1.0) / 2.0
    sum_2 = sum_1 * (2.0 * count + 1.0) / 3.0
    sum_3 = sum_1**2
    constant = count - slope * (sum_1 - slope * (sum_2 - slope * sum_3))
    linear = sum_1 - slope * (sum_2 - slope * sum_3)
    return (count_before * constant + linear) / total_before
