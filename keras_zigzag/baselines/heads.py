"""Changes at the end of a network that belongs to us, a copy of the user's."""

from typing import Any

import keras
import numpy as np

from keras_zigzag.activations import OPERATIONS, TRANSPARENT
from keras_zigzag.graphs import functional_view, is_graph_model

Tensor = Any


def open_end(model: keras.Model) -> keras.Model:
    """The same layers, with outputs that come from a layer, not a model.

    Args:
        model: Functional or Sequential model.

    Returns:
        Functional model in which the models that end it are part of its own
        graph.
    """
    model = functional_view(model)
    while any(is_graph_model(_source(tensor)[0]) for tensor in model.outputs):
        model = keras.Model(
            model.input,
            keras.tree.map_structure(_opened, model.output),
            name=model.name,
        )
    return model


def with_log_variances(model: keras.Model, values: list[bool]) -> keras.Model:
    """Gives a network a second head for each of its outputs of values.

    The head is a layer as the last one, on the same features. It starts at
    a log-variance of zero.

    Args:
        model: Functional or Sequential model, which becomes part of the
            result.
        values: List of Booleans, one per output.

    Returns:
        Functional model with the outputs `[prediction, [log-variances]]`.

    Raises:
        ValueError: If an output does not come from a layer with weights.
    """
    model = open_end(model)
    heads = [
        _second_head(tensor)
        for tensor, is_value in zip(model.outputs, values, strict=True)
        if is_value
    ]
    return keras.Model(model.input, [model.output, heads], name=model.name)


def with_logits(model: keras.Model, wanted: list[bool]) -> keras.Model:
    """Ends a network in softmax layers of their own.

    Args:
        model: Functional or Sequential model, which becomes part of the
            result.
        wanted: List of Booleans, one per output.

    Returns:
        Functional model that gives the same answers.

    Raises:
        ValueError: If what goes into the softmax cannot be told.
    """
    model = open_end(model)
    outputs = [
        _with_own_softmax(model, tensor) if is_wanted else tensor
        for tensor, is_wanted in zip(model.outputs, wanted, strict=True)
    ]
    packed = keras.tree.pack_sequence_as(model.output, outputs)
    return keras.Model(model.input, packed, name=model.name)


def logits_before(tensor: Tensor) -> Tensor:
    """What goes into the softmax layer that a tensor comes from."""
    layer, node = _source(tensor)
    if not _is_softmax(layer):
        raise ValueError(_no_logits(layer))
    return node.input_tensors[0]


def last_layer(tensor: Tensor, passing: tuple[str, ...]) -> Any:
    """The layer that an output comes from.

    Args:
        tensor: Output of a model.
        passing: Names of the classes of layers to be passed over.
    """
    layer, node = _source(tensor)
    while type(layer).__name__ in passing and len(node.input_tensors) == 1:
        layer, node = _source(node.input_tensors[0])
    return layer


def _source(tensor: Tensor) -> tuple[Any, Any]:
    """The layer that gave a tensor, and its call."""
    history = tensor._keras_history
    layer = history.operation
    return layer, layer._inbound_nodes[history.node_index]


def _opened(tensor: Tensor) -> Tensor:
    layer, node = _source(tensor)
    if not is_graph_model(layer):
        return tensor
    # Outside of `__call__`, the graph of the inner model is called layer by
    # layer and thus becomes part of the outer one.
    view = functional_view(layer)
    outputs = keras.tree.flatten(
        keras.Function.call(view, node.arguments.args[0])
    )
    return outputs[tensor._keras_history.tensor_index]


def _second_head(tensor: Tensor) -> Tensor:
    passed = []
    layer, node = _source(tensor)
    while not getattr(layer, "weights", []):
        name = type(layer).__name__
        if name not in (*TRANSPARENT, "Activation", "ReLU", *OPERATIONS):
            raise ValueError(_no_head(layer))
        # What makes the mean positive, for example, is not for a logarithm.
        if name in TRANSPARENT:
            passed.append(layer)
        if len(node.input_tensors) != 1:
            raise ValueError(_no_head(layer))
        layer, node = _source(node.input_tensors[0])
    config = layer.get_config()
    config["name"] = f"{layer.name}_log_variance"
    head = type(layer).from_config(config)
    wrapped = head
    while isinstance(wrapped, keras.layers.Wrapper):
        wrapped = wrapped.layer
    if hasattr(wrapped, "activation"):
        wrapped.activation = keras.activations.linear
    output = head(*node.arguments.args, **node.arguments.kwargs)
    kernel = getattr(wrapped, "kernel", None)
    if kernel is not None:
        kernel.assign(np.zeros(kernel.shape))
    for each in reversed(passed):
        output = each(output)
    return output


def _with_own_softmax(model: keras.Model, tensor: Tensor) -> Tensor:
    layer, _ = _source(tensor)
    if _is_softmax(layer):
        return tensor
    activation = getattr(layer, "activation", None)
    if activation is not keras.activations.softmax:
        raise ValueError(_no_logits(layer))
    # Others that read this layer would see logits too.
    calls = [node for node in layer._inbound_nodes if node in model._nodes]
    if len(calls) > 1:
        raise ValueError(_no_logits(layer))
    layer.activation = keras.activations.linear
    softmax = keras.layers.Softmax(
        dtype=layer.dtype_policy, name=f"{layer.name}_softmax"
    )
    return softmax(tensor)


def _is_softmax(layer: Any) -> bool:
    if isinstance(layer, keras.layers.Activation):
        return layer.activation is keras.activations.softmax
    return isinstance(layer, keras.layers.Softmax) and layer.axis == -1


def _no_head(layer: Any) -> str:
    return (
        "The variance is predicted by a second layer as the one that the "
        "base model ends in. Received: a base model that ends in "
        f"{layer.name!r}, a `{type(layer).__name__}`, which is no such layer "
        "with weights. End it in one, such as `Dense`."
    )


def _no_logits(layer: Any) -> str:
    return (
        "The energy needs the logits of a classification. Received: a base "
        f"model that ends in {layer.name!r}, a `{type(layer).__name__}`. End "
        "it in a linear layer, a `Softmax`, or a layer with "
        "`activation='softmax'` that is called once."
    )
