"""Where an uncertainty cannot be told: at values that are not finite.

The runtimes differ in what they make of NaN and infinity: activations and
pooling of some swallow them. So the guard is explicit, part of the graph that
is exported, and written with comparisons, since a compiler may simplify a
difference or a product away.
"""

from typing import Any

import keras
from keras import ops

Tensor = Any
LARGEST_FLOAT32 = 3.4028234e38


def not_finite(tensor: Tensor, rank: int = 1) -> Tensor | None:
    """Where a tensor holds NaN or infinity.

    Args:
        tensor: Tensor of shape `(batch_size, ...)`.
        rank: Integer. Number of axes to keep. Defaults to `1`: one answer
            per sample.

    Returns:
        Boolean tensor with the first `rank` axes, or `None` for a tensor
        that cannot hold such values.
    """
    if "float" not in keras.backend.standardize_dtype(tensor.dtype):
        return None
    size = ops.abs(ops.cast(tensor, "float32"))
    finite = ops.cast(ops.less_equal(size, LARGEST_FLOAT32), "float32")
    axes = tuple(range(rank, len(tensor.shape)))
    # PyTorch would take no axes for all of them.
    worst = ops.min(finite, axis=axes) if axes else finite
    return ops.less(worst, 0.5)


def any_not_finite(inputs: Any) -> Tensor | None:
    """Which samples hold a value that is not finite, `(batch_size,)`."""
    bad = None
    for tensor in keras.tree.flatten(inputs):
        this = None if tensor is None else not_finite(tensor)
        if this is not None:
            bad = this if bad is None else ops.logical_or(bad, this)
    return bad


def unknown_where(bad: Tensor | None, score: Tensor) -> Tensor:
    """The uncertainty, float32, with NaN at the samples or places `bad`."""
    score = ops.cast(score, "float32")
    if bad is None:
        return score
    for _ in range(len(score.shape) - len(bad.shape)):
        bad = ops.expand_dims(bad, -1)
    return ops.where(bad, float("nan"), score)


def unknown_unless_finite(score: Tensor, *answers: Tensor) -> Tensor:
    """The uncertainty with NaN where one of the answers is not finite.

    Args:
        score: Tensor of shape `(batch_size, ...)`, the uncertainty.
        *answers: Tensors of its shape, or with further axes.
    """
    for answer in answers:
        score = unknown_where(not_finite(answer, len(score.shape)), score)
    return score
