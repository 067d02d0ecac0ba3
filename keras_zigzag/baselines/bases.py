"""From the user's base model to a network of the method's own."""

from typing import Any

import keras

from keras_zigzag.copying import copy_layer, copy_state
from keras_zigzag.graphs import (
    check_known_shape,
    is_graph_model,
    sublayers,
    warn_of_own_training,
    warn_of_tied_layers,
)
from keras_zigzag.seeding import fresh_model


def copy_base(base: Any) -> keras.Model:
    """A copy with the weights of a model, which is left as it is.

    Args:
        base: Sequential or Functional model, built.

    Raises:
        ValueError: If it is something else, or cannot be copied.
    """
    check_graph(base)
    copy = copy_layer(base)
    copy_state(base, copy)
    return copy


def fresh_base(base: keras.Model) -> keras.Model:
    """As `fresh_model`; where all of a model is frozen, all learns anew."""
    if not base.trainable_weights:
        base = copy_base(base)
        # TensorFlow passes over what is true of the outer layer already.
        for layer in sublayers(base):
            layer.trainable = True
    return fresh_model(base)


def check_graph(base: Any) -> None:
    """Raises a `ValueError` unless the layers of a model are known."""
    check_known_shape(base)
    if not is_graph_model(base):
        raise ValueError(
            "The base model must be a Sequential or Functional model, since "
            "it is copied layer by layer. "
            f"Received: the subclassed model `{type(base).__name__}`. Write "
            "it with the Functional API."
        )
    warn_of_own_training(base)
    warn_of_tied_layers(base)
