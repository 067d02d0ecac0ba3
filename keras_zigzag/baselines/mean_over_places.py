from typing import Any

import keras
from keras import ops

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class MeanOverPlaces(keras.layers.Layer):
    """The mean of features over the places of a sample that are there.

    As global average pooling, which of maps leaves masks aside.

    Args:
        data_format: String. `"channels_last"` or `"channels_first"`. Defaults
            to `"channels_last"`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: tensor of shape `(batch_size, ..., num_features)`, or with the
    features on the second axis; its mask has the axes of places.

    Returns:
        Tensor of shape `(batch_size, num_features)`, NaN for a sample of
        which no place is there.
    """

    def __init__(self, data_format: str = "channels_last", **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = data_format
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Any = None) -> Tensor:
        is_last = self.data_format == "channels_last"
        rank = len(inputs.shape) - 2
        axes = tuple(range(1, rank + 1) if is_last else range(2, rank + 2))
        if mask is None:
            return ops.mean(inputs, axis=axes)
        is_there = ops.cast(mask, inputs.dtype)
        is_there = ops.expand_dims(is_there, -1 if is_last else 1)
        total = ops.sum(inputs * is_there, axis=axes)
        return total / ops.sum(is_there, axis=axes)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"data_format": self.data_format}
