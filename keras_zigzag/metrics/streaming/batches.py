"""A batch, as it comes, as float32 tensors of one axis."""

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
    as_errors,
    as_scores,
    flat,
    where_there,
)


def batch_tensors(
    happened: Any,
    uncertainty: Any,
    sample_weight: Any,
    name: str,
    checked: Callable[[Any], Array],
    nan_policy: NanPolicy,
) -> list[Any]:
    """Tensors of shape `(num_samples,)`, weights of one where there are none.

    What is not a tensor of the backend is checked as the functions do.

    Args:
        happened: Array or tensor of any shape.
        uncertainty: As `happened`, of the same shape.
        sample_weight: As `happened`, or `None`.
        name: String. What the errors call `happened`.
        checked: Function of `happened` that returns an array or raises.
        nan_policy: `"raise"` or `"worst"`.

    Returns:
        List of three tensors.
    """
    given = (happened, uncertainty, sample_weight)
    names = (name, "uncertainty", "sample_weight")
    if any(ops.is_tensor(values) for values in given):
        values = _flat_tensors(dict(zip(names, given, strict=True)))
    else:
        values = _flat_arrays(given, names, checked, nan_policy)
    happened, score, weight = map(_as_float32, values)
    return [happened, score, ops.ones_like(score) if weight is None else weight]


def _flat_arrays(
    given: tuple[Any, ...],
    names: tuple[str, ...],
    checked: Callable[[Any], Array],
    nan_policy: NanPolicy,
) -> list[Any]:
    happened, uncertainty, weight = given
    nothing = [np.zeros(0), np.zeros(0), None]
    if np.size(happened) == np.size(uncertainty) == 0:
        return nothing
    if weight is not None:
        # All of a batch may be 0, if not all of the set.
        weight = as_errors(weight, "sample_weight")
        weight, happened, uncertainty = where_there(
            weight, happened, uncertainty
        )
        if not weight.size:
            return nothing
    score = as_scores(uncertainty, "uncertainty", nan_policy)
    arrays = (checked(happened), score, weight)
    return flat(**dict(zip(names, arrays, strict=True)))


def _flat_tensors(given: dict[str, Any]) -> list[Any]:
    tensors = {
        name: ops.stop_gradient(ops.convert_to_tensor(values))
        for name, values in given.items()
        if values is not None
    }
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    first = next(iter(shapes.values()))
    if not all(_agree(first, shape) for shape in shapes.values()):
        listed = ", ".join(f"`{k}` of shape {s}" for k, s in shapes.items())
        raise ValueError(
            f"There must be one value per sample in each. Received: {listed}."
        )
    return [
        ops.reshape(tensors[name], (-1,)) if name in tensors else None
        for name in given
    ]


def _agree(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    return len(first) == len(second) and all(
        a == b or a is None or b is None
        for a, b in zip(first, second, strict=True)
    )


def _as_float32(values: Any) -> Any:
    if values is None:
        return None
    if isinstance(values, np.ndarray):
        with np.errstate(over="ignore"):
            values = values.astype("float32")
    return ops.cast(ops.convert_to_tensor(values), "float32")
