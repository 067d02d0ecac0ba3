"""Models inside models, gone through layer by layer.

A call of a model does more than to run its graph: its inputs may be given by
name, they take the types and the number of axes of its own, the mask of the
call becomes theirs, and `training` goes on to its layers.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_zigzag.graphs import functional_view, run_graph, takes_training

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class InnerInput(keras.layers.Layer):
    """What a model makes of one of its inputs when it is called.

    Args:
        to: String. The type of the input of the model.
        rank: Integer. How many axes it has. A last axis of one is added or
            taken away.
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: tensor, or list of it and of the mask with which the model is
        called, which takes the place of its own.
    """

    def __init__(self, to: str, rank: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.to = to
        self.rank = rank
        self.supports_masking = True
        self.autocast = False

    def call(self, inputs: Any) -> Tensor:
        x = inputs[0] if isinstance(inputs, (list, tuple)) else inputs
        if len(x.shape) == self.rank + 1:
            x = ops.squeeze(x, axis=-1)
        elif len(x.shape) == self.rank - 1:
            x = ops.expand_dims(x, axis=-1)
        return ops.cast(x, self.to)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if isinstance(inputs, (list, tuple)):
            return ops.cast(inputs[1], "bool")
        return mask

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"to": self.to, "rank": self.rank}


def enter_inner(tensor: Tensor, known: Tensor, mask: Tensor = None) -> Tensor:
    """A tensor as the layers of a model see it that is called on it.

    Args:
        tensor: Tensor, symbolic or not, or `None` for an input left out.
        known: Symbolic tensor, the input of the model.
        mask: Mask with which the model is called, or `None`.
    """
    if tensor is None:
        return None
    to = keras.backend.standardize_dtype(known.dtype)
    is_same = keras.backend.standardize_dtype(tensor.dtype) == to
    rank = len(known.shape)
    if mask is None and is_same and len(tensor.shape) == rank:
        return tensor
    layer = InnerInput(to, rank, dtype="float32")
    return layer(tensor if mask is None else [tensor, mask])


def call_layer(layer: Any, *args: Any, **kwargs: Any) -> Any:
    return layer(*args, **kwargs)


def run_inner(
    model: Any,
    args: tuple,
    kwargs: dict[str, Any],
    call: Callable[..., Any] = call_layer,
    enter: Callable[[Any, Any, Any], Any] | None = enter_inner,
) -> Any:
    """Goes through the graph of an inner model as a call of it does.

    Args:
        model: Functional or Sequential model.
        args: Positional arguments of the call.
        kwargs: The others.
        call: Function of `(layer, *args, **kwargs)`, see `run_graph`.
            Defaults to what calls the layer, so that the graph of the model
            joins the outer one.
        enter: What makes inputs of the model of those of the call, see
            `enter_inner`, or `None` if they are no tensors.

    Returns:
        What takes the place of the model's outputs, in their structure.
    """
    view = functional_view(model)
    inputs, training, mask = _of_call(*args, **kwargs)
    flat = keras.tree.flatten(in_their_places(view, inputs))
    if enter is not None:
        masks = keras.tree.flatten(mask)
        # One mask may be given for several inputs, and is that of the first.
        masks += [None] * (len(flat) - len(masks))
        flat = list(map(enter, flat, view.inputs, masks))

    def call_in_it(layer: Any, *args: Any, **kwargs: Any) -> Any:
        # What a model is called with, as a backbone that is not to be
        # trained is, it calls its layers with.
        if training is not None and takes_training(layer):
            kwargs["training"] = training
        return call(layer, *args, **kwargs)

    return run_graph(view, flat, call_in_it)


def in_their_places(model: keras.Model, inputs: Any) -> Any:
    """Inputs that are given by name in the structure of the model's own."""
    if not isinstance(inputs, dict):
        return inputs
    view = functional_view(model)
    if isinstance(view.input, dict):
        return inputs
    found = [inputs[tensor.name] for tensor in view.inputs]
    return found if isinstance(view.input, (list, tuple)) else found[0]


def inputs_of_call(args: tuple, kwargs: dict[str, Any]) -> Any:
    """The inputs among the arguments with which a model is called."""
    return _of_call(*args, **kwargs)[0]


def _of_call(
    inputs: Any, training: bool | None = None, mask: Any = None
) -> tuple[Any, bool | None, Any]:
    return inputs, training, mask
