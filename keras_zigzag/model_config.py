"""What the constructors, configs and signatures of all models share."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

import keras

KERAS_OPTIONS = ("name", "dtype", "trainable")


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
    unknown = sorted(set(kwargs) - set(KERAS_OPTIONS))
    if not unknown:
        return
    expected = sorted({*signature(method).parameters} - {"kwargs"})
    hint = (hints or {}).get(unknown[0], "")
    raise ValueError(
        f"Unknown arguments. Expected: {expected}, and `name`, `dtype` and "
        f"`trainable` of a Keras model. Received: {unknown}.{hint}"
    )


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


def deserialized(
    config: dict[str, Any], names: tuple[str, ...], custom_objects: Any
) -> dict[str, Any]:
    """A config with the objects in the place of their own configs."""
    config = dict(config)

    def deserialize(one: Any) -> Any:
        return keras.saving.deserialize_keras_object(
            one, custom_objects=custom_objects
        )

    for name in (*names, "dtype"):
        value = config.get(name)
        if isinstance(value, dict):
            config[name] = deserialize(value)
        elif isinstance(value, list):
            config[name] = [deserialize(one) for one in value]
    return config
