"""Masks of steps for what is computed from the outputs of a network."""

from typing import Any

import keras
from keras import ops

from keras_zigzag.graphs import sublayers

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class TakeMask(keras.layers.Layer):
    """Passes a tensor on with the mask of another one.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of two tensors, of which the second has the mask.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.autocast = False

    def call(self, inputs: list[Tensor]) -> Tensor:
        return inputs[0]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask[1] if isinstance(mask, (list, tuple)) else None


@keras.saving.register_keras_serializable(package="keras_zigzag")
class HandOn(keras.layers.Layer):
    """Passes a tensor on as another one with the same values and mask.

    An attention of Keras takes the mask off the tensors that it reads, and
    what reads them next would see none.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.autocast = False

    def call(self, inputs: Tensor) -> Tensor:
        return ops.copy(inputs)

    def compute_mask(self, inputs: Tensor, mask: Any = None) -> Any:
        return mask


def takes_masks_off(layer: Any) -> bool:
    """Whether a layer, or one in it, takes masks off what it reads."""
    return isinstance(layer, keras.layers.Layer) and any(
        isinstance(one, keras.layers.MultiHeadAttention)
        for one in sublayers(layer)
    )


class MaskTaker:
    """Gives tensors the masks of others, in the same structure.

    It holds the layer that does so where Keras does not look for the layers
    of a model.
    """

    def __init__(self) -> None:
        self._layer = TakeMask(dtype="float32")

    def __call__(self, structure: Any, others: Any) -> Any:
        return keras.tree.map_structure(
            lambda leaf, other: self._layer([leaf, other]), structure, others
        )
