"""Which differences are larger than noise? Pure functions on arrays."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from keras_zigzag.metrics.inputs import Array

Metric = Callable[[Sequence[Array]], Array]
# What is left of zero in differences that should cancel.
ROUNDING = 1e-12
# Numbers in an array of weights: 2 MB, which stays in the cache.
CHUNK = 1 << 18


class Difference(NamedTuple):
    """A mean difference, its confidence interval and its two-sided p-value."""

    mean: float
    low: float
    high: float
    p: float


class Drawn(NamedTuple):
    """A metric of all samples, and of each draw, `(num_resamples,)`."""

    observed: float
    values: Array


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
        can be said. Where all differences are the same there is no scale for
        the test, as by chance with accuracies on few samples: the p-value is
        that of the sign test then, `2 · 2^−num_pairs`.

    Example:

    >>> from keras_zigzag.benchmark.significance import paired_t_test
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
        p = 1.0 if abs(mean) < ROUNDING else 2.0 ** (1 - num)
        return Difference(mean, mean, mean, p)
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

    >>> from keras_zigzag.benchmark.significance import holm
    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    adjusted, largest = {}, 0.0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        factor = len(p_values) - rank
        largest = max(largest, min(1.0, factor * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def resample(
    functions: Mapping[str, Metric],
    sizes: Sequence[int],
    num_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Drawn]:
    """Metrics of all samples, and of samples drawn again and again.

    All functions see the same draws, so that samples which are hard for all
    methods do not count as noise between them.

    Reference: Efron & Tibshirani (1993), An Introduction to the Bootstrap.

    Args:
        functions: Dictionary from names to functions from weights, one array
            of shape `(num_drawn, size)` per set of samples, to a metric of
            each draw, `(num_drawn,)`.
        sizes: List of integers. How many samples each set has.
        num_resamples: Integer. Defaults to `1000`.
        seed: Integer. Defaults to `0`.

    Returns:
        Dictionary from the same names to `Drawn`.
    """
    generator = np.random.default_rng(seed)
    at_once = max(CHUNK // sum(sizes), 1)
    parts: dict[str, list[Array]] = {name: [] for name in functions}
    for start in range(0, num_resamples, at_once):
        num = min(at_once, num_resamples - start)
        weights = [_counts(generator, size, num) for size in sizes]
        for name, function in functions.items():
            parts[name].append(function(weights))
    whole = [np.ones((1, size)) for size in sizes]
    return {
        name: Drawn(float(function(whole)[0]), np.concatenate(parts[name]))
        for name, function in functions.items()
    }


def paired_bootstrap(
    first: Drawn, second: Drawn, confidence: float = 0.95
) -> Difference | None:
    """`first − second` over the same draws, with a percentile interval.

    The p-value is twice the share of the draws with the other sign, which
    cannot be less than `2 / (num_resamples + 1)`.

    Args:
        first: `Drawn`, of `resample`.
        second: `Drawn`, of the same call of it.
        confidence: Float in `(0, 1)`. Of the interval. Defaults to `0.95`.

    Returns:
        A `Difference`, or `None` where a metric is not defined.

    Example:

    >>> from keras_zigzag.benchmark import significance
    >>> values = np.array([1.0, 2.0, 3.0])
    >>> drawn = significance.resample(
    ...     {
    ...         "mean": lambda weights: weights[0] @ values / 3,
    ...         "half": lambda weights: weights[0] @ values / 6,
    ...     },
    ...     sizes=[3],
    ... )
    >>> significance.paired_bootstrap(drawn["mean"], drawn["half"]).mean
    1.0
    """
    values = first.values - second.values
    values = values[np.isfinite(values)]
    mean = first.observed - second.observed
    if not values.size or not np.isfinite(mean):
        return None
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(values, ends)
    rarer = min(np.sum(values <= 0.0), np.sum(values >= 0.0))
    p = min(1.0, 2.0 * (float(rarer) + 1.0) / (len(values) + 1.0))
    return Difference(mean, float(low), float(high), p)


def _counts(generator: np.random.Generator, size: int, num: int) -> Array:
    """How often each sample was drawn, `(num, size)`."""
    drawn = generator.integers(size, size=(num, size))
    drawn += np.arange(num)[:, None] * size
    counts = np.bincount(drawn.ravel(), minlength=num * size)
    return counts.reshape(num, size).astype("float64")
