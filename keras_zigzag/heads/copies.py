"""From a base model with one head to a network with several."""

from typing import Any, NamedTuple

import keras

from keras_zigzag.copying import copy_layer, copy_state
from keras_zigzag.graphs import (
    functional_view,
    input_like,
    is_graph_model,
    layers_in_order,
    run_graph,
)
from keras_zigzag.heads.layers import (
    HeadInput,
    StackHeads,
    with_mean_regularizers,
)
from keras_zigzag.heads.places import Flow, head_starts
from keras_zigzag.heads.weights import HeadWeights, start_alike
from keras_zigzag.inner_models import enter_inner, run_inner
from keras_zigzag.mask_taker import HandOn, takes_masks_off
from keras_zigzag.seeding import unseeded


class HeadedModel(NamedTuple):
    """A model with several heads.

    Attributes:
        model: Functional model.
        names: Dictionary from the names of layers of the base model to the
            names of what took their places; there are none for a model that
            was unfolded.
        entries: List of strings, the layers through which features enter
            the heads.
    """

    model: keras.Model
    names: dict[str, list[str]]
    entries: list[str]


def with_heads(
    base: keras.Model,
    num_heads: int,
    heads_from: Any = None,
    head_start: str = "fresh",
    seed: int | None = None,
) -> HeadedModel:
    """A copy of a model whose last layers exist several times.

    The answers of the heads are on the second axis of the outputs. A model
    inside the base model in which heads begin, or that is part of them, is
    unfolded: its layers become layers of the network.

    Args:
        base: Functional or Sequential model. It is not changed.
        num_heads: Integer. With one there is no axis for the heads.
        heads_from: See `keras_zigzag.ZigZagModel.from_model`.
        head_start: Likewise.
        seed: Integer or `None`. Seed of the new weights.

    Raises:
        ValueError: If there is no such layer, or an option is unknown.
    """
    weights = HeadWeights(base, head_start, seed)
    starts = head_starts(base, heads_from)
    return Multiplying(base, starts, num_heads, weights).headed()


class Several:
    """One tensor of each head, in the place of a tensor of the base model."""

    def __init__(self, tensors: Any):
        self.tensors = list(tensors)


