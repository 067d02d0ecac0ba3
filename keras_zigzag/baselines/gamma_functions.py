"""What is left of the gamma function where its large terms cancel.

`log Γ(x) = (x − ½) log x − x + ½ log 2π + J(x)` and `ψ(x) = log x − g(x)`. In
the likelihoods of this package all terms but the logarithms, `J` and `g` are
known to cancel, so nothing here is a difference of two large numbers. Keras
has neither function.

Reference: Abramowitz & Stegun, 1964, 6.1.41 and 6.3.18 for the series, 6.1.15
and 6.3.5 for the recurrences.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any
# From here on, the series below are exact in float32.
NUM_STEPS = 4
LOG_GAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)
DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240)
# `log(1 + 1/x) = 2 (z + z³/3 + z⁵/5 + …)` with `z = 1 / (2x + 1)`. Written
# out, since not every runtime that artifacts are for has `log1p`.
LOGARITHM = tuple(1 / odd for odd in range(3, 19, 2))


def log_gamma_rest(x: Tensor) -> Tensor:
    """Binet's function `J`.

    Args:
        x: Tensor of numbers from 1 on.
    """
    # `(x + ½) log(1 + 1/x) − 1`.
    square = ops.square(1.0 / (2.0 * _steps(x) + 1.0))
    rest = ops.sum(square * _polynomial(LOGARITHM, square), axis=-1)
    inverse = 1.0 / (x + NUM_STEPS)
    return rest + inverse * _polynomial(LOG_GAMMA, ops.square(inverse))


def digamma_rest(x: Tensor) -> Tensor:
    """The difference `g` of logarithm and digamma function.

    Args:
        x: Tensor of numbers from 1 on.
    """
    # `1/x − log(1 + 1/x)`.
    inverse = 1.0 / _steps(x)
    z = inverse / (2.0 + inverse)
    square = ops.square(z)
    logarithm = 2.0 * square * _polynomial(LOGARITHM, square)
    rest = ops.sum(z * (inverse - logarithm), axis=-1)
    inverse = 1.0 / (x + NUM_STEPS)
    square = ops.square(inverse)
    return rest + 0.5 * inverse + square * _polynomial(DIGAMMA, square)


def _steps(x: Tensor) -> Tensor:
    """`x, x + 1, …` on a new last axis."""
    steps = np.arange(NUM_STEPS, dtype=keras.backend.standardize_dtype(x.dtype))
    return ops.expand_dims(x, -1) + ops.convert_to_tensor(steps)


def _polynomial(coefficients: tuple, x: Tensor) -> Tensor:
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value
