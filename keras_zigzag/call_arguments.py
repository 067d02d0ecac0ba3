"""The arguments of a call of a layer, and the features among them."""

import inspect
from typing import Any

import keras

from keras_zigzag.graphs import is_float, keras_tensors

Arguments = tuple[tuple, dict]


def first_features(layer: Any, arguments: Arguments) -> Any:
    """The first tensor of floats among the arguments of a call."""
    for tensor in keras_tensors(in_order(layer, arguments)):
        if is_float(tensor) and len(tensor.shape) > 1:
            return tensor
    return None


def in_order(layer: Any, arguments: Arguments) -> tuple[tuple, list]:
    """Arguments in the order in which the layer takes them.

    The query of an attention comes before its key, whichever way they are
    written.
    """
    args, kwargs = arguments
    return args, [kwargs[name] for name in ordered_names(layer, kwargs)]


def ordered_names(layer: Any, kwargs: dict) -> list[str]:
    names = list(inspect.signature(layer.call).parameters)
    known = [name for name in names if name in kwargs]
    return known + [name for name in kwargs if name not in known]


def replace(
    layer: Any, arguments: Arguments, old: Any, new: Any, once: bool = False
) -> Arguments:
    """The arguments with `new` in the place of `old`."""
    left = 1 if once else len(keras.tree.flatten(arguments))

    def swap(leaf: Any) -> Any:
        nonlocal left
        if leaf is old and left > 0:
            left -= 1
            return new
        return leaf

    args, values = keras.tree.map_structure(swap, in_order(layer, arguments))
    names = ordered_names(layer, arguments[1])
    return args, dict(zip(names, values, strict=True))
