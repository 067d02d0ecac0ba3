"""Which activation the outputs of a model end in."""

from typing import Any

import keras

from keras_zigzag.graphs import is_graph_model
from keras_zigzag.of_keras import is_of_keras

# Layers and operations that only move values or take means of them: what
# goes in as logits or as probabilities comes out as such.
TRANSPARENT = (
    "Identity",
    "Reshape",
    "Flatten",
    "Permute",
    "Transpose",
    "Squeeze",
    "ExpandDims",
    "Cast",
    "Dropout",
    "ActivityRegularization",
    "Stack",
    "StackHeads",
    "TakeHead",
    "Concatenate",
    "Average",
    *(
        f"{kind}{rank}D"
        for kind in (
            "Cropping",
            "UpSampling",
            "AveragePooling",
            "GlobalAveragePooling",
        )
        for rank in (1, 2, 3)
    ),
)
OPERATIONS = {
    "Softmax": "softmax",
    "Sigmoid": "sigmoid",
    "LogSoftmax": "log_softmax",
}
LOGITS = ("linear", "log_softmax")


def output_activations(model: keras.Model) -> list[str | None]:
    """Activation of each output of a model.

    Args:
        model: Functional or Sequential model.

    Returns:
        List with `"linear"`, `"softmax"`, `"sigmoid"`, … for each output in
        the order in which Keras flattens them; `None` where it is unknown,
        for example behind a layer of the user's own.
    """
    return [_activation(tensor) for tensor in model.outputs]


def gives_logits(activation: str | None) -> bool:
    """Whether outputs that end so are logits; unknown ones are not."""
    return activation in LOGITS


def _activation(tensor: Any) -> str | None:
    called, node, index = tensor._keras_history
    is_wrapper = isinstance(called, keras.layers.TimeDistributed)
    layer = called.layer if is_wrapper else called
    if is_graph_model(layer):
        return _activation(layer.outputs[index])
    kind = type(layer).__name__
    if kind in OPERATIONS and is_of_keras(layer):
        return OPERATIONS[kind]
    activation = getattr(layer, "activation", None)
    name = getattr(activation, "__name__", None)
    # `Activation("linear", dtype="float32")` after a softmax is how a
    # mixed-precision model returns float32.
    passes_on = kind in TRANSPARENT or (
        isinstance(layer, keras.layers.Activation) and name == "linear"
    )
    return _before(called, node) if passes_on else name


def _before(layer: Any, node: int) -> str | None:
    """The activation of what a call of a layer reads, if it is but one."""
    inputs = layer._inbound_nodes[node].input_tensors
    found = {_activation(tensor) for tensor in inputs}
    return found.pop() if len(found) == 1 else None
