"""What goes into a model, and comes out of it, as arrays on the host."""

from typing import Any

import keras

from keras_zigzag.checks import as_array


def predict_batch(model: Any, x: Any) -> Any:
    """What `model.predict` returns for one batch, as arrays on the host.

    Batch by batch, so that no outputs pile up on the device.
    """
    strategy = getattr(model, "distribute_strategy", None)
    if getattr(strategy, "num_replicas_in_sync", 1) > 1:
        # `predict_on_batch` would give each replica the whole batch.
        size = len(keras.tree.flatten(x)[0])
        return model.predict(x, batch_size=size, verbose=0)
    return host_arrays(model.predict_on_batch(x))


def model_inputs(x: Any) -> Any:
    """Tensors of the backend in use as they are, anything else as arrays."""
    return keras.tree.map_structure(
        lambda leaf: leaf if keras.ops.is_tensor(leaf) else host_arrays(leaf),
        x,
    )


def host_arrays(structure: Any) -> Any:
    """NumPy arrays of a structure of anything that holds numbers."""
    return keras.tree.map_structure(
        lambda leaf: None if leaf is None else as_array(leaf), structure
    )
