"""The likelihood of what a prediction leaves, for its variance alone."""

from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.answers import Answers
from keras_zigzag.baselines.gaussian import (
    GaussianNLL,
    GaussianOutputs,
    StackGaussian,
)

Tensor = Any
METRIC = "variance_loss"


@keras.saving.register_keras_serializable(package="keras_zigzag")
class StackResidual(StackGaussian):
    """As `StackGaussian`, without a gradient for the mean.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def call(self, inputs: list[Tensor]) -> Tensor:
        mean, log_variance = inputs
        return super().call([ops.stop_gradient(mean), log_variance])


class ResidualNLL:
    """Gaussian likelihood of given predictions, as loss and as metrics.

    Keras does not see it: it has nothing to be saved.

    Args:
        answers: `Answers` of the network that predicts.
    """

    def __init__(self, answers: Answers):
        self.answers = answers
        self._loss = GaussianNLL()
        self._stack = StackResidual(dtype="float32")

    def __call__(
        self,
        y: Any,
        outputs: GaussianOutputs,
        sample_weight: Any,
        metrics: list[keras.metrics.Metric],
    ) -> Tensor:
        """The sum over the outputs, each of which its metric sees too.

        On JAX, the outputs have their masks only while the loss is computed.
        """
        total = 0.0
        entries = self._entries(y, outputs, sample_weight)
        for metric, entry in zip(metrics, entries, strict=True):
            metric.update_state(*entry)
            total += self._loss(*entry)
        return total

    def metrics(self) -> list[keras.metrics.Metric]:
        """One metric for each output."""
        names = self.answers.output_names
        several = len(self.answers.tasks) > 1
        return [
            keras.metrics.MeanMetricWrapper(
                self._loss.call,
                name=f"{name}_{METRIC}" if several else METRIC,
                dtype="float32",
            )
            for name in names
        ]

    def _entries(
        self, y: Any, outputs: GaussianOutputs, sample_weight: Any
    ) -> list[tuple]:
        """Targets, mean with log-variance, and weight of each output."""
        means = self.answers.flat(outputs.prediction)
        stacked = [
            self._stack([mean, log_variance])
            for mean, log_variance in zip(
                means, outputs.log_variances, strict=True
            )
        ]
        targets = self.answers.flat_targets(y)
        if keras.tree.is_nested(sample_weight):
            weights = self.answers.flat_targets(sample_weight)
        else:
            weights = [sample_weight] * len(targets)
        return list(zip(targets, stacked, weights, strict=True))


def is_residual_loss(loss: Any) -> bool:
    """Whether a loss needs a variance, which a prediction alone lacks."""
    return loss == "gaussian_nll" or isinstance(loss, GaussianNLL)
