"""Copies of layers and models, and of what they have learnt."""

import tempfile
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.graphs import (
    input_like,
    is_graph_model,
    layers_in_order,
    plain_functional,
    sublayers,
)


def copy_layer(
    layer: Any,
    built: bool = True,
    copy_inner: Callable[[Any], Any] | None = None,
) -> Any:
    """A new layer of the same class and config, without its weights.

    Args:
        layer: Layer, model or operation.
        built: Boolean. Whether the layers inside a layer are built for the
            shapes they had. Defaults to `True`.
        copy_inner: Function that copies the layers inside a model. Defaults
            to this one.

    Raises:
        ValueError: If the layer cannot be made from its config.
    """
    try:
        if is_graph_model(layer):
            return _copy_model(layer, copy_inner or copy_layer, {})
        if isinstance(layer, keras.layers.Lambda):
            return _copy_lambda(layer)
        config = _without(layer.get_config(), "compile_config")
        return layer.__class__.from_config(config if built else unbuilt(config))
    except Exception as error:
        if not isinstance(layer, keras.layers.Layer):
            return layer  # An operation without weights can be used twice.
        raise ValueError(
            "A model is copied layer by layer, through `get_config` and "
            f"`from_config`. Received: a layer {layer.name!r} of class "
            f"`{type(layer).__name__}` that cannot be made from its config "
            f"({error}). Implement `get_config` so that it lists the "
            "arguments of the constructor."
        ) from error


def _copy_model(
    model: Any, copy_inner: Callable[[Any], Any], copies: dict[int, Any]
) -> Any:
    """A copy of a model that is not compiled; `copies` are those by id."""

    def copy(layer: Any) -> Any:
        if id(layer) not in copies:
            copies[id(layer)] = (
                _copy_model(layer, copy_inner, copies)
                if is_graph_model(layer)
                else copy_inner(layer)
            )
        return copies[id(layer)]

    if not isinstance(model, keras.Sequential):
        return keras.models.clone_model(
            plain_functional(model),
            # Those of Keras forget what is optional.
            input_tensors=keras.tree.map_structure(input_like, model.input),
            clone_function=copy,
        )
    layers = [input_like(model.inputs[0]), *map(copy, model.layers)]
    return keras.Sequential(layers, name=model.name, trainable=model.trainable)


def unbuilt(config: Any) -> Any:
    """A config without the shapes for which the layers in it were built."""
    return _without(config, "build_config")


def _without(config: Any, left_out: str) -> Any:
    if isinstance(config, dict):
        return {
            key: _without(value, left_out)
            for key, value in config.items()
            if key != left_out
        }
    if isinstance(config, list):
        return [_without(value, left_out) for value in config]
    return config


def _copy_lambda(layer: Any) -> Any:
    # Keras makes no Lambda from a config that may come from a stranger. The
    # functions of this one are at hand.
    functions = {
        "function": layer.function,
        "mask": layer.mask,
        "output_shape": layer._output_shape,
    }
    return type(layer)(**(layer.get_config() | functions))


def copy_state(source: Any, target: Any) -> None:
    """Copies weights, assets and what is frozen, between layers alike.

    Where a weight of the target is larger, what it has more is zero.

    Args:
        source: Layer, model or operation.
        target: A copy of it, built.
    """
    if not isinstance(source, keras.layers.Layer):
        return
    if is_graph_model(source):
        for layer in source.layers:
            # A clone gives its inputs names of their own.
            if not isinstance(layer, keras.layers.InputLayer):
                copy_state(layer, target.get_layer(layer.name))
        return
    for old, new in zip(sublayers(source), sublayers(target), strict=True):
        _copy_own_state(old, new)
    # A config tells of the outer layer only that it is frozen.
    copy_trainable(source, target)


def copy_trainable(source: Any, target: Any) -> None:
    """Freezes the layers and weights in a copy that are so in the source."""
    set_trainable(target, trainable_flags(source))


def trainable_flags(layer: Any) -> dict[str, list[bool]]:
    """Which layers and weights in a layer learn, in the order it has them."""
    return {
        "layers": [bool(one.trainable) for one in sublayers(layer)],
        "weights": [bool(one.trainable) for one in layer.variables],
    }


def set_trainable(layer: Any, flags: dict[str, list[bool]]) -> None:
    """Freezes what `trainable_flags` of a layer alike said is frozen."""
    parts = {"layers": sublayers(layer), "weights": layer.variables}
    for name, ones in parts.items():
        for one, flag in zip(ones, flags[name], strict=True):
            if one.trainable != flag:
                one.trainable = flag


def has_frozen_parts(model: Any) -> bool:
    """Whether a layer of a graph has frozen layers in it.

    Its config tells only whether the outer one is frozen.
    """
    return is_graph_model(model) and any(
        not part.trainable
        for layer in layers_in_order(model)
        if isinstance(layer, keras.layers.Layer) and not is_graph_model(layer)
        for part in sublayers(layer)[1:]
    )


def copy_frozen_state(source: Any, target: Any) -> None:
    """As `copy_state`, of what in a layer has nothing to learn."""
    for old, new in zip(sublayers(source), sublayers(target), strict=True):
        if not old.trainable_weights:
            _copy_own_state(old, new)
    copy_trainable(source, target)


def _copy_own_state(old: Any, new: Any) -> None:
    _copy_variables(old, new)
    if hasattr(old, "save_assets"):
        with tempfile.TemporaryDirectory() as folder:
            old.save_assets(folder)
            new.load_assets(folder)


def _copy_variables(old: Any, new: Any) -> None:
    # Through the hooks of saving, which normalisation and lookup layers use
    # to bring what they derive from their weights up to date.
    kept: dict[str, Any] = {}
    fresh: dict[str, Any] = {}
    old.save_own_variables(kept)
    new.save_own_variables(fresh)
    if not kept:
        return
    depthwise = getattr(new, "depthwise_kernel", None)
    new.load_own_variables(
        {
            name: _padded(value, fresh[name], keep=fresh[name] is depthwise)
            for name, value in kept.items()
        }
    )


def _padded(value: Any, like: Any, keep: bool) -> np.ndarray:
    value, like = ops.convert_to_numpy(value), ops.convert_to_numpy(like)
    if value.shape == like.shape:
        return value
    # A depthwise kernel has a pointwise one behind it: if both were zero, no
    # gradient would reach either of them.
    padded = like.copy() if keep else np.zeros_like(like)
    padded[tuple(slice(size) for size in value.shape)] = value
    return padded
