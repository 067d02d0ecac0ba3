"""Which differences are larger than noise? Pure functions on arrays."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from keras_zigzag.metrics.inputs import Array

# What is left of zero in differences that should cancel.
ROUNDING = 1e-12


class Difference(NamedTuple):
    """A mean difference, its confidence interval and its two-sided p-value."""

    mean: float
    low: float
    high: float
    p: float


def paired_t_test(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> Difference | None:
    """Student's t-test of `first − second`, pair by pair.

    Args:
        first: List of numbers, one per seed or per data set.
        second: List of as many numbers, of the same seeds or sets.
        confidence: Float in `(0, 1)`. Of the interval. Defaults to `0.95`.

    Returns:
        A `Difference`, or `None` for fewer than two pairs, of which nothing
        can be said.

    Example:

    >>> difference = paired_t_test([0.3, 0.5, 0.4], [0.1, 0.2, 0.3])
    >>> round(difference.mean, 3), round(difference.p, 3)
    (0.2, 0.074)
    """
    differences = np.subtract(first, second)
    num = len(differences)
    if num < 2:
        return None
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / num**0.5
    if error < ROUNDING:
        return Difference(mean, mean, mean, float(abs(mean) < ROUNDING))
    law = stats.t(num - 1)
    half = float(law.ppf((1 + confidence) / 2)) * error
    p = 2.0 * float(law.sf(abs(mean) / error))
    return Difference(mean, mean - half, mean + half, p)


def holm(p_values: Mapping[Any, float]) -> dict[Any, float]:
    """P-values that stay valid although several tests were made.

    The smallest of `m` counts `m` times, the next one `m − 1` times, and none
    less than one that is smaller.

    Reference: Holm (1979), A simple sequentially rejective multiple test
    procedure.

    Args:
        p_values: Dictionary from tests to p-values.

    Returns:
        Dictionary from the same tests to adjusted p-values.

    Example:

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    adjusted, largest = {}, 0.0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        factor = len(p_values) - rank
        largest = max(largest, min(1.0, factor * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def paired_bootstrap(
    functions: Sequence[Callable[[Sequence[Array]], Array]],
    sizes: Sequence[int],
    num_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[Difference | None]:
    """The first function against each of the others, over drawn samples.

    All functions see the same draws, so that samples which are hard for all
    of them do not count as noise. The p-value is twice the share of the
    resamples with the other sign, which cannot be less than
    `2 / (num_resamples + 1)`.

    Reference: Efron & Tibshirani (1993), An Introduction to the Bootstrap.

    Args:
        functions: List of functions from weights, one array of shape
            `(num_drawn, size)` per set of samples, to a metric of each draw,
            `(num_drawn,)`.
        sizes: List of integers. How many samples each set has.
        num_resamples: Integer. Defaults to `1000`.
        confidence: Float in `(0, 1)`. Of the interval. Defaults to `0.95`.
        seed: Integer. Defaults to `0`.

    Returns:
        List of one `Difference` for each function but the first: that
        function minus the first. `None` where a metric is undefined.

    Example:

    >>> values, others = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0])
    >>> difference, = paired_bootstrap(
    ...     [lambda w: w[0] @ others / 3, lambda w: w[0] @ values / 3], [3])
    >>> difference.mean
    1.0
    """
    whole = [np.ones((1, size)) for size in sizes]
    observed = [float(function(whole)[0]) for function in functions]
    drawn = _resample(functions, sizes, num_resamples, seed)
    return [
        _difference(value - observed[0], values - drawn[0], confidence)
        for value, values in zip(observed[1:], drawn[1:], strict=True)
    ]


# Numbers in an array of one chunk: 16 MB, of which there are a few.
CHUNK = 1 << 21


def _resample(
    functions: Sequence[Callable[[Sequence[Array]], Array]],
    sizes: Sequence[int],
    num_resamples: int,
    seed: int,
) -> list[Array]:
    """One array of shape `(num_resamples,)` per function."""
    generator = np.random.default_rng(seed)
    at_once = max(CHUNK // sum(sizes), 1)
    parts: list[list[Array]] = [[] for _ in functions]
    for start in range(0, num_resamples, at_once):
        num = min(at_once, num_resamples - start)
        weights = [_counts(generator, size, num) for size in sizes]
        for part, function in zip(parts, functions, strict=True):
            part.append(function(weights))
    return [np.concatenate(part) for part in parts]


def _counts(generator: np.random.Generator, size: int, num: int) -> Array:
    """How often each sample was drawn, `(num, size)`."""
    drawn = generator.integers(size, size=(num, size))
    drawn += np.arange(num)[:, None] * size
    counts = np.bincount(drawn.ravel(), minlength=num * size)
    return counts.reshape(num, size).astype("float64")


def _difference(
    observed: float, drawn: Array, confidence: float
) -> Difference | None:
    drawn = drawn[np.isfinite(drawn)]
    if not drawn.size or not np.isfinite(observed):
        return None
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(drawn, ends)
    rarer = min(np.sum(drawn <= 0.0), np.sum(drawn >= 0.0))
    p = min(1.0, 2.0 * (float(rarer) + 1.0) / (len(drawn) + 1.0))
    return Difference(observed, float(low), float(high), p)
