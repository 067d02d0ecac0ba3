"""What the pictures are given: names, and numbers that can be drawn."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_zigzag.metrics.inputs import (
    Array,
    as_numbers,
    as_weight,
    flat,
    where_there,
)


def named(values: Any, default: str, what: str) -> dict[str, Any]:
    """Arrays by name, from such a dictionary or from a single array."""
    if not isinstance(values, Mapping):
        return {default: values}
    if not values:
        raise ValueError(
            f"`{what}` must hold at least one array by name. "
            f"Received: {what}={values!r}"
        )
    return {str(name): array for name, array in values.items()}


def present(
    sample_weight: Any, values: Any, scores: Mapping[str, Any]
) -> tuple[Any, Any, dict[str, Any]]:
    """The same without samples of weight 0, which are not there.

    Args:
        sample_weight: Array of one weight per sample, or `None`.
        values: Array of one value per sample, unchecked.
        scores: Dictionary from names to such arrays, unchecked.

    Returns:
        Tuple of the weight, checked, the values and the scores.
    """
    weight, values, *kept = where_there(
        as_weight(sample_weight), values, *scores.values()
    )
    return weight, values, dict(zip(scores, kept, strict=True))


def finite_samples(**arrays: Any) -> tuple[list[Array], int]:
    """Samples that are finite in all arrays, and how many are not.

    Args:
        **arrays: Arrays of one shape, by the names that the errors use.

    Returns:
        List of arrays of shape `(num_finite,)`, float64, and the number of
        samples left out.
    """
    columns = flat(
        **{
            name: as_numbers(values, name).astype("float64")
            for name, values in arrays.items()
        }
    )
    is_finite = np.all([np.isfinite(column) for column in columns], axis=0)
    check_any_finite(is_finite, *arrays)
    num_left_out = len(is_finite) - int(is_finite.sum())
    return [column[is_finite] for column in columns], num_left_out


def check_any_finite(is_finite: Array, *names: str) -> None:
    if not is_finite.any():
        listed = ", ".join(f"`{name}`" for name in names)
        raise ValueError(
            f"Nothing to draw: {listed} must have a finite value. "
            f"Received: {is_finite.size} value(s), none of them finite."
        )


def left_out(num: int, total: int) -> str:
    """What a picture says of samples that it cannot show."""
    return f"{num:,} of {total:,} not finite, left out"


def with_left_out(name: str, values: Array) -> str:
    """A name for the legend, with how many values leave a gap."""
    num_bad = int(np.count_nonzero(~np.isfinite(values)))
    if not num_bad:
        return name
    return f"{name} ({left_out(num_bad, len(values))})"


def check_length(name: str, given: int, other: str, expected: int) -> None:
    if given != expected:
        raise ValueError(
            f"`{name}` and `{other}` must have the same length. "
            f"Received: {given} and {expected}."
        )
