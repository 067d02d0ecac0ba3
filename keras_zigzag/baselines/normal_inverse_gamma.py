"""Values with their normal-inverse-gamma distribution.

Its parameters `γ, ν, α, β` say where the value lies, and how much evidence
there is for the place and for the variance.
"""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.gamma_functions import log_gamma_rest
from keras_zigzag.baselines.gaussian import targets_like

Tensor = Any
# Added to what may become zero and is divided by.
SMALLEST = 1e-6
HALF_LOG_PI = 0.5 * math.log(math.pi)
HEADS = ("nu", "alpha", "beta")


@keras.saving.register_keras_serializable(package="keras_zigzag")
class NormalInverseGamma(keras.layers.Layer):
    """The parameters `ν > 0`, `α > 1` and `β > 0` from three linear heads.

    Reference: [Amini et al., 2020](https://arxiv.org/abs/1910.02600),
    section 3.2.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of three tensors of shape `(batch_size, ...)`. The output has
    shape `(batch_size, ..., 3)`, float32.
    """

    def __init__(self, **kwargs: Any):
        kwargs["dtype"] = "float32"
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, heads: list[Tensor]) -> Tensor:
        nu, alpha, beta = [ops.softplus(head) + SMALLEST for head in heads]
        return ops.stack([nu, alpha + 1.0, beta], axis=-1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask[0] if isinstance(mask, (list, tuple)) else mask


@keras.saving.register_keras_serializable(package="keras_zigzag")
class NormalInverseGammaLoss(keras.losses.Loss):
    """Negative log-likelihood of a value, and evidence where it is wrong.

    The likelihood is that of Student's t with `2α` degrees of freedom, eq. 8;
    the other term is `|y − γ| (2ν + α)`, eq. 9.

    Reference: [Amini et al., 2020](https://arxiv.org/abs/1910.02600).

    Args:
        coefficient: Float, not negative. Weight of the second term. Defaults
            to `0.01`.
        reduction: String, as of `keras.losses.Loss`. Defaults to
            `"sum_over_batch_size"`.
        name: String. Defaults to `"evidential"`.
        **kwargs: Arguments of `keras.losses.Loss`.

    Shapes: targets `(batch_size, ..., num_values)`, outputs
    `(batch_size, ..., num_values, 4)`, the four parameters.
    """

    def __init__(
        self,
        coefficient: float = 0.01,
        reduction: str = "sum_over_batch_size",
        name: str = "evidential",
        **kwargs: Any,
    ):
        kwargs.setdefault("dtype", "float32")
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.coefficient = coefficient

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        y_true, y_pred = map(ops.convert_to_tensor, (y_true, y_pred))
        gamma, nu, alpha, beta = [y_pred[..., i] for i in range(4)]
        error = targets_like(y_true, gamma) - gamma
        misleading = ops.abs(error) * (2.0 * nu + alpha)
        loss = student_nll(error, nu, alpha, beta)
        loss += self.coefficient * misleading
        return ops.mean(loss, axis=-1) if len(loss.shape) > 1 else loss

    def get_config(self) -> dict[str, Any]:
        own = {"coefficient": self.coefficient, "dtype": self.dtype}
        return super().get_config() | own


def student_nll(
    error: Tensor, nu: Tensor, alpha: Tensor, beta: Tensor
) -> Tensor:
    """Negative log-likelihood of a value, eq. 8.

    With the two gamma functions written out, the terms of the order of
    `α log α` cancel.

    Args:
        error: Tensor, the value less `γ`.
        nu: Tensor of the same shape, as those that follow.
        alpha: Tensor.
        beta: Tensor.

    Returns:
        Tensor of the same shape.
    """
    omega = 2.0 * beta * (1.0 + nu)
    square = nu * ops.square(error)
    gammas = (
        0.5
        - 0.5 * ops.log(alpha)
        - alpha * ops.log1p(0.5 / alpha)
        + log_gamma_rest(alpha)
        - log_gamma_rest(alpha + 0.5)
    )
    return (
        HALF_LOG_PI
        - 0.5 * ops.log(nu)
        + 0.5 * ops.log(omega + square)
        + alpha * ops.log1p(square / omega)
        + gammas
    )


def epistemic_variance(parameters: Tensor) -> Tensor:
    """Variance of the mean, `β / (ν (α − 1))`, eq. 5.

    Args:
        parameters: Tensor of shape `(batch_size, ..., 3)`, `ν, α, β`.

    Returns:
        Tensor of shape `(batch_size, ...)`.
    """
    return aleatoric_variance(parameters) / parameters[..., 0]


def aleatoric_variance(parameters: Tensor) -> Tensor:
    """Expected variance of the values, `β / (α − 1)`, eq. 5.

    Args and returns as for `epistemic_variance`.
    """
    # Where there is no evidence at all, `α` is rounded to 1.
    evidence = ops.maximum(parameters[..., 1] - 1.0, 0.5 * SMALLEST)
    return parameters[..., 2] / evidence


def total_variance(parameters: Tensor) -> Tensor:
    """Variance of the values: the sum of both.

    Args and returns as for `epistemic_variance`.
    """
    return epistemic_variance(parameters) + aleatoric_variance(parameters)


SCORES: dict[str, Callable] = {
    "epistemic_variance": epistemic_variance,
    "aleatoric_variance": aleatoric_variance,
    "variance": total_variance,
}
