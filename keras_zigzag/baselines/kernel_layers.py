"""Layers with a kernel, whether they learn or are frozen.

An `Embedding` is none: what it reads are no features but numbers of words,
which must stay as they are.
"""

from typing import Any

import keras

from keras_zigzag.graphs import sublayers
from keras_zigzag.of_keras import ELEMENTWISE
from keras_zigzag.rewriting import last_mixing_layers, mixing_layers


def kernel_layers(model: keras.Model) -> list[Any]:
    """Layers with a kernel, also in inner models, from first to last."""
    return mixing_layers(model, _has_kernel)


def last_kernel_layers(model: keras.Model, count: int) -> list[Any]:
    """The last layers with a kernel.

    Args:
        model: Functional or Sequential model.
        count: Integer.

    Raises:
        ValueError: If there are not as many.
    """
    return last_mixing_layers(model, count, mixes=_has_kernel)


def _has_kernel(layer: Any) -> bool:
    if not isinstance(layer, keras.layers.Layer):
        return False
    # What is frozen, the public `trainable_weights` leaves out.
    return any(
        len(weight.shape) > 1
        for one in sublayers(layer)
        if not isinstance(one, (keras.layers.Embedding, *ELEMENTWISE))
        for weight in one._trainable_variables
    )
