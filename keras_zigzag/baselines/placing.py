"""Layers put in front of others, or in the place of dropout."""

from typing import Any

import keras

from keras_zigzag.baselines.kernel_layers import last_kernel_layers
from keras_zigzag.baselines.tiling import Tiling
from keras_zigzag.graphs import is_graph_model
from keras_zigzag.rewriting import put_before

DROPOUTS = (
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
)


class Placing(Tiling):
    """Puts layers that differ between the samples into a copy; abstract.

    Args:
        base: Functional or Sequential model. It is not changed.
        num_samples: Integer.
        layers: Integer. In front of how many of the last layers with a kernel
            one is put, or `None` for none.
        in_place: Boolean. Whether they also take the place of the base
            model's dropout.

    Attributes:
        count: Integer. How many there are.
    """

    def __init__(
        self,
        base: keras.Model,
        num_samples: int,
        layers: int | None,
        in_place: bool,
    ):
        super().__init__(num_samples)
        self.in_place = in_place
        self.targets = last_kernel_layers(base, layers or 0)
        self.count = 0

    def placed(self, layer: Any, in_place: bool, name: str) -> Any:
        """A new layer in front of this one, or in its place."""
        raise NotImplementedError

    def into(self, base: keras.Model, what: str) -> keras.Model:
        """A copy of a model with its weights and the new layers.

        Args:
            base: As of the constructor.
            what: String. What the new layers are.

        Raises:
            ValueError: If none found a place.
        """
        network = self.rewritten(base)
        if self.count == 0:
            raise ValueError(
                f"There is no place for {what}. Received: a base model "
                "without a layer that it could be put in front of. Give it "
                "one with a kernel, such as `Dense`."
            )
        return network

    def is_sampled(self, layer: Any) -> bool:
        return self._is_replaced(layer) or self._is_target(layer)

    def replacement(self, layer: Any) -> Any:
        if not self._is_replaced(layer):
            return None
        self.count += 1
        return self.placed(layer, True, layer.name)

    def sampled(self, layer: Any, copy: Any, args: tuple, kwargs: dict) -> Any:
        def make() -> Any:
            self.count += 1
            kind = type(self).__name__.lower()
            name = f"{layer.name}_{kind}_{self.count}"
            return self.placed(layer, False, name)

        if self._is_target(layer):
            args, kwargs = put_before(layer, (args, kwargs), make)
        return copy(*args, **kwargs)

    def _is_replaced(self, layer: Any) -> bool:
        return self.in_place and is_dropout(layer)

    def _is_target(self, layer: Any) -> bool:
        return any(layer is target for target in self.targets)


def is_dropout(layer: Any) -> bool:
    return type(layer).__name__ in DROPOUTS and layer.rate > 0


def has_dropout(model: keras.Model) -> bool:
    return any(
        has_dropout(layer) if is_graph_model(layer) else is_dropout(layer)
        for layer in model.layers
    )
