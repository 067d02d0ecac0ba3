"""Samples in order of their score, with all samples that tie as one group.

A group counts with its expected value over all orders of its samples. The
metrics need only how many samples a group has and what their values sum to,
so no order within a group is ever chosen.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from keras_zigzag.metrics.inputs import Array

# Groups that are summed at a time: their temporaries stay in the cache.
BLOCK = 1 << 16
# Arrays too large for the cache, which are sorted in pieces.
LARGE = 1 << 20


@dataclasses.dataclass(frozen=True)
class Block:
    """Some consecutive groups, and what comes before each of them."""

    count_before: Array
    total_before: Array
    count: Array
    total: Array


@dataclasses.dataclass(frozen=True)
class Ranking:
    """The groups of equal scores, in order.

    Args:
        score: Array of shape `(num_groups,)`, distinct. NaN is the largest.
        num_samples: Array of integers, how many samples each group has.
        count: Array of floats, their weights' sum. A weight of 2 stands for
            two samples.
        total: Array of floats, the weighted sum of their values.
    """

    score: Array
    num_samples: Array
    count: Array
    total: Array

    def __len__(self) -> int:
        return len(self.score)

    def reversed(self) -> "Ranking":
        """The same groups from the largest score to the smallest."""
        return Ranking(
            self.score[::-1],
            self.num_samples[::-1],
            self.count[::-1],
            self.total[::-1],
        )

    def sums(self) -> tuple[float, float]:
        """Count and total of all groups."""
        return float(self.count.sum()), float(self.total.sum())

    def blocks(self) -> Iterator[Block]:
        """Goes through the groups in order."""
        count_before = total_before = 0.0
        for start in range(0, len(self), BLOCK):
            part = slice(start, start + BLOCK)
            counts = running_sum(self.count[part], count_before)
            totals = running_sum(self.total[part], total_before)
            yield Block(
                counts[:-1], totals[:-1], self.count[part], self.total[part]
            )
            count_before, total_before = counts[-1], totals[-1]

    def has_ties(self) -> bool:
        return len(self) < self.num_samples.sum()

    def positions(self) -> tuple[Array, Array]:
        """Count and expected total up to and with each sample."""
        if not self.has_ties():
            return np.cumsum(self.count), np.cumsum(self.total)
        ends = np.cumsum(self.num_samples)
        step = np.arange(1, ends[-1] + 1) - np.repeat(
            ends - self.num_samples, self.num_samples
        )
        share = step / np.repeat(self.num_samples, self.num_samples)
        return _at(self, self.count, share), _at(self, self.total, share)


def rank(score: Array, value: Array, weight: Array | None = None) -> Ranking:
    """Groups samples by their score, in rising order.

    Args:
        score: Array of shape `(num_samples,)`. NaN ranks last.
        value: Array of the same shape.
        weight: Array of the same shape, or `None` for ones.

    Returns:
        A `Ranking`.
    """
    if weight is not None and not weight.all():
        kept = weight > 0
        score, value, weight = score[kept], value[kept], weight[kept]
    order = np.argsort(score)
    ordered = score[order]
    value = value[order].astype("float64", copy=False)
    if weight is not None:
        weight = weight[order]
        value = value * weight
    return _group(ordered, value, weight)


def rank_by_value(value: Array, weight: Array | None = None) -> Ranking:
    """As `rank(value, value)`: what the best possible score would do."""
    if weight is not None:
        return rank(value, value, weight)
    ordered = np.sort(value)
    return _group(ordered, ordered.astype("float64", copy=False), None)


def mid_ranks(score: Array, weight: Array | None = None) -> Array:
    """The middle of each sample's group, as a fraction of all samples.

    Args:
        score: Array of shape `(num_samples,)`.
        weight: Array of the same shape, or `None` for ones.

    Returns:
        Array of shape `(num_samples,)`, in `(0, 1)` where the weight is not
        zero.
    """
    order = np.argsort(score)
    result = np.empty(len(score))
    result[order] = mid_ranks_in_order(
        score[order], None if weight is None else weight[order]
    )
    return result


def mid_ranks_in_order(ordered: Array, weight: Array | None = None) -> Array:
    """As `mid_ranks`, of scores that are in rising order already."""
    ends = _ends(ordered)
    if weight is not None:
        upper = np.cumsum(weight)
        upper = upper if ends is None else upper[ends]
    elif ends is not None:
        upper = (ends + 1).astype("float64")
    else:
        upper = np.arange(1.0, len(ordered) + 1.0)
    middle = upper.copy()
    middle[1:] += upper[:-1]
    middle /= 2 * upper[-1]
    return middle if ends is None else np.repeat(middle, _lengths(ends))


def sort_finite(values: Array) -> tuple[Array, Array]:
    """`numpy.argsort` and the sorted values, in pieces that fit the cache.

    Args:
        values: Array of finite floats, of shape `(num_values,)`.

    Returns:
        Array of indices, in any order where values are the same, and array of
        the values in that order.
    """
    low, high = values.min(), values.max()
    with np.errstate(over="ignore"):
        width = high - low
    if len(values) < LARGE or not 0.0 < width < np.inf:
        order = np.argsort(values)
        return order, values[order]
    position = values - low
    position /= width
    position *= 255.0
    piece = position.astype("uint8")
    del position
    # A radix sort, as the pieces are small integers.
    order = np.argsort(piece, kind="stable")
    ordered = values[order]
    start = 0
    for end in np.cumsum(np.bincount(piece)):
        part = slice(start, end)
        within = np.argsort(ordered[part])
        order[part] = order[part][within]
        ordered[part] = ordered[part][within]
        start = end
    return order, ordered


def running_sum(values: Array, start: float = 0.0) -> Array:
    """`start` and then the sums so far, `(num_values + 1,)`."""
    result = np.empty(len(values) + 1)
    result[0] = 0.0
    np.cumsum(values, out=result[1:])
    result += start
    return result


def check_counts(ranking: Ranking) -> None:
    """Raises a `ValueError` if the weights cannot be numbers of samples."""
    count = float(ranking.count.sum())
    if ranking.num_samples.sum() > 1 and count < 1 + 1e-6:
        raise ValueError(
            "Here a weight is a number of samples: 2 stands for two samples. "
            "Scale weights so that they sum to the number of samples. "
            f"Received: weights that sum to {count:g}."
        )


def _group(ordered: Array, value: Array, weight: Array | None) -> Ranking:
    ends = _ends(ordered)
    if ends is None:
        # Ones that take no memory.
        ones = np.broadcast_to(1.0, len(ordered))
        count = ones if weight is None else weight
        return Ranking(ordered, np.broadcast_to(1, len(ordered)), count, value)
    lengths = _lengths(ends)
    starts = ends - lengths + 1
    count = (
        lengths.astype("float64")
        if weight is None
        else np.add.reduceat(weight, starts)
    )
    return Ranking(
        ordered[ends], lengths, count, np.add.reduceat(value, starts)
    )


def _ends(ordered: Array) -> Array | None:
    """Index of the last sample of each group, `None` if there are no ties."""
    is_end = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_end[:-1])
    if ordered[-1] != ordered[-1]:
        # NaN is one group, although it does not equal itself.
        first_nan = np.argmax(ordered != ordered)
        is_end[first_nan:-1] = False
    return None if is_end.all() else np.flatnonzero(is_end)


def _lengths(ends: Array) -> Array:
    return np.diff(ends, prepend=-1)


def _at(ranking: Ranking, values: Array, share: Array) -> Array:
    before = np.repeat(running_sum(values)[:-1], ranking.num_samples)
    return before + share * np.repeat(values, ranking.num_samples)
