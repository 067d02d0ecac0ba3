"""Which activation the outputs of a model end in."""

from typing import Any

import keras


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


def _activation(tensor: Any) -> str | None:
    layer, _, index = tensor._keras_history
    if isinstance(layer, keras.Function):
        return _activation(layer.outputs[index])
    if isinstance(layer, keras.Sequential):
        return _activation(layer.outputs[0])
    if isinstance(layer, keras.layers.Softmax):
        return "softmax"
    activation = getattr(layer, "activation", None)
    if activation is None:
        return _of_operation(layer, tensor)
    name = getattr(activation, "__name__", None)
    if name == "linear" and isinstance(layer, keras.layers.Activation):
        # `Activation("linear", dtype="float32")` after a softmax is how a
        # mixed-precision model returns float32.
        return _activation(layer.input)
    return name


TRANSPARENT = (
    "Identity",
    "Reshape",
    "Flatten",
    "Squeeze",
    "ExpandDims",
    "Cast",
)


def _of_operation(operation: Any, tensor: Any) -> str | None:
    kind = type(operation).__name__
    if kind in ("Softmax", "Sigmoid"):
        return kind.lower()
    if kind in TRANSPARENT:
        return _activation(operation.input)
    return None
