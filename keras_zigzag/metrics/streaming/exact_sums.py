"""Sums per bin that lose nothing, in float32 and on every backend.

A float32 stops counting at 2**24, and a million times 0.1 comes out a percent
too large. So each batch is summed as integers, which is exact in any order,
and added to a pair of float32 that holds 48 bits together.
"""

from typing import Any

import keras
from keras import ops

from keras_zigzag.metrics.streaming.float_bits import power_of_two

# Integers that a value is split into.
NUM_WORDS = 3
# What is this much smaller than one counts as zero.
SMALLEST = 2.0**-60


def bin_parts(index: Any, value: Any, num_bins: int) -> list[Any]:
    """Sums of the values in each bin, as float32 that add up to them.

    Each value is rounded to a multiple of a unit that is so large that the sum
    of all multiples is an int32; what is left, to one of a smaller unit.

    Args:
        index: Tensor of int32 of shape `(num_values,)`.
        value: Tensor of float32 of the same shape, finite. At most 2**23
            values; 2**19 are summed with 30 bits of the largest one.
        num_bins: Integer.

    Returns:
        List of float32 tensors of shape `(num_bins,)`, largest first.
    """
    size = ops.cast(ops.shape(value)[0], "float32")
    steps = ops.minimum(2.0**29 / power_of_two(size), 2.0**20)
    largest = ops.max(ops.abs(value), initial=0.0)
    unit = ops.maximum(power_of_two(largest), SMALLEST) / steps
    parts = []
    for _ in range(NUM_WORDS):
        word = ops.round(value / unit)
        value = value - word * unit
        total = _integer_sums(index, ops.cast(word, "int32"), num_bins)
        # 31 bits of an integer are two numbers of float32.
        upper = ops.cast(ops.right_shift(total, 15), "float32") * 2.0**15
        lower = ops.cast(ops.bitwise_and(total, 2**15 - 1), "float32")
        parts += [upper * unit, lower * unit]
        unit = unit / steps
    return parts


def add(high: Any, low: Any, part: Any) -> tuple[Any, Any]:
    """`high + low + part` as such a pair, with the rounding errors in `low`.

    Reference: Knuth, The Art of Computer Programming, volume 2, section 4.2.2,
    theorem B.
    """
    total = high + part
    virtual = total - high
    lost = (high - (total - virtual)) + (part - virtual)
    low = low + lost
    high = total + low
    return high, low - (high - total)


def _integer_sums(index: Any, value: Any, num_bins: int) -> Any:
    if keras.backend.backend() != "torch":
        return ops.segment_sum(value, index, num_bins)
    # On PyTorch `ops.segment_sum` sums integers as float32.
    import torch

    zeros = torch.zeros(num_bins, dtype=value.dtype, device=value.device)
    return zeros.index_add(0, index, value)
