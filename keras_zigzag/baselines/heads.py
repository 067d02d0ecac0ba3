"""Changes at the end of a network that belongs to us, a copy of the user's."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_zigzag.activations import (
    OPERATIONS,
    TRANSPARENT,
    output_activations,
)
from keras_zigzag.baselines.blank_layers import call_blank, makes_values
from keras_zigzag.baselines.mean_over_places import MeanOverPlaces
from keras_zigzag.baselines.opened_ends import (
    names_in,
    open_end,
    source,
    unused_name,
)
from keras_zigzag.graphs import (
    functional_view,
    is_graph_model,
    sublayers,
)
from keras_zigzag.inner_models import run_inner

Tensor = Any


def with_log_variances(model: keras.Model, values: list[bool]) -> keras.Model:
    """Gives a network a second head for each of its outputs of values.

    The head is a layer as the last one, on the same features. It starts at
    a log-variance of zero, and learns even where that layer is frozen.

    Args:
        model: Functional or Sequential model, which becomes part of the
            result.
        values: List of Booleans, one per output.

    Returns:
        Functional model with the outputs `[prediction, [log-variances]]`.

    Raises:
        ValueError: If an output does not come from a layer with a kernel.
    """
    model = with_heads(model, values, ["log_variance"])
    prediction, heads = model.output
    log_variances = [head for (head,) in heads]
    return keras.Model(
        model.input, [prediction, log_variances], name=model.name
    )


def with_heads(
    model: keras.Model, wanted: list[bool], names: Sequence[str]
) -> keras.Model:
    """Gives a network more heads beside some of its outputs.

    Each is a linear layer as the last one, on the same features. It starts
    at zero, and learns even where that layer is frozen.

    Args:
        model: Functional or Sequential model, which becomes part of the
            result.
        wanted: List of Booleans, one per output.
        names: Strings, which end the names of the new layers.

    Returns:
        Functional model with the outputs `[prediction, [[head, ...], ...]]`.

    Raises:
        ValueError: If an output does not come from a layer with a kernel.
    """
    model = open_end(model)
    heads = [
        [_head_beside(tensor, name) for name in names]
        for tensor, is_wanted in zip(model.outputs, wanted, strict=True)
        if is_wanted
    ]
    return keras.Model(model.input, [model.output, heads], name=model.name)


def prediction_part(network: keras.Model, method: str) -> keras.Model:
    """A network `[prediction, [...]]` with the prediction alone.

    Args:
        network: Functional model.
        method: String. Name of the method whose network it is.

    Raises:
        ValueError: If the network has other outputs.
    """
    output = functional_view(network).output
    is_pair = isinstance(output, (list, tuple)) and len(output) == 2
    if not is_pair or not isinstance(output[1], (list, tuple)):
        raise ValueError(
            "The network must have the outputs `[prediction, [...]]`, one "
            "head or more beside what is predicted. Received: the outputs "
            f"{keras.tree.map_structure(lambda one: one.name, output)}. Make "
            "the model of an ordinary one with "
            f"`{method}.from_model(base, task=...)`."
        )
    return keras.Model(network.input, output[0])


def with_logits(
    model: keras.Model, wanted: list[bool], binary: list[bool] | None = None
) -> keras.Model:
    """Ends a network in softmax or sigmoid layers of their own.

    Args:
        model: Functional or Sequential model, which becomes part of the
            result.
        wanted: List of Booleans, one per output.
        binary: List of Booleans, which of the outputs end in a sigmoid.
            Defaults to `None`, for none.

    Returns:
        Functional model that gives the same answers.

    Raises:
        ValueError: If what goes into the softmax cannot be told.
    """
    model = open_end(model)
    binary = binary or [False] * len(wanted)
    outputs = [
        _with_own_activation(model, tensor, _activation(is_binary))
        if is_wanted
        else tensor
        for tensor, is_wanted, is_binary in zip(
            model.outputs, wanted, binary, strict=True
        )
    ]
    packed = keras.tree.pack_sequence_as(model.output, outputs)
    return keras.Model(model.input, packed, name=model.name)


def logits_before(tensor: Tensor, binary: bool = False) -> Tensor:
    """What goes into the softmax or sigmoid layer that a tensor comes from."""
    layer, node = _source_behind(tensor, ("Identity",))
    if not _only_applies(layer, _activation(binary)):
        raise ValueError(_no_logits(layer, _activation(binary)))
    return node.input_tensors[0]


def check_energy(model: keras.Model, chosen: Sequence[str]) -> None:
    """Raises a `ValueError` if an energy would be the same for all samples.

    Args:
        model: Functional model with the outputs of the base model.
        chosen: Strings, the score of each output.
    """
    for name, end in zip(chosen, output_activations(model), strict=True):
        if name == "energy" and end == "log_softmax":
            raise ValueError(
                "The energy is made of logits. That of the logarithms of "
                "probabilities is zero for every sample. Received: "
                "score='energy' and a base model that ends in a log-softmax. "
                "End it in a linear layer or in a softmax, or choose another "
                "score."
            )


def last_features(model: keras.Model) -> Tensor:
    """What the last layers with a kernel read, one vector per sample.

    Means are taken over places or steps. Where several outputs read different
    features, these are side by side.

    Args:
        model: Functional model.

    Returns:
        Tensor of shape `(batch_size, num_features)`, part of the graph.

    Raises:
        ValueError: If an output comes from no layer with a kernel.
    """
    found: list[Any] = []
    runs: dict[int, list[Tensor]] = {}
    for tensor in model.outputs:
        for layer, features in _read_by_kernels(tensor, model, runs):
            if all(features is not known for _, known in found):
                found.append((layer, features))
    pooled = [_pooled(layer, features) for layer, features in found]
    if len(pooled) == 1:
        return pooled[0]
    return keras.layers.Concatenate(dtype="float32")(pooled)


def last_layer(tensor: Tensor, passing: tuple[str, ...]) -> Any:
    """The layer that an output comes from.

    Args:
        tensor: Output of a model.
        passing: Names of the classes of layers to be passed over.
    """
    layer, _ = _source_behind(tensor, passing)
    return layer


def _source_behind(tensor: Tensor, passing: tuple[str, ...]) -> tuple[Any, Any]:
    layer, node = source(tensor)
    while type(layer).__name__ in passing and len(node.input_tensors) == 1:
        layer, node = source(node.input_tensors[0])
    return layer, node


def _opened(tensor: Tensor, runs: dict[int, list[Tensor]]) -> Tensor:
    """An output of an inner model as one of a layer in it.

    Args:
        tensor: Output of a call of an inner model.
        runs: Dictionary of the outputs of the calls that are opened already,
            so that each is run once.
    """
    layer, node = source(tensor)
    if id(node) not in runs:
        arguments = node.arguments
        outputs = run_inner(layer, arguments.args, arguments.kwargs)
        runs[id(node)] = keras.tree.flatten(outputs)
    return runs[id(node)][tensor._keras_history.tensor_index]


def _read_by_kernels(
    tensor: Tensor, model: Any, runs: dict[int, list[Tensor]]
) -> list[tuple[Any, Tensor]]:
    """The last layers with a kernel before a tensor, and what they read."""
    layer, node = source(tensor)
    if is_graph_model(layer):
        return _read_by_kernels(_opened(tensor, runs), model, runs)
    if any(len(weight.shape) > 1 for weight in getattr(layer, "weights", [])):
        return [(layer, node.input_tensors[0])]
    if not node.input_tensors:
        raise ValueError(
            "The features are what the last layer with a kernel reads. "
            f"Received: the base model {model.name!r} with an output that "
            f"comes from the input {layer.name!r} without such a layer."
        )
    found = []
    for each in node.input_tensors:
        found += _read_by_kernels(each, model, runs)
    return found


def _pooled(layer: Any, features: Tensor) -> Tensor:
    if len(features.shape) == 2:
        return features
    data_format = getattr(layer, "data_format", None) or "channels_last"
    return MeanOverPlaces(data_format, dtype="float32")(features)


def _head_beside(tensor: Tensor, name: str) -> Tensor:
    passed = []
    layer, node = source(tensor)
    while not getattr(layer, "weights", []):
        kind = type(layer).__name__
        if kind not in (*TRANSPARENT, "Activation", "ReLU", *OPERATIONS):
            raise ValueError(_no_head(layer))
        # What makes the mean positive, or keeps it small, is not for a
        # logarithm.
        if kind in TRANSPARENT and kind != "ActivityRegularization":
            passed.append(layer)
        if len(node.input_tensors) != 1:
            raise ValueError(_no_head(layer))
        layer, node = source(node.input_tensors[0])
    if not makes_values(layer):
        raise ValueError(_no_head(layer))
    arguments = node.arguments
    output = call_blank(
        layer, f"{layer.name}_{name}", arguments.args, arguments.kwargs
    )
    for each in reversed(passed):
        output = each(output)
    return output


def _activation(binary: bool) -> Any:
    return keras.activations.sigmoid if binary else keras.activations.softmax


def _with_own_activation(
    model: keras.Model, tensor: Tensor, activation: Any
) -> Tensor:
    layer, _ = source(tensor)
    end, _ = _source_behind(tensor, ("Identity",))
    if _only_applies(end, activation):
        return tensor
    if getattr(layer, "activation", None) is not activation:
        raise ValueError(_no_logits(layer, activation))
    # Others that read this layer would see logits too.
    if _is_shared(model, layer, tensor):
        raise ValueError(_no_logits(layer, activation))
    layer.activation = keras.activations.linear
    regularizer, layer.activity_regularizer = layer.activity_regularizer, None
    # Losses and metrics are given by the names of the base model's outputs.
    name = layer.name
    layer.name = unused_name(f"{name}_logits", names_in(model))
    # A `Softmax` layer would take a mask of steps for one of classes.
    own = keras.layers.Activation(
        activation,
        activity_regularizer=regularizer,
        dtype=layer.dtype_policy,
        name=name,
    )
    return own(tensor)


def _is_shared(model: keras.Model, layer: Any, tensor: Tensor) -> bool:
    """Whether a layer ends a model in one place and is used in another."""
    # Keras has no public way to the calls in a graph.
    nodes = [node for each in model._nodes_by_depth.values() for node in each]
    calls = [node for node in nodes if node.operation is layer]
    read = [one for node in nodes for one in node.input_tensors]
    uses = [one for one in (*read, *model.outputs) if one is tensor]
    others = [
        one
        for one in model.operations
        if isinstance(one, keras.layers.Layer) and one is not layer
    ]
    is_inside = any(
        each is layer for other in others for each in sublayers(other)
    )
    return len(calls) > 1 or len(uses) > 1 or is_inside


def _only_applies(layer: Any, activation: Any) -> bool:
    if isinstance(layer, keras.layers.Activation):
        return layer.activation is activation
    is_softmax = isinstance(layer, keras.layers.Softmax) and layer.axis == -1
    return is_softmax and activation is keras.activations.softmax


def _no_head(layer: Any) -> str:
    return (
        "The variance is predicted by a second layer as the one that the "
        "base model ends in. Received: a base model that ends in "
        f"{layer.name!r}, a `{type(layer).__name__}`, which makes no values "
        "with a kernel. End it in `Dense` or a convolution, and leave what "
        "scales values outside of it: give targets of about unit scale."
    )


def _no_logits(layer: Any, activation: Any) -> str:
    name = activation.__name__
    kinds = "a `Softmax`, or a layer" if name == "softmax" else "or one"
    return (
        "The logits of a classification are needed. Received: a base model "
        f"that ends in {layer.name!r}, a `{type(layer).__name__}`. End it in "
        f"a linear layer, {kinds} with `activation={name!r}` that is called "
        "once and read by no other layer."
    )
