"""Networks whose outputs come from layers, not from models in them."""

from typing import Any

import keras

from keras_zigzag.graphs import (
    functional_view,
    is_graph_model,
    run_graph,
)
from keras_zigzag.inner_models import run_inner

Tensor = Any


def open_end(model: keras.Model) -> keras.Model:
    """The same layers, with outputs that come from a layer, not a model.

    Args:
        model: Functional or Sequential model.

    Returns:
        Functional model in which the models that end it are part of its own
        graph. Its outputs are called as before.
    """
    model = functional_view(model)
    names = model.output_names
    ends = _ending_models(model)
    if not ends:
        return model
    while ends:
        model = _with_opened(model, ends, names)
        ends = _ending_models(model)
    return _with_output_names(model, names)


def unused_name(name: str, taken: set[str]) -> str:
    """The name, or one with a number where that is taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def names_in(model: keras.Model) -> set[str]:
    """The names that a new layer of a graph cannot have."""
    return {one.name for one in model.operations}


def source(tensor: Tensor) -> tuple[Any, Any]:
    """The layer that gave a tensor, and its call."""
    history = tensor._keras_history
    layer = history.operation
    return layer, layer._inbound_nodes[history.node_index]


def _ending_models(model: keras.Model) -> list[Any]:
    layers = [source(tensor)[0] for tensor in model.outputs]
    return [layer for layer in layers if is_graph_model(layer)]


def _with_opened(
    model: keras.Model, inner: list[Any], names: list[str]
) -> keras.Model:
    """The same layers, with those of inner models in their place.

    Args:
        model: Functional model.
        inner: Inner models. They are opened wherever they are called.
        names: Names that the outputs will have.
    """
    _make_names_differ(model, inner, names)

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        if any(layer is one for one in inner):
            return run_inner(layer, args, kwargs)
        return layer(*args, **kwargs)

    outputs = run_graph(model, model.input, call)
    return keras.Model(model.input, outputs, name=model.name)


def _make_names_differ(
    model: keras.Model, inner: list[Any], names: list[str]
) -> None:
    """Renames layers of inner models that share a name with another layer."""
    taken = names_in(model) | set(names)
    known = {id(one) for one in model.operations}
    for one in inner:
        for layer in functional_view(one).operations:
            is_input = isinstance(layer, keras.layers.InputLayer)
            if is_input or id(layer) in known:
                continue
            if layer.name in taken:
                layer.name = unused_name(f"{one.name}_{layer.name}", taken)
            taken.add(layer.name)
            known.add(id(layer))


def _with_output_names(model: keras.Model, names: list[str]) -> keras.Model:
    """The same layers, of which those that end it have other names.

    Losses, metrics and tasks are given by the names of the base model's
    outputs. A name that several outputs have is none of one of them.
    """
    layers = [source(tensor)[0] for tensor in model.outputs]
    outputs = []
    for tensor, layer, name in zip(model.outputs, layers, names, strict=True):
        if layer.name == name or names.count(name) > 1:
            outputs.append(tensor)
        elif layers.count(layer) == 1 and _can_be_renamed(layer):
            layer.name = name
            outputs.append(tensor)
        else:
            own = keras.layers.Identity(dtype=tensor.dtype, name=name)
            outputs.append(own(tensor))
    packed = keras.tree.pack_sequence_as(model.output, outputs)
    return keras.Model(model.input, packed, name=model.name)


def _can_be_renamed(layer: Any) -> bool:
    # An operation may be the user's own, and inputs are given by name.
    is_layer = isinstance(layer, keras.layers.Layer)
    return is_layer and not isinstance(layer, keras.layers.InputLayer)
