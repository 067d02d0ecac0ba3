"""Checks of the data that a user hands to a model, before Keras sees it."""

import itertools
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import ops


def check_not_empty(x: Any) -> None:
    """Raises a `ValueError` for arrays without samples."""
    for array in keras.tree.flatten(x) if _is_data(x) else []:
        if len(array.shape) > 0 and array.shape[0] == 0:
            raise ValueError(
                "There are no samples. "
                f"Received: an array of shape {tuple(array.shape)}."
            )


def first_targets(x: Any, y: Any) -> tuple[Any, Any]:
    """The targets that can be checked before training starts.

    Args:
        x: Inputs, or a data set.
        y: Targets, or `None`.

    Returns:
        `x` to go on with, and all targets of arrays, the first batch of
        targets of a data set, or `None`.
    """
    if y is not None:
        return x, _as_numpy(y)
    if _is_data(x):
        return x, None
    if isinstance(x, keras.utils.PyDataset):
        return x, _targets_of(x[0])
    if isinstance(x, Iterator):
        # The batch that was looked at goes back in front.
        batch = next(x, None)
        rest = itertools.chain([] if batch is None else [batch], x)
        return rest, _targets_of(batch)
    try:
        return x, _targets_of(next(iter(x), None))
    except TypeError:
        return x, None


def _is_data(x: Any) -> bool:
    """Whether these are arrays or tensors rather than a data set."""
    leaves = keras.tree.flatten(x)
    return bool(leaves) and all(
        isinstance(leaf, np.ndarray) or ops.is_tensor(leaf) for leaf in leaves
    )


def _targets_of(batch: Any) -> Any:
    if not isinstance(batch, (list, tuple)) or len(batch) < 2:
        return None
    return _as_numpy(batch[1])


def _as_numpy(targets: Any) -> Any:
    def convert(leaf: Any) -> np.ndarray:
        if ops.is_tensor(leaf):
            return ops.convert_to_numpy(leaf)
        return np.asarray(leaf)

    if isinstance(targets, dict):
        return {name: convert(leaf) for name, leaf in targets.items()}
    if isinstance(targets, (list, tuple)) and any(
        hasattr(leaf, "shape") for leaf in targets
    ):
        return [convert(leaf) for leaf in targets]
    return convert(targets)
