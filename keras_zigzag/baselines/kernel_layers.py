"""Layers with a kernel, whether they learn or are frozen."""

from typing import Any

import keras

from keras_zigzag.graphs import functional_view, is_graph_model, sublayers


def kernel_layers(model: keras.Model) -> list[Any]:
    """Layers with a kernel, also in inner models, from first to last."""
    found: list[Any] = []
    for layer in functional_view(model).operations:
        if is_graph_model(layer):
            found += [one for one in kernel_layers(layer) if one not in found]
        elif layer not in found and _has_kernel(layer):
            found.append(layer)
    return found


def last_kernel_layers(model: keras.Model, count: int) -> list[Any]:
    """The last layers with a kernel.

    Args:
        model: Functional or Sequential model.
        count: Integer.

    Raises:
        ValueError: If there are not as many.
    """
    found = kernel_layers(model)
    if count > len(found):
        raise ValueError(
            f"The base model has {len(found)} layers with a kernel. "
            f"Received: layers={count}. Give at most as many."
        )
    return found[len(found) - count :]


def _has_kernel(layer: Any) -> bool:
    if not isinstance(layer, keras.layers.Layer):
        return False
    # What is frozen, the public `trainable_weights` leaves out.
    return any(
        len(weight.shape) > 1
        for one in sublayers(layer)
        for weight in one._trainable_variables
    )
