"""Risk–coverage of more samples than fit into memory."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.metrics.extremes import extreme_orders
from keras_zigzag.metrics.inputs import Array, NanPolicy, as_finite
from keras_zigzag.metrics.ranking import Ranking
from keras_zigzag.metrics.risk_coverage import aurc_of
from keras_zigzag.metrics.streaming.bins import FloatBins
from keras_zigzag.metrics.streaming.histogram import Histogram
from keras_zigzag.metrics.streaming.streaming_metric import (
    NUM_BINS,
    Ranges,
    Results,
    StreamingMetric,
)

# The oracle is far less sensitive to them than the result to the scores.
LOSS_BINS = 1 << 16


@keras.saving.register_keras_serializable(package="keras_zigzag")
class StreamingRiskCoverage(StreamingMetric):
    """AURC and excess AURC of any number of samples, by a histogram.

    For dense tasks, whose pixels do not fit into memory: `update_state` adds a
    batch, `result()` are `aurc` and `excess_aurc` of the samples with their
    scores rounded to bins, with the samples of a bin as ties. It depends
    neither on the order nor on the batches of the samples. The state are sums:
    those of replicas and of processes are added, by `tf.distribute` or by
    `merge_state`.

    *Bins.* By default there is no range to choose: the bins are the values of a
    short float, 512 of them between any number and its double, negative or
    positive, however large or small. With a `score_range` the bins are of
    equal width, and scores outside of it count in the first and the last bin.

    *Error bound.* Of all orders of the samples in a bin, and of all losses
    with the sum of the bin that are between the lowest and the highest loss of
    all, AURC is highest where the highest losses come first, and lowest where
    the lowest do, because a loss counts in the risk at each coverage after it:
    the formula is computed for both. The same holds for the oracle of the
    excess, whose bins are those of the losses, and where low losses do come
    first. With losses of 0 and 1 both orders exist, so that no bound is
    tighter.

    *Precision.* Scores, losses and weights are taken as float32. Each sum is a
    pair of float32 with 48 bits, so that a billion samples, and the next one,
    are counted.

    `update_state` runs within `tf.function`, `jax.jit` and on tensors of all
    backends, on the GPU where they are. `result()` and `error_bound()` run in
    float64 with NumPy, outside of compiled functions. A value that is not
    valid, such as a NaN score, is refused in an array and makes `result()`
    raise where it was in a tensor. What has a weight of 0 is no sample, and
    may be NaN.

    Args:
        num_bins: Integer, a power of two from 2**10 to 2**24; any number with
            a `score_range`. Defaults to `262144`.
        score_range: Tuple of two floats, or `None`. The range of the scores
            that is divided into bins of the same width. Defaults to `None`,
            the bins of floats.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.
        name: String. Defaults to `None`.

    Example:

    >>> metric = keras_zigzag.metrics.StreamingRiskCoverage()
    >>> metric.update_state(loss=[0, 1], uncertainty=[0.1, 0.2])
    >>> metric.update_state(loss=[0, 1], uncertainty=[0.3, 0.4])
    >>> metric.result()
    {'aurc': 0.333333333, 'excess_aurc': 0.125}
    >>> metric.error_bound()
    {'aurc': 0.0, 'excess_aurc': 0.0}
    """

    value_name = "loss"
    value_requirement = "be finite, in float32"

    def __init__(
        self,
        num_bins: int = NUM_BINS,
        score_range: tuple[float, float] | None = None,
        nan_policy: NanPolicy = "raise",
        name: str | None = None,
    ) -> None:
        super().__init__(num_bins, score_range, nan_policy, name)
        self.losses = Histogram(self, FloatBins(LOSS_BINS), "losses")

    def update_state(
        self, loss: Any, uncertainty: Any, sample_weight: Any = None
    ) -> None:
        """Adds a batch.

        Args:
            loss: Array or tensor of real losses, one per sample, of any shape.
            uncertainty: As `loss`; higher means less trust.
            sample_weight: As `loss`, or `None`. How many samples each one
                stands for.
        """
        self._update(loss, uncertainty, sample_weight)

    def _checked(self, happened: Any) -> Array:
        return as_finite(happened, self.value_name)

    def _is_valid(self, happened: Any) -> Any:
        return ops.isfinite(happened)

    def _count(self, happened: Any, score: Any, weight: Any) -> None:
        values = weight, weight * happened
        self.histogram.add(score, values)
        self.losses.add(happened, values)

    def _counts_and_totals(self) -> tuple[Array, Array]:
        count, total = self.histogram.sums()
        return count, total

    def _histograms(self) -> list[Histogram]:
        return [self.histogram, self.losses]

    def _results(self, ranking: Ranking) -> Results:
        area = aurc_of(ranking)
        oracle = self.losses.ranking(*self.losses.sums())
        return {"aurc": area, "excess_aurc": area - aurc_of(oracle)}

    def _ranges(self, ranking: Ranking) -> Ranges:
        oracle = self.losses.ranking(*self.losses.sums())
        lowest, highest = self._loss_range()
        worst, best = map(
            aurc_of, extreme_orders(ranking, lowest.min(), highest.max())
        )
        _, oracle_best = extreme_orders(oracle, lowest, highest)
        return {
            "aurc": (best, worst),
            "excess_aurc": (
                best - aurc_of(oracle),
                worst - aurc_of(oracle_best),
            ),
        }

    def _loss_range(self) -> tuple[Array, Array]:
        """The lowest and the highest loss that each bin of losses may have."""
        count, total = self.losses.sums()
        index = np.flatnonzero(count > 0)
        lowest, highest = self.losses.bins.edges(index)
        # Losses of 0 and 1 are all at the lower edge of their bins.
        is_lowest = total[index] <= lowest * count[index]
        return lowest, np.where(is_lowest, lowest, highest)
