"""What predicted probabilities are worth: proper scores.

Labels are class indices of shape `(num_samples, ...)`, probabilities have one
more axis, the classes; or, in a binary task, the shape of the labels and the
probability of class 1. Further axes are pixels, nodes or steps, and count as
samples.
"""

from typing import Any

import numpy as np

from keras_zigzag.metrics.inputs import (
    Array,
    as_finite,
    as_numbers,
    as_weight,
    where_there,
)


def brier_score(
    labels: Any, probabilities: Any, sample_weight: Any = None
) -> float:
    """Mean squared distance to the one-hot label, `Σ_c (p_c − 1[y = c])²`.

    In `[0, 2]` for probabilities of all classes; in `[0, 1]`, half of it, for
    the probability of class 1 alone. As scikit-learn's `brier_score_loss`,
    but that this one halves two columns too.

    Reference: Brier (1950), Verification of forecasts expressed in terms of
    probability.

    Args:
        labels: Array of class indices, of shape `(num_samples, ...)`.
        probabilities: Array of shape `(num_samples, ..., num_classes)`, or
            of the shape of `labels`: the probability of class 1.
        sample_weight: Array of the shape of `labels`, or `None`.

    Returns:
        Float. Lower is better.

    Example:

    >>> keras_zigzag.metrics.brier_score(
    ...     labels=[0, 1], probabilities=[[0.8, 0.2], [0.4, 0.6]])
    0.2
    """
    is_single = np.ndim(labels) == np.ndim(probabilities)
    label, p, weight = checked_probabilities(
        labels, probabilities, sample_weight
    )
    score = float(np.average(square_distances(label, p), weights=weight))
    return score / 2.0 if is_single else score


def negative_log_likelihood(
    labels: Any, probabilities: Any, sample_weight: Any = None
) -> float:
    """Mean of `−log p_y`, in nats, the log loss.

    Probabilities closer to 0 or 1 than the resolution of their type count as
    that resolution, as in scikit-learn's `log_loss`: a zero that is a rounded
    probability must not make the mean infinite.

    Reference: Good (1952), Rational decisions.

    Args as for `brier_score`.

    Returns:
        Float. Lower is better.

    Example:

    >>> keras_zigzag.metrics.negative_log_likelihood(
    ...     labels=[0, 1], probabilities=[[0.8, 0.2], [0.4, 0.6]])
    0.366984588
    """
    dtype = np.asarray(probabilities).dtype
    label, p, weight = checked_probabilities(
        labels, probabilities, sample_weight
    )
    return float(np.average(log_losses(label, p, dtype), weights=weight))


def square_distances(label: Array, p: Array) -> Array:
    """`Σ_c (p_c − 1[y = c])²` of each row."""
    right = p[np.arange(len(p)), label]
    # (p_y − 1)² + Σ_{c≠y} p_c² without an array of one-hot labels.
    square = np.einsum("ij,ij->i", p, p) - 2.0 * right + 1.0
    return np.maximum(square, 0.0)


def log_losses(label: Array, p: Array, dtype: np.dtype) -> Array:
    """`−log p_y` of each row, no finer than `dtype` resolves."""
    smallest = np.finfo(dtype if dtype.kind == "f" else "float64").eps
    right = np.clip(p[np.arange(len(p)), label], smallest, 1.0 - smallest)
    return -np.log(right)


def checked_probabilities(
    labels: Any, probabilities: Any, sample_weight: Any
) -> tuple[Array, Array, Array | None]:
    """Labels `(N,)`, probabilities `(N, num_classes)`, weights `(N,)`."""
    # What counts nothing is not there, and may have any label.
    weight, labels, probabilities = where_there(
        as_weight(sample_weight), labels, probabilities
    )
    label = as_numbers(labels, "labels")
    p = as_finite(probabilities, "probabilities")
    if p.shape == label.shape:
        _check_not_one_hot(label, p, _tolerance(probabilities))
        p = np.stack([1.0 - p, p], axis=-1)
    if p.shape == (*label.shape, 1):
        raise ValueError(
            "`probabilities` of one class each say nothing; those of class 1, "
            "as a sigmoid gives them, have the shape of `labels`: give "
            f"`probabilities[..., 0]`. Received: shape {p.shape}."
        )
    if p.shape[:-1] != label.shape:
        raise ValueError(
            "`probabilities` must have the shape of `labels` and a last axis "
            f"of classes. Received: `labels` of shape {label.shape}, "
            f"`probabilities` of shape {p.shape}."
        )
    if weight is not None and weight.shape != label.shape:
        raise ValueError(
            "`sample_weight` must have the shape of `labels`. Received: "
            f"{weight.shape}, `labels` of shape {label.shape}."
        )
    p, label = p.reshape(-1, p.shape[-1]), label.ravel()
    weight = None if weight is None else weight.ravel()
    _check_range(p, _tolerance(probabilities))
    return _class_indices(label, p.shape[-1]), p, weight


def _check_not_one_hot(label: Array, p: Array, tolerance: float) -> None:
    """Labels of one class each must not pass for several binary ones."""
    if label.ndim < 2 or label.shape[-1] < 2:
        return
    is_one_class = (label.max(axis=-1) == 1) & (label.sum(axis=-1) == 1)
    is_sum_one = np.abs(p.sum(axis=-1) - 1.0) <= tolerance * p.shape[-1]
    if np.all(is_one_class & is_sum_one):
        raise ValueError(
            "`labels` must be class indices, one axis less than the "
            "probabilities of all classes; `labels.argmax(-1)` makes them of "
            f"one-hot labels. Received: one-hot labels of shape {label.shape}."
        )


def _class_indices(label: Array, num_classes: int) -> Array:
    with np.errstate(invalid="ignore"):
        index = label.astype("int64")
    if np.any(index != label) or index.min() < 0 or index.max() >= num_classes:
        raise ValueError(
            f"`labels` must be class indices below {num_classes}. "
            f"Received: values from {label.min()} to {label.max()}."
        )
    return index


def _check_range(p: Array, tolerance: float) -> None:
    if p.min() < -tolerance or p.max() > 1.0 + tolerance:
        raise ValueError(
            "`probabilities` must be in [0, 1]; apply softmax or sigmoid to "
            f"logits. Received: values from {p.min()} to {p.max()}."
        )
    sums = p.sum(axis=-1)
    if np.abs(sums - 1.0).max() > tolerance * p.shape[-1]:
        raise ValueError(
            "`probabilities` must sum to one over the last axis. "
            f"Received: sums from {sums.min()} to {sums.max()}."
        )


def _tolerance(probabilities: Any) -> float:
    # What rounding to the type of the array can have done.
    dtype = np.asarray(probabilities).dtype
    return 1e-2 if dtype.itemsize <= 2 else 1e-4
