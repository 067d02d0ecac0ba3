"""Layers that inject noise, its moments, and how it gets into a network."""

from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.moments import Moments
from keras_zigzag.graphs import is_graph_model
from keras_zigzag.of_keras import is_of_keras
from keras_zigzag.rewriting import Rewriting, put_before

MULTIPLICATIVE = (
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "GaussianDropout",
)
ADDITIVE = ("GaussianNoise",)


def is_noise(layer: Any) -> bool:
    """Whether this is a layer of Keras that adds noise in training."""
    kind = type(layer).__name__
    if not is_of_keras(layer):
        return False
    return (kind in MULTIPLICATIVE and layer.rate > 0) or (
        kind in ADDITIVE and layer.stddev > 0
    )


def noise_names(model: keras.Model) -> list[str]:
    """Names of the layers with noise, also in inner models."""
    names: list[str] = []
    for layer in model.layers:
        if is_graph_model(layer):
            names += noise_names(layer)
        elif is_noise(layer):
            names.append(layer.name)
    return names


def noisy(layer: Any, x: Moments) -> Moments:
    """Moments behind a layer of noise.

    A factor that is `1 / (1 − p)` with a probability of `1 − p`, and zero
    otherwise, has a mean of one and a variance of `p / (1 − p)`; so has the
    factor of `GaussianDropout`.
    """
    if type(layer).__name__ in ADDITIVE:
        return Moments(x.mean, x.spread + layer.stddev**2)
    rate = layer.rate
    variance = (x.spread + rate * ops.square(x.mean)) / (1.0 - rate)
    return Moments(x.mean, variance)


class DropoutBefore(Rewriting):
    """Puts ordinary dropout in front of layers of a copy of a network.

    Args:
        targets: List of layers of the base model.
        rate: Float. Rate of the dropout.

    Attributes:
        names: List of strings. The names of the new layers.
    """

    def __init__(self, targets: list[Any], rate: float):
        super().__init__()
        self.targets = targets
        self.rate = rate
        self.names: list[str] = []

    def called(self, layer: Any, copy: Any, args: tuple, kwargs: dict) -> Any:
        def make() -> Any:
            name = f"{layer.name}_dropout_{len(self.names)}"
            self.names.append(name)
            return keras.layers.Dropout(
                self.rate, dtype=layer.dtype_policy, name=name
            )

        if layer in self.targets:
            args, kwargs = put_before(layer, (args, kwargs), make)
        return copy(*args, **kwargs)
