"""What the heads of a network start with."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.copying import copy_frozen_state, copy_state
from keras_zigzag.heads.places import last_layers
from keras_zigzag.seeding import seeded

HEAD_STARTS = ("fresh", "fresh_last", "perturbed")
PERTURBATION = 0.1


class HeadWeights:
    """What the layers of the heads start with.

    Args:
        base: Functional or Sequential model.
        head_start: Name of one of `HEAD_STARTS`.
        seed: Integer or `None`.

    Raises:
        ValueError: If the name is unknown.
    """

    def __init__(self, base: keras.Model, head_start: str, seed: int | None):
        if head_start not in HEAD_STARTS:
            raise ValueError(
                "Unknown start of the heads. Expected one of "
                f"{list(HEAD_STARTS)}. Received: head_start={head_start!r}"
            )
        self.head_start = head_start
        self.seed = seed
        self.last = {id(layer) for layer in last_layers(base)}
        self._count = 0

    def seeded(self, index: int) -> Any:
        """What a layer of a head is made and built in."""
        self._count += 1
        if self.seed is None or index == 0:
            return seeded(None)
        return seeded(_mixed_seed(self.seed, index, self._count))

    def start(self, layer: Any, copy: Any, index: int) -> None:
        """Gives a copy of a layer its weights, once it is built."""
        if not isinstance(layer, keras.layers.Layer):
            return
        # What has nothing to learn, such as an adapted normalisation, stays.
        is_kept = index == 0 or not layer.trainable_weights
        is_fresh = self.head_start == "fresh" or (
            self.head_start == "fresh_last" and id(layer) in self.last
        )
        if not is_kept and is_fresh:
            copy_frozen_state(layer, copy)
            return
        copy_state(layer, copy)
        if not is_kept and self.head_start == "perturbed":
            _perturb(copy)

    def part(self, copy: Any, index: int) -> None:
        """Adds noise to a copy that starts as that of the first head does."""
        with self.seeded(index):
            _perturb(copy, kernels_only=False)


def start_alike(one: Any, other: Any) -> bool:
    """Whether the trainable weights of two layers are equal."""
    return all(
        np.array_equal(*map(ops.convert_to_numpy, pair))
        for pair in zip(
            one.trainable_weights, other.trainable_weights, strict=True
        )
    )


def _mixed_seed(*seeds: int) -> int:
    return int(np.random.SeedSequence(seeds).generate_state(1)[0])


def _perturb(layer: Any, kernels_only: bool = True) -> None:
    """Adds to each kernel a tenth of its standard deviation in noise.

    A kernel whose values are all equal has none, and gets a tenth of these.

    Args:
        layer: Layer.
        kernels_only: Boolean. Whether weights of one axis stay as they are,
            where there are none but these too. Defaults to `True`.
    """
    weights = layer.trainable_weights
    has_kernels = any(len(weight.shape) > 1 for weight in weights)
    for weight in weights:
        if len(weight.shape) > 1 or not (has_kernels or kernels_only):
            value = ops.convert_to_numpy(weight).astype("float32")
            noise = np.random.standard_normal(value.shape)
            scale = value.std() or np.abs(value).mean() or 1.0
            weight.assign(value + PERTURBATION * scale * noise)
