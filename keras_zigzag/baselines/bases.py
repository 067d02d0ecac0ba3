"""From the user's base model to a network of the method's own."""

from typing import Any

import keras

from keras_zigzag.graphs import copy_layer, copy_state, is_graph_model


def copy_base(base: Any) -> keras.Model:
    """A copy with the weights of a model, which is left as it is.

    Args:
        base: Sequential or Functional model, built.

    Raises:
        ValueError: If it is something else, or cannot be copied.
    """
    check_graph(base)
    copy = copy_layer(base)
    copy_state(base, copy)
    return copy


def check_graph(base: Any) -> None:
    """Raises a `ValueError` unless the layers of a model are known."""
    if not isinstance(base, keras.Model):
        raise ValueError(
            "The base model must be a `keras.Model`. "
            f"Received: base={base!r} of type `{type(base).__name__}`."
        )
    if isinstance(base, keras.Sequential) and not (base.built and base.inputs):
        raise ValueError(
            "The base model has no known input shape. Start it with "
            "`keras.Input(shape)`, or call it on a batch first. "
            f"Received: the unbuilt Sequential model {base.name!r}."
        )
    if not is_graph_model(base):
        raise ValueError(
            "The base model must be a Sequential or Functional model, since "
            "it is copied layer by layer. "
            f"Received: the subclassed model `{type(base).__name__}`. Write "
            "it with the Functional API."
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


def check_options(kwargs: dict[str, Any]) -> None:
    """Raises a `ValueError` for what is no argument of a Keras model."""
    unknown = sorted(set(kwargs) - {"name", "dtype", "trainable"})
    if unknown:
        raise ValueError(
            "Unknown arguments. Expected: those of the method, and `name`, "
            f"`dtype` and `trainable` of a Keras model. Received: {unknown}."
        )


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
