"""What the constructors, configs and signatures of all models share."""

import contextlib
from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

import keras

from keras_zigzag.copying import (
    has_frozen_parts,
    set_trainable,
    trainable_flags,
)

KERAS_OPTIONS = ("name", "dtype", "trainable")
SHARED_OPTIONS = ("aggregate",)
# Beside the config of a model: what in it learns.
TRAINABLE = "trainable"


def check_options(
    kwargs: dict[str, Any], method: type, hints: Mapping[str, str] | None = None
) -> None:
    """Raises a `ValueError` for what is no argument of a model.

    Args:
        kwargs: What the constructor was given beside its own arguments.
        method: Class of the model.
        hints: Dictionary from arguments that are often tried here to what to
            do with them, or `None`.
    """
    unknown = sorted(set(kwargs) - {*KERAS_OPTIONS, *SHARED_OPTIONS})
    if not unknown:
        return
    expected = sorted({*argument_names(method), *SHARED_OPTIONS})
    hint = (hints or {}).get(unknown[0], "")
    raise ValueError(
        f"Unknown arguments. Expected: {expected}, and `name`, `dtype` and "
        f"`trainable` of a Keras model. Received: {unknown}.{hint}"
    )


def argument_names(kind: type) -> list[str]:
    """The named arguments of a constructor."""
    return [
        name
        for name, one in signature(kind).parameters.items()
        if one.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    ]


def fit_options(args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """What `fit` was given after `x` and `y`, by name."""
    # With `self`, `x` and `y` in front; a `TypeError` is that of `fit`.
    bound = signature(keras.Model.fit).bind(None, None, None, *args, **kwargs)
    return dict(list(bound.arguments.items())[3:])


def input_specs(inputs: Any) -> list[Any]:
    """`keras.InputSpec` of symbolic inputs, with a free batch size."""
    return [
        keras.tree.map_structure(
            lambda tensor: keras.InputSpec(
                shape=(None, *tensor.shape[1:]),
                dtype=tensor.dtype,
                name=tensor.name,
            ),
            inputs,
        )
    ]


def own_config(model: Any) -> dict[str, Any]:
    """The arguments of a model's constructor, which it holds by these names.

    Models among them are serialised.
    """
    names = argument_names(type(model))
    return {name: serialized(getattr(model, name)) for name in names}


def serialized(one: Any) -> Any:
    """Models, also in lists, as their configs; other things as they are."""
    if isinstance(one, keras.Model):
        config = keras.saving.serialize_keras_object(one)
        if has_frozen_parts(one):
            config[TRAINABLE] = trainable_flags(one)
        return config
    if isinstance(one, (list, tuple)):
        return [serialized(each) for each in one]
    return one


def deserialized(config: Any, custom_objects: Any = None) -> Any:
    """A config with the objects in the place of their own configs."""
    if isinstance(config, list):
        return [deserialized(one, custom_objects) for one in config]
    if not isinstance(config, dict):
        return config
    if {"class_name", "config"} <= set(config):
        made = keras.saving.deserialize_keras_object(
            config, custom_objects=custom_objects
        )
        if TRAINABLE in config:
            # A layer may make further layers only when it is called again.
            with contextlib.suppress(ValueError):
                set_trainable(made, config[TRAINABLE])
        return made
    return {
        name: deserialized(one, custom_objects) for name, one in config.items()
    }
