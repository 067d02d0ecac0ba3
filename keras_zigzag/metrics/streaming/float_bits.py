"""The bits of float32 as integers, and back."""

from typing import Any

from keras import ops

EXPONENT = 0x7F800000


def bits_of(value: Any) -> Any:
    """The bits of float32 tensors of one axis at most, int32."""
    return _view(value, "int32")


def power_of_two(value: Any) -> Any:
    """The largest power of two up to each value, which is not negative."""
    return _view(ops.bitwise_and(bits_of(value), EXPONENT), "float32")


def _view(value: Any, dtype: str) -> Any:
    # TensorFlow wants to know the size of the last axis.
    column = ops.view(ops.reshape(value, (-1, 1)), dtype)
    return ops.reshape(column, ops.shape(value))
