"""Which places of the outputs of a network are there."""

from typing import Any

import keras
from keras import ops

from keras_zigzag.graphs import (
    functional_view,
    input_like,
    is_graph_model,
    layers_in_order,
    run_graph,
)
from keras_zigzag.inner_models import run_inner
from keras_zigzag.mask_places import MaskPlaces
from keras_zigzag.of_keras import is_of_keras

Tensor = Any
PACKAGE = __name__.partition(".")[0]


class PlaceMasks:
    """The masks of a network's outputs, from its inputs alone.

    Keras attaches masks to the outputs while a network runs; on JAX they are
    gone once its step has been differentiated. What they are computed from is
    part of the network's graph, and seldom more than one of its inputs.

    Args:
        inputs: Symbolic inputs of a network.
        outputs: Symbolic outputs that come from them.
    """

    def __init__(self, inputs: Any, outputs: Any):
        masks = [
            getattr(leaf, "_keras_mask", None)
            for leaf in keras.tree.flatten(outputs)
        ]
        self._is_masked = [mask is not None for mask in masks]
        self._network = _network(inputs, masks)
        # Keras does not look for the layers of a model in here.
        # TensorFlow refuses the name that Keras would make of a private class.
        self._layer = _AttachMask(
            name="attach_mask", dtype="float32", autocast=False
        )

    @property
    def is_empty(self) -> bool:
        """Whether all places of all outputs are there."""
        return self._network is None

    def __call__(self, inputs: Any) -> list[Tensor | None]:
        """Booleans `(batch_size, num_places)` of each output, or `None`.

        Outputs of several samples one after the other have the masks of the
        first of them.
        """
        if self._network is None:
            return [None for _ in self._is_masked]
        size = ops.shape(_first(inputs))[0]
        found = iter(keras.tree.flatten(self._network(inputs)))
        return [
            ops.cast(next(found)[:size], "bool") if is_masked else None
            for is_masked in self._is_masked
        ]

    def attached(self, inputs: Any, outputs: Any) -> Any:
        """The outputs with their masks, where they have none."""
        if self._network is None:
            return outputs
        leaves = keras.tree.flatten(outputs)
        if all(getattr(one, "_keras_mask", None) is not None for one in leaves):
            return outputs
        masked = [
            leaf if mask is None else self._layer([leaf, mask])
            for leaf, mask in zip(leaves, self(inputs), strict=False)
        ]
        return keras.tree.pack_sequence_as(outputs, masked)


class _AttachMask(MaskPlaces):
    """Of answers, which may have no axis of features."""

    def build(self, input_shape: Any) -> None:
        self.built = True


def masks_of(network: Any, index: int | None = None) -> PlaceMasks:
    """The masks of a model's outputs, none if its graph is not known.

    Args:
        network: Keras model.
        index: Integer. Which of its inputs they are computed from. Defaults
            to `None`: all.
    """
    if not is_graph_model(network):
        return PlaceMasks(None, [])
    inputs, outputs = _unfolded(functional_view(network))
    return PlaceMasks(inputs if index is None else inputs[index], outputs)


def _unfolded(network: keras.Model) -> tuple[Any, Any]:
    """Inputs and outputs of a graph with the layers of the models in it.

    The symbolic outputs of a model have no masks, whatever its layers do.
    """
    layers = layers_in_order(network)
    if not any(map(is_graph_model, layers)) or not any(map(_masks, layers)):
        return network.input, network.output

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_graph_model(layer):
            return layer(*args, **kwargs)
        return run_inner(layer, args, kwargs, call)

    inputs = keras.tree.map_structure(input_like, network.input)
    return inputs, run_graph(network, inputs, call)


def _masks(layer: Any) -> bool:
    """Whether a layer may make masks, and not only pass them on."""
    if isinstance(layer, keras.layers.Embedding):
        return layer.mask_zero
    if isinstance(layer, (keras.layers.Masking, MaskPlaces)):
        return True
    own = getattr(type(layer), "compute_mask", None)
    if own is None or is_of_keras(own):
        return False
    return not own.__module__.startswith(f"{PACKAGE}.")


def _network(inputs: Any, masks: list[Any]) -> keras.Model | None:
    known = [mask for mask in masks if mask is not None]
    if not known:
        return None
    try:
        network = keras.Model(inputs, known)
    except ValueError:
        # They depend on something else, such as the prior.
        return None
    # A mask that depends on weights cannot be had without them.
    return None if network.weights else network


def _first(structure: Any) -> Tensor:
    leaves = keras.tree.flatten(structure)
    return next(leaf for leaf in leaves if leaf is not None)
