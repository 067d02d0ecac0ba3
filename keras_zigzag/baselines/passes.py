"""One pass over data of any kind, before or after a network is trained."""

import itertools
import math
import types
from collections.abc import Iterator
from typing import Any

import keras

from keras_zigzag.batches import rows_of
from keras_zigzag.checks import (
    as_array,
    batches_of,
    check_finite,
    is_data,
    is_endless,
)
from keras_zigzag.host import model_inputs, predict_batch

Batch = tuple[Any, Any, Any]


def batches(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    batch_size: int | None = None,
    steps: int | None = None,
) -> Iterator[Batch]:
    """Batches of `(x, y, sample_weight)`, as arrays or tensors.

    Args:
        x: Inputs, or a data set.
        y: Targets, or `None`.
        sample_weight: Weights, or `None`.
        batch_size: Integer, for arrays. Defaults to `None`, for 32.
        steps: Integer. Number of batches of a data set at most, needed for
            one that does not end. Defaults to `None`.
    """
    if is_data(x):
        data = x, _as_arrays(y), _as_arrays(sample_weight)
        return _slices(data, batch_size or 32)
    if steps is None:
        check_ends(x)
    read = itertools.islice(batches_of(x), steps)
    return map(keras.utils.unpack_x_y_sample_weight, read)


def outputs_on(network: keras.Model, x: Any) -> Any:
    """Outputs of a network for one batch, as arrays on the host.

    Raises:
        ValueError: If the inputs are not finite. Some layers would hide it.
    """
    check_finite(x)
    return predict_batch(network, model_inputs(x))


def check_ends(x: Any) -> None:
    """Raises a `ValueError` for a data set that goes on for ever."""
    if is_endless(x):
        raise ValueError(
            "The data must end. Received: a data set without end. Limit it, "
            "as with `.take(num_batches)`, or say how many steps there are."
        )


def training_inputs(x: Any, options: dict[str, Any]) -> Any:
    """The inputs of `fit` without those that it validates on."""
    split = options.get("validation_split")
    if not split or options.get("validation_data") is not None:
        return x
    if not is_data(x):
        return x
    return rows_of(x, slice(_first_for_validation(x, split)))


def validation_data(x: Any, y: Any, options: dict) -> tuple[tuple, dict] | None:
    """What `fit` validates on, and how `batches` reads it, or `None`."""
    how = {
        "batch_size": options.get("validation_batch_size")
        or options.get("batch_size"),
        "steps": options.get("validation_steps"),
    }
    data = options.get("validation_data")
    if data is not None:
        return tuple(data) if isinstance(data, (tuple, list)) else (data,), how
    split = options.get("validation_split")
    if not split or not is_data(x):
        return None
    rows = slice(_first_for_validation(x, split), None)
    data = x, y, options.get("sample_weight")
    return tuple(rows_of(part, rows) for part in data), how


def check_readable_again(x: Any, instead: str) -> None:
    """Raises a `ValueError` for what can be read only once.

    Args:
        x: Inputs, or a data set.
        instead: String. What to call beforehand or afterwards.
    """
    if isinstance(x, types.GeneratorType):
        raise ValueError(
            "The inputs are read once more than for the epochs. Received: a "
            "generator, which can be read once. Give arrays or a data set, "
            f"or call {instead}."
        )


def _as_arrays(part: Any) -> Any:
    if part is None or is_data(part):
        return part
    return as_array(part)


def _slices(data: Batch, batch_size: int) -> Iterator[Batch]:
    size = len(keras.tree.flatten(data[0])[0])
    for start in range(0, size, batch_size):
        x, y, weight = (
            rows_of(part, slice(start, start + batch_size)) for part in data
        )
        yield x, y, weight


def _first_for_validation(x: Any, split: float) -> int:
    """Keras validates on the samples from this one on."""
    return math.floor(len(keras.tree.flatten(x)[0]) * (1.0 - split))
