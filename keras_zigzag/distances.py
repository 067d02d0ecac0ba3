"""How far the second pass is from the first: `(first, second)` to a number.

Each function compares the last axis, so that `(batch_size, num_values)`
gives `(batch_size,)` and dense answers give one number per place. In a
classification the answers are probabilities.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Tensor = Any
Distance = Callable[[Tensor, Tensor], Tensor]


def norm(first: Tensor, second: Tensor) -> Tensor:
    """Euclidean norm of the difference, `‖y0 − y1‖₂`.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    section 3.1.

    Args:
        first: Tensor of shape `(batch_size, ..., num_values)`.
        second: Tensor of the same shape.

    Returns:
        Tensor of shape `(batch_size, ...)`.

    Example:

    >>> keras_zigzag.distances.norm([[3.0, 0.0]], [[0.0, 4.0]])
    [5.]
    """
    square = ops.sum(ops.square(_difference(first, second)), axis=-1)
    # The root has no derivative at zero, where the answers are equal.
    is_zero = ops.equal(square, 0.0)
    return ops.where(is_zero, 0.0, ops.sqrt(ops.where(is_zero, 1.0, square)))


def l1(first: Tensor, second: Tensor) -> Tensor:
    """Sum of the absolute differences, `Σ |y0 − y1|`.

    Args and returns as for `norm`.
    """
    return ops.sum(ops.abs(_difference(first, second)), axis=-1)


def mean_absolute(first: Tensor, second: Tensor) -> Tensor:
    """Mean of the absolute differences, as in the authors' MNIST notebook.

    Args and returns as for `norm`.
    """
    return ops.mean(ops.abs(_difference(first, second)), axis=-1)


def max_signed(first: Tensor, second: Tensor) -> Tensor:
    """Largest signed difference, `max (y0 − y1)`, as in the CIFAR notebook.

    Args and returns as for `norm`.
    """
    return ops.max(_difference(first, second), axis=-1)


def cross_entropy(first: Tensor, second: Tensor) -> Tensor:
    """Cross-entropy `−Σ y1 log y0` of the second answer under the first.

    Args and returns as for `norm`; the answers are probabilities.
    """
    return -ops.sum(_float32(second) * _log(first), axis=-1)


def kl(first: Tensor, second: Tensor) -> Tensor:
    """Kullback–Leibler divergence `Σ y1 log (y1 / y0)`.

    Args and returns as for `norm`; the answers are probabilities.
    """
    ratio = _log(second) - _log(first)
    # Rounding must not make it negative.
    return ops.maximum(ops.sum(_float32(second) * ratio, axis=-1), 0.0)


def jensen_shannon(first: Tensor, second: Tensor) -> Tensor:
    """Jensen–Shannon divergence, symmetric and at most `log 2`.

    Reference: Lin (1991), Divergence measures based on the Shannon entropy.

    Args and returns as for `norm`; the answers are probabilities.
    """
    first, second = _float32(first), _float32(second)
    middle = (first + second) / 2.0
    return (kl(middle, first) + kl(middle, second)) / 2.0


DISTANCES: dict[str, Distance] = {
    function.__name__: function
    for function in (
        norm,
        l1,
        mean_absolute,
        max_signed,
        cross_entropy,
        kl,
        jensen_shannon,
    )
}
DIVERGENCES = (cross_entropy, kl, jensen_shannon)


def get(identifier: str | dict | Distance) -> Distance:
    """Looks up a distance by name.

    Args:
        identifier: One of `"norm"`, `"l1"`, `"mean_absolute"`,
            `"max_signed"`, `"cross_entropy"`, `"kl"`, `"jensen_shannon"`; a
            callable of `(first, second)`; or a serialised one. A callable
            is saved with the model if it is registered with
            `keras.saving.register_keras_serializable`.

    Returns:
        A callable.

    Raises:
        ValueError: If there is no such distance.

    Example:

    >>> keras_zigzag.distances.get("l1")([[1.0, 2.0]], [[0.0, 0.0]])
    [3.]
    """
    if isinstance(identifier, dict):
        identifier = keras.saving.deserialize_keras_object(identifier)
    if isinstance(identifier, str) and identifier in DISTANCES:
        return DISTANCES[identifier]
    if callable(identifier):
        return identifier
    raise ValueError(
        f"Unknown distance. Expected one of {sorted(DISTANCES)} or a callable "
        f"of `(first, second)`. Received: distance={identifier!r}"
    )


def serialize(distance: Distance) -> Any:
    """A name, or the config of a registered callable."""
    if DISTANCES.get(getattr(distance, "__name__", "")) is distance:
        return distance.__name__
    return keras.saving.serialize_keras_object(distance)


def check_shape(distance: Any, score: Tensor, first: Tensor) -> None:
    """Raises a `ValueError` unless a distance compares the last axis."""
    expected, received = first.shape[:-1], score.shape
    if len(received) != len(expected):
        raise ValueError(
            "A distance gives one number for the values on the last axis: "
            f"for answers of shape {tuple(first.shape)} numbers of shape "
            f"{tuple(expected)}. Received: distance="
            f"{getattr(distance, '__name__', distance)!r}, which gives "
            f"{tuple(received)}. Take the sum or the mean over `axis=-1`."
        )


def _difference(first: Tensor, second: Tensor) -> Tensor:
    return ops.subtract(_float32(first), _float32(second))


def _log(probabilities: Tensor) -> Tensor:
    # 0 log 0 is 0 in the limit; the smallest normal float32 keeps it finite.
    return ops.log(ops.maximum(_float32(probabilities), 1.2e-38))


def _float32(answer: Tensor) -> Tensor:
    return ops.cast(ops.convert_to_tensor(answer), "float32")
