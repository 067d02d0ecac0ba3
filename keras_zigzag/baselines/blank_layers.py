"""A layer as another one, which starts at zero and is free to learn."""

from typing import Any

import keras
import numpy as np

from keras_zigzag.copying import unbuilt
from keras_zigzag.of_keras import is_of_keras

# A depthwise kernel has a pointwise one behind it: if both were zero, no
# gradient would reach either of them.
KERNELS = ("kernel", "pointwise_kernel")
OF_THE_OUTPUTS = (
    "activity_regularizer",
    "bias_constraint",
    "depthwise_constraint",
    "kernel_constraint",
    "lora_rank",
    "pointwise_constraint",
)


def makes_values(layer: Any) -> bool:
    """Whether a layer makes its outputs with a kernel, frozen or not.

    One that scales features one by one does not, and a recurrent layer has
    activations of its own in between. Of a layer of the user's own a weight
    with several axes tells.
    """
    layer = _wrapped(layer)[-1]
    if isinstance(layer, keras.layers.RNN):
        return False
    if is_of_keras(layer):
        return any(getattr(layer, name, None) is not None for name in KERNELS)
    return any(len(weight.shape) > 1 for weight in layer.weights)


def call_blank(layer: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """Calls a linear layer of the same class and shape, all of it zero.

    What the other one was given for the sake of its outputs, such as a
    constraint or a start of its bias, is left out.

    Args:
        layer: Layer for which `makes_values` holds.
        name: String. Name of the new layer.
        args: What it is called with.
        kwargs: The same by name.
    """
    config = unbuilt(layer.get_config()) | {"name": name}
    blank = type(layer).from_config(config)
    chain = _wrapped(blank)
    for one in chain:
        _set_free(one)
    outputs = blank(*args, **kwargs)
    for weight_name in (*KERNELS, "bias"):
        weight = getattr(chain[-1], weight_name, None)
        if isinstance(weight, keras.Variable):
            weight.assign(np.zeros(weight.shape))
    return outputs


def _wrapped(layer: Any) -> list[Any]:
    """The layer and those that it wraps, the innermost last."""
    chain = [layer]
    while isinstance(chain[-1], keras.layers.Wrapper):
        chain.append(chain[-1].layer)
    return chain


def _set_free(layer: Any) -> None:
    if not layer.trainable:
        layer.trainable = True
    for name in OF_THE_OUTPUTS:
        if getattr(layer, name, None) is not None:
            setattr(layer, name, None)
    if hasattr(layer, "activation"):
        layer.activation = keras.activations.linear
