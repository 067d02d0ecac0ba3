"""Classes with their Dirichlet distribution: the layers, the loss, scores."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_zigzag import scores
from keras_zigzag.baselines.gamma_functions import (
    digamma_rest,
    log_gamma_rest,
)

Tensor = Any
# Where the authors' code clips the logits of an exponential evidence.
LARGEST_EXPONENT = 10.0
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def exponential(logits: Tensor) -> Tensor:
    """`exp`, which goes on as a straight line where it would get too steep.

    Clipped, a wrong class with a large logit would never be unlearnt.
    """
    exponent = ops.minimum(logits, LARGEST_EXPONENT)
    beyond = ops.maximum(logits - LARGEST_EXPONENT, 0.0)
    return ops.exp(exponent) * (1.0 + beyond)


EVIDENCE: dict[str, Callable] = {
    "softplus": ops.softplus,
    "relu": ops.relu,
    "exp": exponential,
}


def check_evidence(evidence: Any) -> None:
    """Raises a `ValueError` if there is no evidence of this name."""
    if evidence not in EVIDENCE:
        raise ValueError(
            f"Unknown evidence. Expected one of {list(EVIDENCE)}. "
            f"Received: evidence={evidence!r}"
        )


@keras.saving.register_keras_serializable(package="keras_zigzag")
class Dirichlet(keras.layers.Layer):
    """Parameters of a Dirichlet distribution, evidence plus one.

    Reference: [Sensoy et al., 2018](https://arxiv.org/abs/1806.01768),
    section 3.

    Args:
        evidence: `"softplus"`, `"relu"` or `"exp"`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Shapes: logits and parameters `(batch_size, ..., num_classes)`, float32.

    Raises:
        ValueError: If the evidence is unknown.
    """

    def __init__(self, evidence: str = "softplus", **kwargs: Any):
        # Half precision has no room for the sum of much evidence.
        kwargs["dtype"] = "float32"
        super().__init__(**kwargs)
        check_evidence(evidence)
        self.evidence = evidence
        self.supports_masking = True

    def call(self, logits: Tensor) -> Tensor:
        return EVIDENCE[self.evidence](logits) + 1.0

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"evidence": self.evidence}


@keras.saving.register_keras_serializable(package="keras_zigzag")
class DirichletMean(keras.layers.Layer):
    """The mean of a Dirichlet distribution, or its logarithm.

    Args:
        from_logits: Boolean. Whether the logarithm is given, so that a base
            model of logits still gives logits. Defaults to `False`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Shapes: as of `Dirichlet`.
    """

    def __init__(self, from_logits: bool = False, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.from_logits = bool(from_logits)
        # What the outputs are, as all layers that end a model say it.
        self.activation = (
            keras.activations.log_softmax
            if from_logits
            else keras.activations.softmax
        )
        self.supports_masking = True

    def call(self, alpha: Tensor) -> Tensor:
        total = ops.sum(alpha, axis=-1, keepdims=True)
        mean = (
            ops.log(alpha) - ops.log(total)
            if self.from_logits
            else alpha / total
        )
        return ops.cast(mean, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"from_logits": self.from_logits}


@keras.saving.register_keras_serializable(package="keras_zigzag")
class DirichletLoss(keras.losses.Loss):
    """Fit of a Dirichlet distribution to labels, less what misleads.

    The second term is the Kullback–Leibler divergence of the distribution,
    without the evidence for the true class, from the uniform one.

    Reference: [Sensoy et al., 2018](https://arxiv.org/abs/1806.01768).

    Args:
        objective: `"mse"` (eq. 5, the expected squared error), `"digamma"`
            (eq. 4, the expected cross-entropy) or `"log"` (eq. 3, the
            likelihood of type II). Defaults to `"mse"`.
        reduction: String, as of `keras.losses.Loss`. Defaults to
            `"sum_over_batch_size"`.
        name: String. Defaults to `"evidential"`.
        **kwargs: Arguments of `keras.losses.Loss`.

    Shapes: targets are labels `(batch_size, ...)` or
    `(batch_size, ..., 1)`, or one-hot `(batch_size, ..., num_classes)`;
    outputs `(batch_size, ..., num_classes + 1)`, the parameters and the
    weight of the divergence.

    Raises:
        ValueError: If the objective is unknown.
    """

    def __init__(
        self,
        objective: str = "mse",
        reduction: str = "sum_over_batch_size",
        name: str = "evidential",
        **kwargs: Any,
    ):
        kwargs.setdefault("dtype", "float32")
        super().__init__(name=name, reduction=reduction, **kwargs)
        if objective not in OBJECTIVES:
            raise ValueError(
                f"Unknown objective. Expected one of {list(OBJECTIVES)}. "
                f"Received: objective={objective!r}"
            )
        self.objective = objective

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        y_pred = ops.convert_to_tensor(y_pred)
        alpha, weight = y_pred[..., :-1], y_pred[..., -1]
        one_hot = _one_hot(ops.convert_to_tensor(y_true), alpha)
        misleading = one_hot + (1.0 - one_hot) * alpha
        return OBJECTIVES[self.objective](
            one_hot, alpha
        ) + weight * divergence_from_uniform(misleading)

    def get_config(self) -> dict[str, Any]:
        own = {"objective": self.objective, "dtype": self.dtype}
        return super().get_config() | own


def squared_error(one_hot: Tensor, alpha: Tensor) -> Tensor:
    """`Σ (y − p)² + p (1 − p) / (S + 1)`, eq. 5.

    Args:
        one_hot: Tensor of shape `(batch_size, ..., num_classes)`.
        alpha: Tensor of the same shape.

    Returns:
        Tensor of shape `(batch_size, ...)`.
    """
    total = ops.sum(alpha, axis=-1, keepdims=True)
    mean = alpha / total
    variance = mean * (1.0 - mean) / (total + 1.0)
    return ops.sum(ops.square(one_hot - mean) + variance, axis=-1)


def type_two_likelihood(one_hot: Tensor, alpha: Tensor) -> Tensor:
    """`Σ y (log S − log α)`, eq. 3.

    Args and returns as for `squared_error`.
    """
    total = ops.sum(alpha, axis=-1, keepdims=True)
    return ops.sum(one_hot * (ops.log(total) - ops.log(alpha)), axis=-1)


def expected_crossentropy(one_hot: Tensor, alpha: Tensor) -> Tensor:
    """`Σ y (ψ(S) − ψ(α))`, eq. 4.

    Args and returns as for `squared_error`.
    """
    total = ops.sum(alpha, axis=-1, keepdims=True)
    rest = digamma_rest(alpha) - digamma_rest(total)
    return ops.sum(one_hot * (ops.log(total) - ops.log(alpha) + rest), axis=-1)


OBJECTIVES: dict[str, Callable] = {
    "mse": squared_error,
    "digamma": expected_crossentropy,
    "log": type_two_likelihood,
}


def divergence_from_uniform(alpha: Tensor) -> Tensor:
    """`KL(Dir(α) ‖ Dir(1))`, the formula below eq. 5.

    With the logarithms of the gamma functions written out, all terms of the
    order of `α log α` cancel.

    Args:
        alpha: Tensor of shape `(batch_size, ..., num_classes)`, from 1 on.

    Returns:
        Tensor of shape `(batch_size, ...)`.
    """
    size = alpha.shape[-1]
    total = ops.sum(alpha, axis=-1, keepdims=True)
    logs = (size - 0.5) * ops.log(total[..., 0]) - 0.5 * ops.sum(
        ops.log(alpha), axis=-1
    )
    rest = digamma_rest(total) - digamma_rest(alpha)
    each = (alpha - 1.0) * rest - log_gamma_rest(alpha)
    constant = HALF_LOG_TWO_PI * (1 - size) - math.lgamma(size)
    return (
        logs + ops.sum(each, axis=-1) + log_gamma_rest(total[..., 0]) + constant
    )


def vacuity(alpha: Tensor, mean: Tensor) -> Tensor:
    """Uncertainty mass `K / S`: 1 without any evidence.

    Reference: [Sensoy et al., 2018](https://arxiv.org/abs/1806.01768), eq. 1.

    Args:
        alpha: Tensor of shape `(batch_size, ..., num_classes)`.
        mean: Tensor of shape `(batch_size, ..., 1, num_classes)`.

    Returns:
        Tensor of shape `(batch_size, ...)`.
    """
    return alpha.shape[-1] / ops.sum(alpha, axis=-1)


def mutual_information(alpha: Tensor, mean: Tensor) -> Tensor:
    """Entropy of the mean, less the mean entropy, of the distribution.

    `Σ p (h(α) − h(S))` with `h(x) = ψ(x + 1) − log x`, which decreases, so
    that no term is negative.

    Reference: [Malinin & Gales, 2018](https://arxiv.org/abs/1802.10501),
    section 3.

    Args and returns as for `vacuity`.
    """
    total = ops.sum(alpha, axis=-1, keepdims=True)
    of_classes = 1.0 / alpha - digamma_rest(alpha)
    of_total = 1.0 / total - digamma_rest(total)
    return ops.sum(alpha * (of_classes - of_total), axis=-1) / total[..., 0]


def entropy(alpha: Tensor, mean: Tensor) -> Tensor:
    """Entropy of the mean. Args and returns as for `vacuity`."""
    return scores.entropy(mean)


def max_probability(alpha: Tensor, mean: Tensor) -> Tensor:
    """One minus the largest mean. Args and returns as for `vacuity`."""
    return scores.max_probability(mean)


SCORES: dict[str, Callable] = {
    "vacuity": vacuity,
    "entropy": entropy,
    "mutual_information": mutual_information,
    "max_probability": max_probability,
}


def _one_hot(targets: Tensor, alpha: Tensor) -> Tensor:
    """Labels of either kind in the shape of the parameters."""
    rank = len(alpha.shape)
    if len(targets.shape) == rank and targets.shape[-1] == alpha.shape[-1]:
        return ops.cast(targets, alpha.dtype)
    if len(targets.shape) == rank:
        targets = targets[..., 0]
    labels = ops.cast(targets, "int32")
    return ops.one_hot(labels, alpha.shape[-1], dtype=alpha.dtype)
