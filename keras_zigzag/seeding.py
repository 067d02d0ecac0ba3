"""Random numbers that can be drawn again, without touching anyone else's."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from keras_zigzag.copying import copy_frozen_state, copy_layer, copy_state
from keras_zigzag.graphs import is_graph_model


@contextlib.contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """What is made here is as after `keras.utils.set_random_seed(seed)`.

    For what Keras makes of a random seed of its own: initialisers, `Dropout`
    and the like take theirs from Python's generator. The generators of Python
    and NumPy go on afterwards as if nothing had been drawn.
    """
    if seed is None:
        yield
        return
    states = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def fresh_model(base: keras.Model) -> keras.Model:
    """A copy of a model with new random weights.

    Layers without anything to train, such as a frozen backbone or an adapted
    normalisation, keep their weights.
    """
    model = copy_layer(base, copy_inner=_fresh_layer)
    _keep_frozen(base, model)
    return model


def _fresh_layer(layer: Any) -> Any:
    if is_graph_model(layer):
        return copy_layer(layer, copy_inner=_fresh_layer)
    copy = copy_layer(layer)
    if not isinstance(copy, keras.layers.Layer):
        return copy
    config = copy.get_config()
    if isinstance(layer, keras.layers.Lambda) or config == unseeded(config):
        return copy
    # With the user's own seed all members would start alike.
    return type(copy).from_config(unseeded(config))


def unseeded(config: Any) -> Any:
    """A config without the seeds that the user chose."""
    if isinstance(config, dict):
        return {
            key: None
            if key == "seed" and isinstance(value, int)
            else unseeded(value)
            for key, value in config.items()
        }
    if isinstance(config, (list, tuple)):
        return type(config)(unseeded(value) for value in config)
    return config


def _keep_frozen(base: Any, model: Any) -> None:
    for layer in base.layers:
        if isinstance(layer, keras.layers.InputLayer):
            continue
        copy = model.get_layer(layer.name)
        if not layer.trainable_weights:
            copy_state(layer, copy)
        elif is_graph_model(layer):
            _keep_frozen(layer, copy)
        else:
            copy_frozen_state(layer, copy)
