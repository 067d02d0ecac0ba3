"""Values with their variance: the loss, and what it takes."""

import math
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_zigzag.finite import not_finite, unknown_where
from keras_zigzag.of_keras import is_of_keras

Tensor = Any
# Exponentials of these and their squares are finite and not zero in float32.
LOG_VARIANCES = (-60.0, 60.0)


@keras.saving.register_keras_serializable(package="keras_zigzag")
class GaussianNLL(keras.losses.Loss):
    """Negative log-likelihood of a Gaussian whose variance is predicted too.

    `½ log(2π) + ½ s + ½ (y − μ)² exp(−s)` with `s = log σ²`, which cannot
    become negative and needs no division.

    It is the loss of the methods of this package that predict a variance;
    these take it by the name `"gaussian_nll"`, or if no loss is given.

    Reference: [Kendall & Gal, 2017](https://arxiv.org/abs/1703.04977), eq. 8.

    Args:
        reduction: String, as of `keras.losses.Loss`. Defaults to
            `"sum_over_batch_size"`.
        name: String. Defaults to `"gaussian_nll"`.
        **kwargs: Arguments of `keras.losses.Loss`.

    Shapes: targets `(batch_size, ..., num_values)`, outputs
    `(batch_size, ..., num_values, 2)`, mean and log-variance.

    Example:

    >>> keras_zigzag.baselines.GaussianNLL()([[1.0]], [[[0.0, 0.0]]])
    1.418938533
    """

    def __init__(
        self,
        reduction: str = "sum_over_batch_size",
        name: str = "gaussian_nll",
        **kwargs: Any,
    ):
        # Half precision has no room for a variance.
        kwargs.setdefault("dtype", "float32")
        super().__init__(name=name, reduction=reduction, **kwargs)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        y_pred = ops.convert_to_tensor(y_pred)
        # A metric gives targets of a data set as they are.
        y_true = ops.convert_to_tensor(y_true, dtype=y_pred.dtype)
        mean = y_pred[..., 0]
        log_variance = clipped(y_pred[..., 1])
        error = targets_like(y_true, mean) - mean
        square = ops.square(error) * ops.exp(-log_variance)
        nll = 0.5 * (log_variance + square + math.log(2.0 * math.pi))
        return ops.mean(nll, axis=-1) if len(nll.shape) > 1 else nll

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update({"dtype": self.dtype})
        return config


class GaussianOutputs(NamedTuple):
    """What a loss needs of a network that predicts variances too.

    Attributes:
        prediction: Outputs in the structure of the base model's.
        log_variances: List, one tensor for each output of values.
    """

    prediction: Any
    log_variances: list[Tensor]


@keras.saving.register_keras_serializable(package="keras_zigzag")
class StackGaussian(keras.layers.Layer):
    """Mean and log-variance in one tensor, with the mask of the mean.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of two tensors of shape `(batch_size, ...)`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: list[Tensor]) -> Tensor:
        return ops.stack(inputs, axis=-1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask[0] if isinstance(mask, (list, tuple)) else mask


def targets_like(y_true: Tensor, mean: Tensor) -> Tensor:
    """Targets with the axis of values, or without it, as the means have it."""
    if len(y_true.shape) == len(mean.shape) - 1:
        return ops.expand_dims(y_true, -1)
    if len(y_true.shape) == len(mean.shape) + 1:
        return ops.squeeze(y_true, -1)
    return y_true


def clipped(log_variance: Tensor) -> Tensor:
    """The log-variance within what float32 can hold the exponential of."""
    return ops.clip(ops.cast(log_variance, "float32"), *LOG_VARIANCES)


def variance_of(log_variance: Tensor) -> Tensor:
    """The variance, NaN where its logarithm is not finite.

    Clipped, a logarithm of minus infinity would look certain.
    """
    bad = not_finite(log_variance, rank=len(log_variance.shape))
    return unknown_where(bad, ops.exp(clipped(log_variance)))


def is_gaussian_loss(loss: Any) -> bool:
    """Whether a loss is for values with their variance.

    A function of the user's own is free to be.
    """
    if isinstance(loss, dict):
        loss = keras.losses.get(loss)
    if isinstance(loss, str):
        return loss == "gaussian_nll"
    if isinstance(loss, GaussianNLL):
        return True
    return not is_of_keras(loss)
