"""How uncertain one answer is by itself.

The probabilities have one more axis than the answers of a classifier: each
sample, or place of it, has one or several labels, and each label its outcomes.
"""

from collections.abc import Callable
from typing import Any

from keras import ops

Tensor = Any
SMALLEST = 1.1754944e-38  # Of the normal float32.


def entropy(probabilities: Tensor) -> Tensor:
    """Entropy `−Σ p log p` in nats, summed over independent labels.

    Args:
        probabilities: Tensor of shape
            `(batch_size, ..., num_labels, num_outcomes)`.

    Returns:
        Tensor of shape `(batch_size, ...)`.
    """
    return -ops.sum(probabilities * log(probabilities), axis=(-2, -1))


def max_probability(probabilities: Tensor) -> Tensor:
    """One minus the probability of the most probable labels together.

    Reference: [Hendrycks & Gimpel, 2017](https://arxiv.org/abs/1610.02136).

    Args and returns as for `entropy`.
    """
    return 1.0 - ops.prod(ops.max(probabilities, axis=-1), axis=-1)


def energy(logits: Tensor) -> Tensor:
    """Free energy `−log Σ exp(logit)`.

    Reference: [Liu et al., 2020](https://arxiv.org/abs/2010.03759).

    Args:
        logits: Tensor of shape `(batch_size, ..., num_classes)`.

    Returns:
        Tensor of shape `(batch_size, ...)`.
    """
    return -ops.logsumexp(logits, axis=-1)


def variance(variances: Tensor) -> Tensor:
    """Sum of the variances of the values.

    Args:
        variances: Tensor of shape `(batch_size, ..., num_values)`.

    Returns:
        Tensor of shape `(batch_size, ...)`.
    """
    return ops.sum(variances, axis=-1)


def standard_deviation(variances: Tensor) -> Tensor:
    """Root of the sum of the variances, in the unit of the targets.

    Args and returns as for `variance`.
    """
    return ops.sqrt(ops.sum(variances, axis=-1))


def log(probabilities: Tensor) -> Tensor:
    """Logarithm that is finite at zero, where its factor is zero."""
    return ops.log(ops.maximum(probabilities, SMALLEST))


OF_PROBABILITIES: dict[str, Callable] = {
    "entropy": entropy,
    "max_probability": max_probability,
}
OF_VARIANCES: dict[str, Callable] = {
    "standard_deviation": standard_deviation,
    "variance": variance,
}
