"""The orders within groups that an area may have come from, at the extremes.

A histogram knows of a bin only the count and the total. A metric of samples in
their true order lies between that of two arrangements: in each bin the samples
of the largest values first, or those of the smallest.
"""

import numpy as np

from keras_zigzag.metrics.inputs import Array
from keras_zigzag.metrics.ranking import Ranking


def extreme_orders(
    ranking: Ranking,
    lowest: Array | float = 0.0,
    highest: Array | float = 1.0,
) -> tuple[Ranking, Ranking]:
    """Each group as two, of the lowest and the highest value possible.

    Of all orders of all samples with that count and total, and values from
    `lowest` to `highest`, the sum of the first `t` is largest for every `t` if
    the highest value comes first, as often as the total allows, and then the
    lowest; and smallest the other way round. So these are the extremes of
    every metric that rises (or falls) with each of those sums. With values of
    0 and 1 only, both orders exist.

    Args:
        ranking: A `Ranking`.
        lowest: Array of shape `(num_groups,)`, or float.
        highest: As `lowest`.

    Returns:
        Two rankings of up to twice as many groups, the first with the highest
        values first.
    """
    spread = np.broadcast_to(highest - lowest, len(ranking))
    share = np.zeros(len(ranking))
    np.divide(
        ranking.total - lowest * ranking.count,
        spread,
        out=share,
        where=spread > 0,
    )
    share = np.clip(share, 0.0, ranking.count)
    high = share, share * highest
    low = ranking.count - share, ranking.total - share * highest
    return _joined(ranking, high, low), _joined(ranking, low, high)


def _joined(
    ranking: Ranking, first: tuple[Array, Array], second: tuple[Array, Array]
) -> Ranking:
    count, total = (
        np.stack(pair, axis=1).ravel()
        for pair in zip(first, second, strict=True)
    )
    kept = count > 0
    return histogram_ranking(
        np.repeat(ranking.score, 2)[kept], count[kept], total[kept]
    )


def histogram_ranking(score: Array, count: Array, total: Array) -> Ranking:
    """A ranking of which the weights are known, not how many samples."""
    return Ranking(score, np.ceil(count).astype("int64"), count, total)