class Multiplying:
    """Goes through the graph of a model and calls its last layers K times.

    Each head has layers of its own, of the classes of the base model, so that
    all that holds for these (kinds of layers, widening, masks, export) holds
    for the heads. One kernel `(K, inputs, outputs)` for `Dense` layers took
    as long, in steps of `fit` and `predict` on a CPU.

    Args:
        base: Functional or Sequential model.
        starts: List of the layers from which on there are heads.
        num_heads: Integer.
        weights: `HeadWeights`.
    """

    def __init__(
        self,
        base: keras.Model,
        starts: list[Any],
        num_heads: int,
        weights: HeadWeights,
    ):
        self.base = functional_view(base)
        self.num_heads = num_heads
        self.weights = weights
        self.names: dict[str, list[str]] = {}
        self.entries: list[str] = []
        self._starts = {id(layer) for layer in starts}
        # A layer that the trunk calls too stays one layer.
        self._outside = Flow(base, starts).outside
        # They hold the layers and the tensors, so that no id is given to
        # another.
        self._copies: dict[Any, tuple[Any, Any]] = {}
        self._entered: dict[int, tuple[Any, Several]] = {}
        self._kept_names: set[str] = set()
        self._called_alone: set[int] = set()
        self._stacks: dict[int, tuple[Any, Any]] = {}
        self._outer = {id(layer) for layer in self.base.operations}
        self._last = {
            id(tensor._keras_history.operation) for tensor in self.base.outputs
        }
        self._taken = {layer.name for layer in self.base.operations}

    def headed(self) -> HeadedModel:
        inputs = keras.tree.map_structure(input_like, self.base.input)
        outputs = run_graph(self.base, inputs, self._call)
        self._part_heads()
        flat = [
            self._stacked(leaf, name)
            for leaf, name in zip(
                keras.tree.flatten(outputs),
                self.base.output_names,
                strict=True,
            )
        ]
        outputs = keras.tree.pack_sequence_as(outputs, flat)
        model = keras.Model(inputs, outputs, name=self.base.name)
        return HeadedModel(model, self.names, self.entries)

    def _part_heads(self) -> None:
        """Adds noise where heads start alike, and would learn alike."""
        copies: dict[int, list[Any]] = {}
        for (_, index), (layer, copy) in self._copies.items():
            if index is not None and getattr(copy, "trainable_weights", []):
                copies.setdefault(id(layer), [layer]).append(copy)
        differ = [
            layer
            for layer, first, *others in copies.values()
            if not any(start_alike(first, other) for other in others)
        ]
        if all(keras.tree.flatten(Flow(self.base, differ).depends)):
            return
        for layer, _, *others in copies.values():
            for index, copy in enumerate(others, start=1):
                if layer not in differ:
                    self.weights.part(copy, index)

    def _call(self, layer: Any, *args: Any, **kwargs: Any) -> Any:
        if id(layer) in self._starts:
            args, kwargs = keras.tree.map_structure(
                lambda leaf: self._enter(layer, leaf), (args, kwargs)
            )
        inside = any(
            isinstance(leaf, Several)
            for leaf in keras.tree.flatten((args, kwargs))
        )
        if is_graph_model(layer) and (inside or self._begins_in(layer)):
            return self._unfolded(layer, args, kwargs)
        if not inside:
            return self._called(layer, None, args, kwargs)
        if takes_masks_off(layer):
            args, kwargs = keras.tree.map_structure(
                self._handed_on, (args, kwargs)
            )
        outputs = [
            self._called(layer, index, *_of_head(index, (args, kwargs)))
            for index in range(self.num_heads)
        ]
        return keras.tree.map_structure(
            lambda *tensors: Several(tensors), *outputs
        )

    def _called(
        self, layer: Any, index: int | None, args: tuple, kwargs: dict
    ) -> Any:
        """The outputs of the copy of a layer for a head, or for the trunk."""
        is_op = not isinstance(layer, keras.layers.Layer)
        if is_op or index is None or id(layer) in self._outside:
            return self._called_once(layer, args, kwargs)
        if (id(layer), index) in self._copies:
            return self._copies[id(layer), index][1](*args, **kwargs)
        with self.weights.seeded(index):
            copy = self._head_copy(layer, index)
            outputs = copy(*args, **kwargs)
            self.weights.start(layer, copy, index)
        self._copies[id(layer), index] = layer, copy
        return outputs

    def _called_once(self, layer: Any, args: tuple, kwargs: dict) -> Any:
        """The outputs of a layer that is no head's own."""
        copy = self._inner_copy(layer)
        # A model may have had it copied before it is called by itself.
        is_first = id(layer) not in self._called_alone
        self._called_alone.add(id(layer))
        if is_first and copy is not layer:
            copy.name = self._renamed(layer, self._shared_name(layer))
        outputs = copy(*args, **kwargs)
        if is_first and copy is not layer:
            copy_state(layer, copy)
        elif is_first:
            self._kept_names.add(layer.name)
        return outputs

    def _inner_copy(self, layer: Any) -> Any:
        key = id(layer), None
        if key not in self._copies:
            copy = copy_layer(layer, copy_inner=self._inner_copy)
            self._copies[key] = layer, copy
        return self._copies[key][1]

    def _head_copy(self, layer: Any, index: int) -> Any:
        copy = copy_layer(layer)
        config = copy.get_config()
        changed = with_mean_regularizers(config, self.num_heads)
        if index > 0:
            # With the user's own seed all heads would start alike.
            changed = unseeded(changed)
        if changed != config and not isinstance(layer, keras.layers.Lambda):
            copy = type(copy).from_config(changed)
        copy.name = self._renamed(layer, self._name(layer.name, index))
        return copy

    def _name(self, name: str, index: int) -> str:
        return name if self.num_heads == 1 else f"{name}_head_{index}"

    def _shared_name(self, layer: Any) -> str:
        """The name of what all heads call, or what is none of theirs."""
        # Losses are given by the names of outputs, which the stacks take over.
        is_stacked = self.num_heads > 1 and id(layer) in self._last
        return f"{layer.name}_of_heads" if is_stacked else layer.name

    def _renamed(self, layer: Any, name: str) -> str:
        """A name for what takes the place of a layer, which is noted."""
        if name != layer.name or id(layer) not in self._outer:
            name = self._free(name)
        self.names.setdefault(layer.name, []).append(name)
        return name

    def _enter(self, layer: Any, leaf: Any) -> Any:
        if not isinstance(leaf, keras.KerasTensor):
            return leaf
        if id(leaf) not in self._entered:
            tensors = []
            for index in range(self.num_heads):
                name = self._free(self._name(f"{layer.name}_input", index))
                self.entries.append(name)
                tensors.append(HeadInput(name=name)(leaf))
            self._entered[id(leaf)] = leaf, Several(tensors)
        return self._entered[id(leaf)][1]

    def _handed_on(self, leaf: Any) -> Any:
        """A tensor for each head of one that all read."""
        if not isinstance(leaf, keras.KerasTensor):
            return leaf
        return Several(
            HandOn(dtype="float32")(leaf) for _ in range(self.num_heads)
        )

    def _stacked(self, leaf: Any, name: str) -> Any:
        if self.num_heads == 1:
            (tensor,) = leaf.tensors
            if tensor._keras_history.operation.name == name:
                return tensor
        # A tensor may be several outputs.
        if id(leaf) not in self._stacks:
            self._stacks[id(leaf)] = leaf, self._stack(leaf, name)
        return self._stacks[id(leaf)][1]

    def _stack(self, leaf: Any, name: str) -> Any:
        # A layer whose place is taken by its copies leaves its name, and a
        # model that is unfolded leaves it to the first of its outputs.
        taken = {one for names in self.names.values() for one in names}
        taken |= self._kept_names
        name = self._free(f"{name}_heads") if name in taken else name
        self._kept_names.add(name)
        if self.num_heads == 1:
            (tensor,) = leaf.tensors
            return keras.layers.Identity(dtype=tensor.dtype, name=name)(tensor)
        return StackHeads(name=name)(leaf.tensors)

    def _unfolded(self, model: Any, args: tuple, kwargs: dict) -> Any:
        self.names.setdefault(model.name, [])
        return run_inner(model, args, kwargs, self._call, self._enter_inner)

    def _enter_inner(self, tensor: Any, known: Any, mask: Any) -> Any:
        if not isinstance(tensor, Several):
            return enter_inner(tensor, known, mask)
        return Several(
            enter_inner(one, known, _of_head(index, mask))
            for index, one in enumerate(tensor.tensors)
        )

    def _begins_in(self, model: Any) -> bool:
        return any(
            id(layer) in self._starts for layer in layers_in_order(model)
        )

    def _free(self, name: str) -> str:
        """The name, or a longer one if it is that of another layer."""
        while name in self._taken:
            name += "_copy"
        self._taken.add(name)
        return name


def _of_head(index: int, arguments: Any) -> Any:
    return keras.tree.map_structure(
        lambda leaf: leaf.tensors[index] if isinstance(leaf, Several) else leaf,
        arguments,
    )
