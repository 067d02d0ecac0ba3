"""The metrics of many resamples at once.

A resample is how often each place was drawn, so it is the same samples with
other weights: they are sorted once, and each metric is a few sums over arrays
of shape `(num_resamples, num_groups)`. The formulas are those of
`keras_zigzag.metrics`; a metric without a value in a resample is NaN there.
"""

from collections.abc import Callable

import numpy as np

from keras_zigzag.metrics.error_agreement import area_to_zero
from keras_zigzag.metrics.inputs import Array
from keras_zigzag.metrics.ranking import Block
from keras_zigzag.metrics.sums import (
    inverse_mean_sum,
    mean_sum,
    trapezoid_sum,
)


class Order:
    """Places in order of a score, those that tie as one group.

    Args:
        score: Array of shape `(num_places,)`; NaN is the largest.
    """

    def __init__(self, score: Array):
        self.score, group = np.unique(score, return_inverse=True)
        self.group = group.reshape(-1)
        self.order = np.argsort(self.group, kind="stable")
        counts = np.bincount(self.group)
        self.starts = np.cumsum(counts) - counts

    def sums(self, weights: Array, values: Array | None = None) -> Array:
        """Sums of each group, `(num_resamples, num_groups)`."""
        weights = weights[:, self.order]
        if values is not None:
            weights = weights * values[self.order]
        return np.add.reduceat(weights, self.starts, axis=1)


class Ranked:
    """The groups of some resamples: how many, and what their values sum to.

    Args:
        order: `Order` of the places.
        weights: Array of shape `(num_resamples, num_places)`.
        values: Array of shape `(num_places,)`.
    """

    def __init__(self, order: Order, weights: Array, values: Array):
        self.count = order.sums(weights)
        self.total = order.sums(weights, values)
        self.num = self.count.sum(axis=1)
        self.mean = self.total.sum(axis=1) / self.num

    def area(self, formula: Callable[[Block], Array]) -> Array:
        """The sum of a formula of `sums` over the groups that were drawn."""
        drawn = self.count > 0
        block = Block(
            (np.cumsum(self.count, axis=1) - self.count)[drawn],
            (np.cumsum(self.total, axis=1) - self.total)[drawn],
            self.count[drawn],
            self.total[drawn],
        )
        areas = np.zeros(self.count.shape)
        areas[drawn] = formula(block)
        return areas.sum(axis=1)

    def aurc(self) -> Array:
        return self.area(mean_sum) / self.num

    def augrc(self) -> Array:
        return self.area(trapezoid_sum) / self.num**2

    def gain(self) -> Array:
        return self.mean / 2.0 - self.augrc()

    def aulc(self) -> Array:
        return self.aurc() / self.mean - 1.0

    def aulc_regression(self) -> Array:
        return self.area(inverse_mean_sum) / self.num * self.mean - 1.0


class Detected:
    """ID and OOD groups of some resamples, the most uncertain first.

    Args:
        order: `Order` of the ID and the OOD scores, in one array.
        id_weights: Array of shape `(num_resamples, num_id)`.
        ood_weights: Array of shape `(num_resamples, num_ood)`.
    """

    def __init__(self, order: Order, id_weights: Array, ood_weights: Array):
        is_ood = np.repeat(
            [0.0, 1.0], [id_weights.shape[1], ood_weights.shape[1]]
        )
        weights = np.concatenate([id_weights, ood_weights], axis=1)
        self.found = order.sums(weights, is_ood)[:, ::-1]
        self.false = order.sums(weights, 1.0 - is_ood)[:, ::-1]
        self.found_so_far = np.cumsum(self.found, axis=1)
        self.false_so_far = np.cumsum(self.false, axis=1)
        self.num_ood = self.found_so_far[:, -1]
        self.num_id = self.false_so_far[:, -1]

    def roc_auc(self) -> Array:
        ahead = self.found_so_far - self.found / 2.0
        pairs = (self.false * ahead).sum(axis=1)
        return pairs / (self.num_ood * self.num_id)

    def average_precision(self) -> Array:
        return (self.found * self._precision()).sum(axis=1) / self.num_ood

    def pr_auc(self) -> Array:
        precision = self._precision()
        before = np.ones_like(precision)
        before[:, 1:] = precision[:, :-1]
        area = (self.found * (precision + before)).sum(axis=1) / 2.0
        return area / self.num_ood

    def fpr_at_tpr(self, tpr: float) -> Array:
        needed = np.ceil(tpr * self.num_ood * (1 - 1e-12))
        needed = np.minimum(np.maximum(needed, 1.0), self.num_ood)
        group = np.argmax(self.found_so_far >= needed[:, None], axis=1)
        at = np.arange(len(group)), group
        missing = needed - (self.found_so_far - self.found)[at]
        expected = self.false[at] * missing / (self.found[at] + 1.0)
        before = (self.false_so_far - self.false)[at]
        return (before + expected) / self.num_id

    def _precision(self) -> Array:
        looked_at = self.found_so_far + self.false_so_far
        # Nothing was looked at: as the point that the curve starts from.
        return np.divide(
            self.found_so_far,
            looked_at,
            out=np.ones_like(looked_at),
            where=looked_at > 0,
        )


def mean(weights: Array, values: Array) -> Array:
    return weights @ values / weights.sum(axis=1)


def calibration_error(weights: Array, gap: Array, index: Array) -> Array:
    """Of bins, each the sum of the gaps between confidence and accuracy."""
    bins = Order(index)
    return np.abs(bins.sums(weights, gap)).sum(axis=1) / weights.sum(axis=1)


def correlation(weights: Array, first: Array, second: Array) -> Array:
    """Pearson's, of values `(num_places,)` or of one row per resample."""
    num = weights.sum(axis=1, keepdims=True)
    first = first - (weights * first).sum(axis=1, keepdims=True) / num
    second = second - (weights * second).sum(axis=1, keepdims=True) / num
    product = (weights * first * second).sum(axis=1)
    squares = (
        (weights * first**2).sum(axis=1),
        (weights * second**2).sum(axis=1),
    )
    return product / np.sqrt(squares[0] * squares[1])


def mid_ranks(order: Order, weights: Array) -> Array:
    """The middle of each place's group, `(num_resamples, num_places)`."""
    count = order.sums(weights)
    middle = np.cumsum(count, axis=1) - count / 2.0
    return (middle / count.sum(axis=1, keepdims=True))[:, order.group]


def cumulative_calibration_error(ranked: Ranked, score: Array) -> Array:
    x = _shares(ranked.count * score)
    gap = _shares(ranked.total) - x
    return np.array([area_to_zero(*row) for row in zip(x, gap, strict=True)])


def _shares(values: Array) -> Array:
    running = np.zeros((values.shape[0], values.shape[1] + 1))
    np.cumsum(values, axis=1, out=running[:, 1:])
    return running / running[:, -1:]
