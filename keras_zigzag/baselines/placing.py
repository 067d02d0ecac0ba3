"""Layers put in front of others, or in the place of dropout."""

from collections.abc import Callable
from typing import Any

import keras

from keras_zigzag.baselines.kernel_layers import (
    kernel_layers,
    last_kernel_layers,
)
from keras_zigzag.baselines.propagation import (
    num_to_reach_all,
    reached_outputs,
)
from keras_zigzag.baselines.tiling import Tiling
from keras_zigzag.graphs import (
    functional_view,
    is_graph_model,
    names_of_outputs,
)
from keras_zigzag.number_checks import checked_count
from keras_zigzag.rewriting import put_before

DROPOUTS = (
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
)


class Placing(Tiling):
    """Puts layers that differ between the samples into a copy; abstract.

    Each fits one place: a layer that is called several times gets one for
    each of its calls.

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
        if self._is_replaced(layer):
            # The first one was built for its place, in an earlier call.
            copy = self._another(layer, True) if copy.built else copy
        elif self._is_target(layer):
            args, kwargs = put_before(
                layer, (args, kwargs), lambda: self._another(layer, False)
            )
        return copy(*args, **kwargs)

    def _another(self, layer: Any, in_place: bool) -> Any:
        """A new layer that cannot have the name of the base model's."""
        self.count += 1
        kind = type(self).__name__.lower()
        name = f"{layer.name}_{kind}_{self.count}"
        return self.placed(layer, in_place, name)

    def _is_replaced(self, layer: Any) -> bool:
        return self.in_place and is_dropout(layer)

    def _is_target(self, layer: Any) -> bool:
        return any(layer is target for target in self.targets)


def layers_to_sample(base: keras.Model, layers: Any) -> int | None:
    """How many of the last layers with a kernel get one in front.

    Args:
        base: Functional or Sequential model.
        layers: Integer as the user gave it, or `None` for as few as it takes
            to reach all outputs.

    Returns:
        Integer, or `None` where the model's own dropout reaches all outputs.

    Raises:
        ValueError: If it is no number of layers, or none was given and an
            output would not be reached.
    """
    if layers is not None:
        return checked_count("layers", layers)
    if has_dropout(base):
        _check_reached(base, is_dropout)
        return None
    found = kernel_layers(base)
    count = num_to_reach_all(base, found)
    if count is not None:
        return count
    if found:
        _check_reached(base, found.__contains__)
    # That there is none is found out where they are chosen.
    return 1


def _check_reached(base: keras.Model, is_source: Callable) -> None:
    names = names_of_outputs(functional_view(base))
    reached = reached_outputs(base, is_source)
    left = [name for name, one in zip(names, reached, strict=True) if not one]
    if left:
        raise ValueError(
            "Without `layers=`, the base model's dropout must be on the way "
            "to each output or, if it has none, a layer with a kernel: "
            "otherwise all samples are equal there, and the uncertainty is "
            f"always 0. Received: layers=None, and the outputs {left} that "
            "nothing random leads to. Give `layers=` a number of the last "
            "layers with a kernel, so many that each output has one."
        )


def is_dropout(layer: Any) -> bool:
    return type(layer).__name__ in DROPOUTS and layer.rate > 0


def has_dropout(model: keras.Model) -> bool:
    return any(
        has_dropout(layer) if is_graph_model(layer) else is_dropout(layer)
        for layer in model.layers
    )
