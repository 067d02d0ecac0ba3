"""Values of mean zero and about unit size, by statistics of the data."""

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any
Array = np.ndarray
# A standard deviation of less, relative to the mean, is rounding.
ROUNDING = 1e-6


@keras.saving.register_keras_serializable(package="keras_zigzag")
class Standardization(keras.layers.Layer):
    """Subtracts a mean and divides by a scale, or the other way around.

    It does nothing until it was given them.

    Args:
        axis: Integer. The axis that has a mean and a scale for each of its
            entries. Defaults to `-1`.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, axis: int = -1, **kwargs: Any):
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.axis = axis

    def build(self, input_shape: tuple) -> None:
        shape = [1] * len(input_shape)
        shape[self.axis] = input_shape[self.axis]
        self.mean = self._statistic("mean", shape[1:], "zeros")
        self.scale = self._statistic("scale", shape[1:], "ones")
        self.count = self._statistic("count", (), "zeros")

    def call(self, inputs: Tensor, invert: bool = False) -> Tensor:
        inputs = ops.cast(inputs, "float32")
        # Converters know the operations of tensors, not those of variables.
        mean = ops.convert_to_tensor(self.mean)
        scale = ops.convert_to_tensor(self.scale)
        return inputs * scale + mean if invert else (inputs - mean) / scale

    @property
    def is_adapted(self) -> bool:
        return float(ops.convert_to_numpy(self.count)) > 0

    def take(self, mean: Array, scale: Array, count: int) -> None:
        """Sets the mean and the scale, of so many values."""
        self.mean.assign(np.reshape(mean, self.mean.shape))
        self.scale.assign(np.reshape(scale, self.scale.shape))
        self.count.assign(count)

    def _statistic(self, name: str, shape: Any, initializer: str) -> Any:
        return self.add_weight(
            name=name, shape=shape, initializer=initializer, trainable=False
        )

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"axis": self.axis}


def moments(batches: Iterable[Array]) -> tuple[Array, Array, int]:
    """Mean, variance and number of rows that come in batches, in float64.

    Reference: Chan et al., 1983, "Algorithms for computing the sample
    variance".

    Args:
        batches: Arrays of shape `(num_rows, num_columns)`.
    """
    count, mean, squares = 0, np.float64(0.0), np.float64(0.0)
    for batch in batches:
        rows = np.asarray(batch, "float64")
        if not len(rows):
            continue
        shift = rows.mean(0) - mean
        total = count + len(rows)
        squares = squares + np.sum((rows - rows.mean(0)) ** 2, axis=0)
        squares = squares + shift**2 * (count * len(rows) / total)
        mean = mean + shift * (len(rows) / total)
        count = total
    if count == 0:
        raise ValueError(
            "There are no samples. Received: data without batches, or a "
            "generator that was read to its end."
        )
    if not np.isfinite(squares).all():
        raise ValueError(
            "Values whose scale is needed must be finite. Received: NaN or "
            "infinity among the inputs, or the features made of them."
        )
    return np.asarray(mean), np.asarray(squares / count), count


def scale_of(mean: Array, variance: Array) -> Array:
    """Standard deviations; for constants a usual one of the others."""
    deviation = np.sqrt(variance)
    varies = deviation > ROUNDING * np.abs(mean)
    if not varies.any():
        return np.ones_like(deviation)
    usual = np.sqrt(np.mean(variance[varies]))
    return np.where(varies, deviation, usual)
