"""Checks of what the metrics are given; everything else is pure formula."""

from typing import Any, Literal

import numpy as np

from keras_zigzag.number_checks import checked_number

Array = np.ndarray
NanPolicy = Literal["raise", "worst"]


def as_numbers(values: Any, name: str) -> Array:
    """An array of real numbers, from whatever NumPy can read.

    Args:
        values: Array, tensor, table column or nested list.
        name: String. What the errors call it.

    Returns:
        Array of at least one axis, Boolean, integer or floating point.
    """
    # `np.asarray` would show what the mask hides.
    if np.ma.is_masked(values):
        raise ValueError(
            f"`{name}` must not have masked values; leave these samples out, "
            "or give them the weight 0. Received: "
            f"{np.ma.count_masked(values)} masked of {values.size}."
        )
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        array = _from_other_kind(array, name)
    if array.ndim == 0:
        raise ValueError(
            f"`{name}` must have one value per sample. "
            f"Received: the single value {values!r}."
        )
    if array.size == 0:
        raise ValueError(
            f"`{name}` must hold at least one sample. "
            f"Received: an array of shape {array.shape}."
        )
    return array


def as_finite(values: Any, name: str) -> Array:
    """Numbers as float64, without NaN and infinity."""
    array = as_numbers(values, name).astype("float64", copy=False)
    # A finite sum has finite terms, and costs no array of its own.
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    if not np.isfinite(total):
        bad = array.size - np.count_nonzero(np.isfinite(array))
        what = f"{bad} such values of {array.size}" if bad else "a sum too big"
        raise ValueError(
            f"`{name}` must not hold NaN or infinity. Received: {what}."
        )
    return array


def as_errors(values: Any, name: str = "absolute_error") -> Array:
    """Finite numbers that are not negative."""
    array = as_finite(values, name)
    if array.min() < 0:
        raise ValueError(
            f"`{name}` must not be negative. "
            f"Received: a smallest value of {array.min()}."
        )
    return array


def as_correct(values: Any) -> Array:
    """One Boolean per sample: whether the prediction is right."""
    return as_booleans(
        values,
        "correct",
        "say for each sample whether the prediction is right, as Booleans or "
        "as 0 and 1; compare labels with predictions first",
    )


def as_booleans(values: Any, name: str, requirement: str) -> Array:
    """One Boolean per sample, from Booleans or from 0 and 1."""
    array = as_numbers(values, name)
    if array.dtype.kind != "b":
        is_one = array == 1
        if not np.all(is_one | (array == 0)):
            raise ValueError(
                f"`{name}` must {requirement}. "
                f"Received: values from {array.min()} to {array.max()}."
            )
        array = is_one
    return array


def as_scores(
    values: Any,
    name: str = "uncertainty",
    nan_policy: NanPolicy = "raise",
) -> Array:
    """Scores in a type of their own; infinity ranks, NaN only on request."""
    check_nan_policy(nan_policy)
    array = as_numbers(values, name)
    num_nan = int(np.count_nonzero(array != array))
    if num_nan and nan_policy == "raise":
        raise ValueError(
            f"`{name}` must not hold NaN; `nan_policy='worst'` ranks it as "
            f"most uncertain. Received: {num_nan} NaN of {array.size}. Where "
            "it is NaN because nothing is there, as at padding, leave these "
            "places out instead: `values[mask]` of all that is given."
        )
    return array


def check_nan_policy(nan_policy: str) -> None:
    """Raises a `ValueError` unless it is one of the two."""
    if nan_policy not in ("raise", "worst"):
        raise ValueError(
            "`nan_policy` must be 'raise' or 'worst'. "
            f"Received: nan_policy={nan_policy!r}"
        )


def as_weight(values: Any, name: str = "sample_weight") -> Array | None:
    """Finite weights that are not negative and not all zero, or `None`."""
    if values is None:
        return None
    array = as_errors(values, name)
    if not array.any():
        raise ValueError(
            f"`{name}` must not be zero everywhere. "
            f"Received: {array.size} zeros."
        )
    return array


def where_there(weight: Array | None, *values: Any) -> list[Any]:
    """The weight and the values without samples of weight 0.

    These are not there, and what stands in their place, such as NaN at
    padding, is nothing to be checked.

    Args:
        weight: What `as_weight` returned.
        *values: Arrays, unchecked, with the axes of the weight or more. If
            one of them has others, all are returned as they are, for `flat`
            to refuse.

    Returns:
        List of the weight and of the values.
    """
    if weight is None or weight.all():
        return [weight, *values]
    # A mask may hide what is not there.
    arrays = [np.asanyarray(one) for one in values]
    if any(one.shape[: weight.ndim] != weight.shape for one in arrays):
        return [weight, *values]
    kept = weight != 0
    return [weight[kept], *(one[kept] for one in arrays)]


def flat(**arrays: Array | None) -> list[Any]:
    """The arrays with a single axis, after a check that their shapes agree.

    Without it, `(N, 1)` against `(N,)` would broadcast to `(N, N)`.

    Args:
        **arrays: Arrays by the names that the error uses, or `None`.

    Returns:
        List of arrays of one axis, `None` where there was none.
    """
    shapes = {k: a.shape for k, a in arrays.items() if a is not None}
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"`{k}` of shape {s}" for k, s in shapes.items())
        raise ValueError(
            f"There must be one value per sample in each. Received: {listed}."
        )
    return [
        None if array is None else array.ravel() for array in arrays.values()
    ]


def loss_arrays(
    loss: Any,
    uncertainty: Any,
    sample_weight: Any,
    nan_policy: NanPolicy,
    name: str = "loss",
) -> list[Any]:
    """Losses, scores and weights with a single axis, checked."""
    weight, loss, uncertainty = where_there(
        as_weight(sample_weight), loss, uncertainty
    )
    return flat(
        **{
            name: as_finite(loss, name),
            "uncertainty": as_scores(uncertainty, nan_policy=nan_policy),
            "sample_weight": weight,
        }
    )


def error_arrays(
    absolute_error: Any,
    uncertainty: Any,
    sample_weight: Any,
    nan_policy: NanPolicy = "raise",
) -> list[Any]:
    """As `loss_arrays`, of errors that are not negative."""
    error, score, weight = loss_arrays(
        absolute_error, uncertainty, sample_weight, nan_policy, "absolute_error"
    )
    return [as_errors(error), score, weight]


def as_fraction(value: float, name: str) -> float:
    """A number in `(0, 1]`."""
    return checked_number(name, value, lambda one: 0 < one <= 1, "be in (0, 1]")


def _from_other_kind(array: Array, name: str) -> Array:
    # Columns of tables come as objects, bfloat16 as a type of its own.
    has_text = array.dtype.kind in "USmMc" or (
        array.dtype.kind == "O"
        and any(isinstance(value, (str, bytes)) for value in array.ravel())
    )
    try:
        if not has_text:
            return array.astype("float64")
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"`{name}` must hold real numbers. "
        f"Received: an array of type {array.dtype}."
    )
