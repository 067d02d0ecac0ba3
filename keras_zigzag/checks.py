"""Checks of the data that a user hands to a model, before Keras sees it."""

import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras
import numpy as np
from keras import ops


def check_not_empty(x: Any) -> None:
    """Raises a `ValueError` for arrays without samples."""
    for array in keras.tree.flatten(x) if is_data(x) else []:
        if np.ndim(array) > 0 and array.shape[0] == 0:
            raise ValueError(
                "There are no samples. "
                f"Received: an array of shape {tuple(array.shape)}."
            )


def check_same_size(**parts: Any) -> None:
    """Raises a `ValueError` unless arrays have as many samples as others.

    Args:
        **parts: Structures of arrays, or `None`, by what they are called.
    """
    sizes = {
        name: sorted(
            {len(leaf) for leaf in keras.tree.flatten(part) if leaf is not None}
        )
        for name, part in parts.items()
    }
    if len({size for found in sizes.values() for size in found}) > 1:
        given = ", ".join(f"{name}: {found}" for name, found in sizes.items())
        raise ValueError(
            "All arrays must have as many samples. "
            f"Received: numbers of samples {given}."
        )


def check_finite(x: Any) -> None:
    """Raises a `ValueError` for arrays of inputs with NaN or infinity."""
    for leaf in keras.tree.flatten(x):
        values = as_array(leaf)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
            raise ValueError(
                "Inputs that something is fitted to must be finite. Received: "
                f"NaN or infinity in {bad.sum()} of {len(values)} samples, "
                f"first in sample {bad.argmax()}."
            )


def checked_data(check: Callable[[Any], None], x: Any, y: Any = None) -> Any:
    """Checks what can be checked before training starts.

    Args:
        check: Function of the targets that raises if they are bad. It gets
            all targets of arrays, the first batch of targets of a data set,
            or `None` if there are none.
        x: Inputs, or a data set.
        y: Targets, or `None`.

    Returns:
        `x` to go on with.

    Raises:
        ValueError: If there are no samples, or from `check`.
    """
    check_not_empty(x)
    if y is not None:
        check(_as_arrays(y))
    elif is_data(x):
        check(None)
    elif isinstance(x, types.GeneratorType):
        batch = _first_batch(x)
        _check_batch(check, batch)
        # The batch that was looked at goes back in front.
        return _with_first(batch, x)
    elif _is_data_set(x):
        # A `tf.data.Dataset` reads ahead unless it is told not to.
        first = x.take(1) if hasattr(x, "take") else x
        _check_batch(check, _first_batch(batches_of(first)))
    return x


def checked_validation(check: Callable[[Any], None], data: Any) -> Any:
    """As `checked_data`, for `validation_data`: `(x, y)` or a data set."""
    if data is None:
        return None
    try:
        if isinstance(data, (tuple, list)):
            checked_data(check, *data[:2])
            return data
        return checked_data(check, data)
    except ValueError as error:
        raise ValueError(f"In `validation_data`: {error}") from error


def batches_of(data: Any) -> Iterator[Any]:
    """The batches of a data set, once."""
    if isinstance(data, keras.utils.PyDataset):
        count = data.num_batches
        places = itertools.count() if count is None else range(count)
        return (data[place] for place in places)
    return iter(data)


def is_endless(data: Any) -> bool:
    """Whether a data set says of itself that it goes on for ever."""
    if isinstance(data, keras.utils.PyDataset):
        return data.num_batches is None
    cardinality = getattr(data, "cardinality", None)
    # -1 is `tf.data.INFINITE_CARDINALITY`.
    return cardinality is not None and int(cardinality()) == -1


def is_array(data: Any) -> bool:
    """Whether this is an array, a tensor or a column of a table."""
    return (
        isinstance(data, np.ndarray)
        or ops.is_tensor(data)
        or (hasattr(data, "__array__") and len(getattr(data, "shape", ())) > 0)
    )


def is_scalar(data: Any) -> bool:
    """Whether this is a single number, of Python or of NumPy."""
    return isinstance(data, (int, float, np.generic))


def is_data(x: Any) -> bool:
    """Whether these are arrays or tensors rather than a data set."""
    leaves = keras.tree.flatten(x)
    return bool(leaves) and all(is_array(leaf) for leaf in leaves)


def as_array(data: Any) -> np.ndarray:
    """Numbers of any kind as a NumPy array."""
    if ops.is_tensor(data):
        return ops.convert_to_numpy(data)
    return np.asarray(data)


def check_is_batch(targets: Any) -> None:
    """Raises a `ValueError` for the targets of a single sample."""
    for leaf in keras.tree.flatten(targets):
        # A list of numbers is a batch that is written out.
        is_number = isinstance(leaf, np.generic)
        shape = None if is_number else getattr(leaf, "shape", None)
        if shape is not None and len(shape) == 0:
            raise ValueError(
                "A data set must give batches of samples. Received: one whose "
                "elements have a single number as their target. Batch it, as "
                "with `.batch(32)`."
            )


def _is_data_set(x: Any) -> bool:
    # Keras says what it makes of anything else.
    return isinstance(x, keras.utils.PyDataset) or (
        isinstance(x, Iterable) and not keras.tree.is_nested(x)
    )


def _first_batch(batches: Iterator[Any]) -> Any:
    try:
        return next(batches)
    except StopIteration:
        raise ValueError(
            "There are no samples. Received: a data set without batches."
        ) from None


def _with_first(batch: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield batch
    yield from rest


def _check_batch(check: Callable[[Any], None], batch: Any) -> None:
    has_targets = isinstance(batch, (list, tuple)) and len(batch) > 1
    targets = batch[1] if has_targets else None
    check_is_batch(targets)
    if targets is None:
        check(None)
    # The batches of a distributed data set are spread over devices, and not
    # for us to read.
    elif all(
        is_array(leaf) or is_scalar(leaf) or isinstance(leaf, str)
        for leaf in keras.tree.flatten(targets)
    ):
        check(_as_arrays(targets))


def _as_arrays(targets: Any) -> Any:
    if isinstance(targets, dict):
        return {name: as_array(leaf) for name, leaf in targets.items()}
    if isinstance(targets, (list, tuple)) and is_data(targets):
        return [as_array(leaf) for leaf in targets]
    return as_array(targets)
