"""Dropout that can be sampled at inference, and how it gets into a network."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.baselines.placing import Placing

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class SampledDropout(keras.layers.Layer):
    """Dropout in training, and at inference one fixed mask for each sample.

    At inference the batch holds all samples one after the other,
    `num_samples` times the same inputs. Each gets a mask of its own, the
    same for all inputs, so that answers depend neither on the batch nor on
    the call, and an exported graph holds the masks.

    Args:
        rate: Float in `(0, 1)`. Fraction of features to drop.
        num_samples: Integer.
        seed: Integer.
        shared_axes: List of integers. Axes along which a mask is constant.
            Defaults to `()`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Reference: [Gal & Ghahramani, 2016](https://arxiv.org/abs/1506.02142).
    """

    def __init__(
        self,
        rate: float,
        num_samples: int,
        seed: int,
        shared_axes: tuple[int, ...] = (),
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.rate = rate
        self.num_samples = num_samples
        self.seed = seed
        self.shared_axes = tuple(shared_axes)
        self.supports_masking = True
        self._generator = keras.random.SeedGenerator(seed)

    def build(self, input_shape: Any) -> None:
        # Drawn by NumPy, so that they are the same on all backends. Where a
        # size is open, one mask serves all places.
        shape = [
            1 if size is None or axis in self.shared_axes else size
            for axis, size in enumerate(input_shape)
        ][1:]
        kept = np.random.default_rng(self.seed).random(
            (self.num_samples, 1, *shape)
        )
        self._factors = np.where(
            kept >= self.rate, 1.0 / (1.0 - self.rate), 0.0
        ).astype("float32")
        self.built = True

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if training:
            noise_shape = [
                1 if axis in self.shared_axes else size
                for axis, size in enumerate(ops.shape(inputs))
            ]
            return keras.random.dropout(
                inputs, self.rate, noise_shape, seed=self._generator
            )
        shape = list(ops.shape(inputs))[1:]
        samples = ops.reshape(inputs, (self.num_samples, -1, *shape))
        factors = ops.cast(self._factors, inputs.dtype)
        return ops.reshape(samples * factors, (-1, *shape))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update(
            {
                "rate": self.rate,
                "num_samples": self.num_samples,
                "seed": self.seed,
                "shared_axes": list(self.shared_axes),
            }
        )
        return config


class Sampling(Placing):
    """Puts dropout that can be sampled into a copy of a network.

    Args:
        base: Functional or Sequential model. It is not changed.
        num_samples: Integer.
        layers: Integer. In front of how many of the last layers with a kernel
            dropout is put, or `None` for none.
        rate: Float. Rate of these.
        seed: Integer.
    """

    def __init__(
        self,
        base: keras.Model,
        num_samples: int,
        layers: int | None,
        rate: float,
        seed: int,
    ):
        super().__init__(base, num_samples, layers, in_place=True)
        self.rate = rate
        self.seeds = np.random.default_rng(seed)

    def placed(self, layer: Any, in_place: bool, name: str) -> SampledDropout:
        return SampledDropout(
            float(layer.rate if in_place else self.rate),
            self.num_samples,
            int(self.seeds.integers(2**31)),
            shared_axes(layer) if in_place else (),
            dtype=layer.dtype_policy,
            name=name,
        )


def shared_axes(layer: Any) -> tuple[int, ...]:
    """Axes along which a dropout layer drops all or nothing."""
    if type(layer).__name__ == "Dropout":
        noise_shape = layer.noise_shape or ()
        return tuple(
            axis for axis, size in enumerate(noise_shape) if axis and size == 1
        )
    rank = int(type(layer).__name__[-2])
    first = 2 if getattr(layer, "data_format", "") == "channels_first" else 1
    return tuple(range(first, first + rank))
