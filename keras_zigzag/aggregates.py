"""From one uncertainty per place to one per sample.

A mesh has one uncertainty per node; whether to trust the mesh takes one.
"""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_zigzag.finite import LARGEST_FLOAT32, not_finite, unknown_where

Tensor = Any
Aggregate = Callable[[Tensor, Tensor | None], Tensor]


def mean(uncertainty: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean over the places, as in the paper.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    section 4.

    Args:
        uncertainty: Tensor of shape `(batch_size, ...)`, one number per
            place.
        weight: Tensor of shape `(batch_size, ...)`, or with fewer axes: how
            much each place counts, or whether it is there. Defaults to
            `None`: all count alike.

    Returns:
        Tensor of shape `(batch_size,)`, NaN where no place counts or one that
        counts is NaN.

    Example:

    >>> keras_zigzag.aggregates.mean([[1.0, 3.0, 9.0]], [[1, 1, 0]])
    [2.]
    """
    score, weight = flat(uncertainty, weight)
    counted = ops.where(ops.greater(weight, 0.0), score, 0.0)
    total = ops.sum(weight, axis=-1)
    is_known = ops.greater(total, 0.0)
    result = ops.sum(counted * weight, axis=-1) / ops.where(
        is_known, total, 1.0
    )
    return known(result, score, weight)


def maximum(uncertainty: Tensor, weight: Tensor | None = None) -> Tensor:
    """Largest of the places, that of the worst one.

    Args and returns as for `mean`; the size of a weight above zero does not
    matter.
    """
    score, weight = flat(uncertainty, weight)
    counted = ops.where(ops.greater(weight, 0.0), score, -LARGEST_FLOAT32)
    return known(ops.max(counted, axis=-1), score, weight)


AGGREGATES: dict[str, Aggregate] = {"mean": mean, "max": maximum}


def get(identifier: str | None) -> Aggregate | None:
    """Looks up an aggregate by name.

    Args:
        identifier: `"mean"`, `"max"`, or `None` for none.

    Returns:
        A function of `(uncertainty, weight)`, or `None`.

    Raises:
        ValueError: If there is no such aggregate.

    Example:

    >>> keras_zigzag.aggregates.get("max")([[1.0, 3.0, 2.0]])
    [3.]
    """
    if identifier is None:
        return None
    if isinstance(identifier, str) and identifier in AGGREGATES:
        return AGGREGATES[identifier]
    raise ValueError(
        "Unknown aggregate. Expected 'mean' or 'max' over the places of a "
        "sample, or `None` for an uncertainty at each of them. "
        f"Received: aggregate={identifier!r}"
    )


def flat(uncertainty: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Both as `(batch_size, num_places)`, float32."""
    score = ops.cast(ops.convert_to_tensor(uncertainty), "float32")
    if weight is None:
        weight = ops.ones_like(score)
    weight = ops.cast(ops.convert_to_tensor(weight), "float32")
    for _ in range(len(score.shape) - len(weight.shape)):
        weight = ops.expand_dims(weight, -1)
    weight = ops.broadcast_to(weight, ops.shape(score))
    size = ops.shape(score)[0]
    return ops.reshape(score, (size, -1)), ops.reshape(weight, (size, -1))


def known(result: Tensor, score: Tensor, weight: Tensor) -> Tensor:
    """The result with NaN where nothing counts, or something that is NaN."""
    counts = ops.greater(weight, 0.0)
    result = unknown_where(not_finite(ops.where(counts, score, 0.0)), result)
    return unknown_where(ops.logical_not(ops.any(counts, axis=-1)), result)
