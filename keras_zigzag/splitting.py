"""What of a widened network has to be computed once, and what per pass."""

from typing import Any

import keras

from keras_zigzag.graphs import input_like, keras_tensors
from keras_zigzag.prior_layers import RepeatBatch

Tensor = Any


class SplitNetwork:
    """A widened network in two parts that share its layers.

    The trunk holds everything that does not depend on the prior; it runs
    once per batch. The head takes its outputs and the prior; it runs once
    per pass. The later the prior enters, the smaller the head.

    Args:
        network: Keras model that takes `[inputs, prior]`. If its graph is
            not known, the whole of it is the head.
    """

    def __init__(self, network: keras.Model):
        self.network = network
        self._parts = split(network) if _is_split(network) else None
        self._repeat = RepeatBatch()

    def trunk(self, inputs: Any, training: bool | None = None) -> Any:
        """What all passes share; hand it to `head`."""
        if self._parts is None:
            return inputs
        return self._parts[0](inputs, training=training)

    def head(
        self, features: Any, prior: Tensor, training: bool | None = None
    ) -> Any:
        """One pass."""
        if self._parts is None:
            return self.network([features, prior], training=training)
        return self._parts[1]([features, prior], training=training)

    def repeated(self, features: Any) -> Any:
        """The features of two passes in one batch, `[x; x]`."""
        return keras.tree.map_structure(self._repeat, features)


def split(network: keras.Model) -> tuple[keras.Model, keras.Model]:
    """Cuts a widened Functional model where the prior enters.

    Args:
        network: Functional model that takes `[inputs, prior]`.

    Returns:
        Two Functional models that share its layers: `inputs → features` and
        `[features, prior] → outputs`.
    """
    # New inputs, since Keras rewires those of a model that is cut.
    inputs, prior = keras.tree.map_structure(input_like, network.input)
    walk = Walk(prior)
    clone = keras.models.clone_model(
        keras.Model(network.input, [network.output, network.input[1]]),
        input_tensors=[inputs, prior],
        clone_function=lambda layer: layer,
        call_function=walk.call,
    )
    outputs, _ = clone.output
    for tensor in keras.tree.flatten(outputs):
        if not walk.depends(tensor):
            walk.cut(tensor)
    features = list(walk.features.values())
    if len(features) == 1:
        (features,) = features
    trunk = keras.Model(inputs, features, name="trunk")
    head = keras.Model([features, prior], outputs, name="head")
    return trunk, head


class Walk:
    """Calls the layers of a widened network and finds where to cut it.

    Args:
        prior: Symbolic tensor, the prior.
    """

    def __init__(self, prior: Any):
        self.prior = prior
        self.features: dict[int, Any] = {}
        self._dependent = {id(prior): prior}
        self._parts: dict[int, tuple[keras.Model, keras.Model]] = {}

    def depends(self, tensor: Any) -> bool:
        return id(tensor) in self._dependent

    def cut(self, tensor: Any) -> None:
        self.features[id(tensor)] = tensor

    def call(self, layer: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = keras_tensors((args, kwargs))
        if not any(map(self.depends, tensors)):
            return layer(*args, **kwargs)
        if self._is_widened(layer, args):
            (inputs, prior), *_ = args
            trunk, head = self._split(layer)
            features = trunk(inputs, **kwargs)
            tensors = keras_tensors(features)
            outputs = head([features, prior], **kwargs)
        else:
            outputs = layer(*args, **kwargs)
        for tensor in tensors:
            if not self.depends(tensor):
                self.cut(tensor)
        for tensor in keras.tree.flatten(outputs):
            self._dependent[id(tensor)] = tensor
        return outputs

    def _is_widened(self, layer: Any, args: tuple) -> bool:
        """Whether the layer is a model in which the prior itself enters."""
        return (
            isinstance(layer, keras.Function)
            and isinstance(args[0], (list, tuple))
            and len(args[0]) == 2
            and args[0][1] is self.prior
            and not any(map(self.depends, keras_tensors(args[0][0])))
        )

    def _split(self, model: keras.Model) -> tuple[keras.Model, keras.Model]:
        if id(model) not in self._parts:
            self._parts[id(model)] = split(model)
        return self._parts[id(model)]


def _is_split(network: keras.Model) -> bool:
    return (
        isinstance(network, keras.Function)
        and type(network).call.__module__.startswith("keras.")
        and isinstance(network.input, (list, tuple))
        and len(network.input) == 2
    )
