"""Which bin a score falls into; a larger score never into a lower bin."""

import dataclasses
from typing import Any

import numpy as np
from keras import ops

from keras_zigzag.metrics.inputs import Array
from keras_zigzag.metrics.streaming.float_bits import bits_of
from keras_zigzag.number_checks import checked_count, is_integer

SIGN_BIT = 1 << 31


@dataclasses.dataclass(frozen=True)
class FloatBins:
    """Bins by the leading bits of a score as float32, for any range.

    Read as integers, the bits of floats of one sign are in the order of the
    floats. Without the trailing ones, the bins are as wide as the resolution
    of a float with so many bits: 2**16 of them are the values of bfloat16,
    128 between a number and its double, from the smallest to the largest
    number. Infinity has a bin of its own, the last one is that of NaN.

    Args:
        num_bins: Integer, a power of two from 2**10 to 2**24.
    """

    num_bins: int

    def __post_init__(self) -> None:
        count = self.num_bins
        if not (is_integer(count) and count in _POWERS):
            raise ValueError(
                "`num_bins` must be a power of two from 2**10 to 2**24 where "
                "`score_range` is None, one bin for each value of a short "
                f"float. Received: num_bins={count!r}"
            )

    def index(self, score: Any) -> Any:
        """The bin of each float32 score, int32; that of NaN is the last."""
        # -0.0 equals 0.0, but has other bits.
        bits = bits_of(ops.where(score == 0.0, 0.0, score))
        size = ops.bitwise_and(bits, SIGN_BIT - 1)
        key = ops.where(bits < 0, -1 - size, size)
        index = ops.right_shift(key, self._shift()) + self.num_bins // 2
        return ops.where(ops.isnan(score), self.num_bins - 1, index)

    def edges(self, index: Array) -> tuple[Array, Array]:
        """The smallest and the largest score of each bin, float64."""
        first = (index.astype("int64") - self.num_bins // 2) << self._shift()
        last = first + (1 << self._shift()) - 1
        return _from_key(first), _from_key(last)

    def _shift(self) -> int:
        return 33 - self.num_bins.bit_length()


@dataclasses.dataclass(frozen=True)
class EqualBins:
    """Bins of the same width between two scores.

    Scores outside of the range are in the first and in the last bin, NaN is
    in the last.

    Args:
        num_bins: Integer, at least 1.
        low: Float.
        high: Float.
    """

    num_bins: int
    low: float
    high: float

    def __post_init__(self) -> None:
        num_bins = checked_count("num_bins", self.num_bins)
        object.__setattr__(self, "num_bins", num_bins)
        if not (np.isfinite([self.low, self.high]).all() and self._steps() > 0):
            raise ValueError(
                "`score_range` must be two finite numbers, `(low, high)`, the "
                "second larger. Received: "
                f"score_range={(self.low, self.high)!r}"
            )

    def index(self, score: Any) -> Any:
        """The bin of each float32 score, int32; that of NaN is the last."""
        inside = ops.clip(score, self.low, self.high)
        position = ops.floor((inside - self.low) * self._steps())
        position = ops.where(ops.isnan(score), self.num_bins - 1, position)
        return ops.cast(ops.clip(position, 0, self.num_bins - 1), "int32")

    def edges(self, index: Array) -> tuple[Array, Array]:
        """The smallest and the largest score of each bin, float64."""
        first = self.low + index / self._steps()
        return first, first + 1.0 / self._steps()

    def _steps(self) -> float:
        width = self.high - self.low
        return self.num_bins / width if width > 0 else 0.0


def _from_key(key: Array) -> Array:
    size = np.minimum(np.where(key < 0, -1 - key, key), SIGN_BIT - 1)
    # Those of the last bin are NaN.
    with np.errstate(invalid="ignore"):
        value = size.astype("uint32").view("float32").astype("float64")
    return np.where(key < 0, -value, value)


_POWERS = {1 << power for power in range(10, 25)}
