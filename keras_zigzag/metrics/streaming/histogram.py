"""How many samples there are in each bin, and what their values sum to."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.metrics.extremes import histogram_ranking
from keras_zigzag.metrics.inputs import Array
from keras_zigzag.metrics.ranking import Ranking
from keras_zigzag.metrics.streaming.bins import EqualBins, FloatBins
from keras_zigzag.metrics.streaming.exact_sums import add, bin_parts

# Samples that are summed at a time, for the sake of precision and memory.
CHUNK = 1 << 19


class Histogram:
    """Two sums per bin, in variables of a metric.

    Args:
        metric: The `keras.metrics.Metric` that has the variables.
        bins: `FloatBins` or `EqualBins`.
        name: String. Prefix of the variables' names.
    """

    def __init__(
        self,
        metric: keras.metrics.Metric,
        bins: EqualBins | FloatBins,
        name: str,
    ) -> None:
        self.bins = bins
        self.high, self.low = (
            metric.add_variable(
                shape=(2, bins.num_bins),
                initializer="zeros",
                dtype="float32",
                aggregation="sum",
                name=f"{name}_{part}",
            )
            for part in ("high", "low")
        )

    def add(self, score: Any, values: tuple[Any, Any]) -> None:
        """Adds two values per sample to the bin of its score."""
        size = score.shape[0]
        if size is None:
            self._add(score, values)
            return
        for start in range(0, size, CHUNK):
            part = slice(start, start + CHUNK)
            self._add(score[part], (values[0][part], values[1][part]))

    def _add(self, score: Any, values: tuple[Any, Any]) -> None:
        index = self.bins.index(score)
        parts = [bin_parts(index, v, self.bins.num_bins) for v in values]
        high, low = self.high.value, self.low.value
        for pair in zip(*parts, strict=True):
            high, low = add(high, low, ops.stack(pair))
        self.high.assign(high)
        self.low.assign(low)

    def merge(self, other: "Histogram") -> None:
        """Adds the sums of another histogram of the same bins."""
        high, low = self.high.value, self.low.value
        for variable in (other.high, other.low):
            part = ops.convert_to_tensor(variable.value)
            high, low = add(high, low, part)
        self.high.assign(high)
        self.low.assign(low)

    def sums(self) -> Array:
        """Both sums of every bin, float64, `(2, num_bins)`."""
        return as_array(self.high).astype("float64") + as_array(self.low)

    def ranking(self, count: Array, total: Array) -> Ranking:
        """The bins with samples in them, as groups of ties."""
        index = np.flatnonzero(count > 0)
        if not index.size:
            raise ValueError(
                "There is no result without samples: call `update_state` "
                "first. Received: none since the last reset."
            )
        if not np.isfinite(total).all():
            raise ValueError(
                "The sum of the values in a bin is too large for float32. "
                "Received: an infinite sum."
            )
        lowest, _ = self.bins.edges(index)
        return histogram_ranking(lowest, count[index], total[index])


def as_array(variable: Any) -> Array:
    """The value of a variable as NumPy has it, outside of compiled code."""
    try:
        return ops.convert_to_numpy(variable.value)
    except (NotImplementedError, TypeError) as error:
        raise RuntimeError(
            "The result is computed in float64, outside of compiled code. Call "
            "`update_state` in the step and `result` after it. Received: a "
            "call of `result` within a compiled function."
        ) from error
