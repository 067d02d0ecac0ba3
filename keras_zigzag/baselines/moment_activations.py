"""Moments behind the activations that Keras has."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_zigzag.baselines.moments import (
    Moments,
    exponential,
    piecewise_linear,
    quadrature,
    softmax,
)
from keras_zigzag.of_keras import is_of_keras

# Without kinks or with small ones, so that quadrature is good.
SMOOTH = (
    "celu",
    "elu",
    "gelu",
    "hard_silu",
    "log_sigmoid",
    "mish",
    "selu",
    "sigmoid",
    "silu",
    "softplus",
    "softsign",
    "sparse_plus",
    "squareplus",
    "tanh",
    "tanh_shrink",
)


def rectified(
    x: Moments,
    negative_slope: Any = 0.0,
    max_value: float | None = None,
    threshold: float = 0.0,
) -> Moments:
    """Moments behind `keras.activations.relu`, in closed form."""
    knots: list[Any] = [threshold]
    pieces = [(negative_slope, -negative_slope * threshold), (1.0, 0.0)]
    if max_value is not None:
        knots.append(max_value)
        pieces.append((0.0, max_value))
    return piecewise_linear(x, knots, pieces)


def _between(low: float, high: float, slope: float) -> Callable:
    """A line through one half or zero, cut off at its ends."""
    middle = 0.5 if slope < 1.0 else 0.0

    def between(x: Moments) -> Moments:
        ends = [(0.0, middle + slope * end) for end in (low, high)]
        pieces = [ends[0], (slope, middle), ends[1]]
        return piecewise_linear(x, [low, high], pieces)

    return between


def _soft_shrink(x: Moments) -> Moments:
    pieces = [(1.0, 0.5), (0.0, 0.0), (1.0, -0.5)]
    return piecewise_linear(x, [-0.5, 0.5], pieces)


def _hard_shrink(x: Moments) -> Moments:
    pieces = [(1.0, 0.0), (0.0, 0.0), (1.0, 0.0)]
    return piecewise_linear(x, [-0.5, 0.5], pieces)


def _log_softmax(x: Moments) -> Moments:
    # The normaliser, which is the same for all classes, is taken for fixed.
    return Moments(ops.log_softmax(x.mean), x.variance)


CLOSED: dict[str, Callable[[Moments], Moments]] = {
    "linear": lambda x: x,
    "relu": rectified,
    "relu6": lambda x: rectified(x, max_value=6.0),
    "leaky_relu": lambda x: rectified(x, negative_slope=0.2),
    "hard_sigmoid": _between(-3.0, 3.0, 1.0 / 6.0),
    "sparse_sigmoid": _between(-1.0, 1.0, 0.5),
    "hard_tanh": _between(-1.0, 1.0, 1.0),
    "soft_shrink": _soft_shrink,
    "hard_shrink": _hard_shrink,
    "exponential": exponential,
    "softmax": softmax,
    "log_softmax": _log_softmax,
}


def activated(function: Any, x: Moments) -> Moments:
    """Moments behind an activation of Keras.

    Args:
        function: One for which `has_rule` is true, or `None`.
        x: `Moments`.
    """
    name = "linear" if function is None else function.__name__
    if name in CLOSED:
        return CLOSED[name](x)
    return quadrature(function, x)


def has_rule(function: Any) -> bool:
    """Whether the moments behind an activation are known."""
    if function is None:
        return True
    name = getattr(function, "__name__", None)
    return is_of_keras(function) and (name in CLOSED or name in SMOOTH)
