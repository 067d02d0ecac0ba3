"""What of a widened network has to be computed once, and what per pass."""

from typing import Any

import keras

from keras_zigzag.graphs import input_like, keras_tensors
from keras_zigzag.mask_taker import HandOn, takes_masks_off
from keras_zigzag.of_keras import is_of_keras
from keras_zigzag.prior_layers import RowsAgain
from keras_zigzag.rewriting import call_again
from keras_zigzag.two_inputs import takes_two_inputs

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
        self._again = RowsAgain()
        self._hand_on = HandOn(dtype="float32")
        self._has_samples = self._of_samples()
        self._has_attention = takes_masks_off(network)

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
        if self._has_attention:
            features = keras.tree.map_structure(
                lambda leaf: None if leaf is None else self._hand_on(leaf),
                features,
            )
        return self._parts[1]([features, prior], training=training)

    def again(self, features: Any, count: int | Tensor) -> Any:
        """The features with their first `count` samples a second time."""
        if isinstance(count, int) and count == 0:
            return features
        leaves = keras.tree.flatten(features)
        has_samples = self._has_samples or [True] * len(leaves)
        again = [
            self._again(leaf, count=count)
            if leaf is not None and has_one
            else leaf
            for leaf, has_one in zip(leaves, has_samples, strict=True)
        ]
        return keras.tree.pack_sequence_as(features, again)

    def _of_samples(self) -> list[bool] | None:
        """Which features have an axis of samples.

        Others are the same for all, such as a table of positions.
        """
        if self._parts is None:
            return None
        trunk, _ = self._parts
        sizes = {None, *(one.shape[0] for one in trunk.inputs)}
        return [one.shape[0] in sizes for one in trunk.outputs]


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
    extended = keras.Model(network.input, [network.output, network.input[1]])
    clone = call_again(extended, walk.call, [inputs, prior])
    outputs, _ = keras.tree.map_structure(walk.in_head, clone.output)
    # Inputs that are features as they are would be those of another call.
    known = {id(tensor) for tensor in keras.tree.flatten(inputs)}
    cut = [
        HandOn(dtype="float32")(tensor) if id(tensor) in known else tensor
        for tensor in walk.cut
    ]
    trunk = Part(inputs, as_inputs(cut), name=f"{network.name}__trunk")
    head = Part(
        [as_inputs(walk.head_inputs), walk.head_prior],
        outputs,
        name=f"{network.name}__head",
    )
    # Layers may give other shapes than they say, as `RandomCrop` does at
    # inference; the base model does not mind.
    head.input_spec = None
    return trunk, head


def as_inputs(tensors: list[Any]) -> Any:
    return tensors[0] if len(tensors) == 1 else tensors


class Part(keras.Model):
    """A Functional model whose outputs have the masks its layers give."""

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        return None


class StandIn(keras.Operation):
    """Gives symbolic tensors of these shapes, whatever it is called on."""

    def __init__(self, outputs: Any):
        super().__init__()
        self.outputs_like = outputs

    def compute_output_spec(self, *tensors: Any) -> Any:
        return keras.tree.map_structure(
            lambda tensor: keras.KerasTensor(
                tensor.shape, tensor.dtype, sparse=tensor.sparse
            ),
            self.outputs_like,
        )


class Walk:
    """Calls the layers of a widened network in the graph they belong to.

    The walk goes over the whole network. What depends on the prior is called
    in a graph of its own, the head, and a tensor that stands in for it goes
    on with the walk.

    Args:
        prior: Symbolic tensor, the prior.
    """

    def __init__(self, prior: Any):
        self.prior = prior
        self.head_prior = input_like(prior)
        self.cut: list[Any] = []
        self.head_inputs: list[Any] = []
        # By the id of a tensor of the walk; holding the tensor itself keeps
        # its id from being given to another.
        self._dependent = {id(prior): (prior, self.head_prior)}
        self._in_head = dict(self._dependent)
        self._parts: dict[int, tuple[keras.Model, keras.Model]] = {}

    def depends(self, tensor: Any) -> bool:
        return id(tensor) in self._dependent

    def in_head(self, leaf: Any) -> Any:
        """The tensor of the head for one of the walk; others as they are."""
        if not isinstance(leaf, keras.KerasTensor):
            return leaf
        if id(leaf) not in self._in_head:
            self._in_head[id(leaf)] = (leaf, input_like(leaf))
            self.cut.append(leaf)
            self.head_inputs.append(self._in_head[id(leaf)][1])
        return self._in_head[id(leaf)][1]

    def call(self, layer: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = keras_tensors((args, kwargs))
        if not any(map(self.depends, tensors)):
            return layer(*args, **kwargs)
        if self._is_widened(layer, args):
            (inputs, _), *_ = args
            trunk, layer = self._split(layer)
            args = ([trunk(inputs, **kwargs), self.prior],)
            # The features of the trunk carry their own masks.
            kwargs.pop("mask", None)
        args, kwargs = keras.tree.map_structure(self.in_head, (args, kwargs))
        outputs = layer(*args, **kwargs)
        stand_ins = StandIn(outputs)(*tensors)
        for tensor, output in zip(
            keras.tree.flatten(stand_ins),
            keras.tree.flatten(outputs),
            strict=True,
        ):
            self._dependent[id(tensor)] = (tensor, output)
        self._in_head.update(self._dependent)
        return stand_ins

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
    has_own_call = not is_of_keras(type(network).call)
    return takes_two_inputs(network) and not has_own_call
