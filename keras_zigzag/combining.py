"""What several answers to one question say together.

The first axis of all arguments holds the members or the samples. Nothing here
is a difference of two large numbers.
"""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_zigzag import scores

Tensor = Any


def predictive_entropy(probabilities: Tensor) -> Tensor:
    """Entropy of the mean answer.

    Args:
        probabilities: Tensor of shape
            `(num_samples, batch_size, ..., num_labels, num_outcomes)`.

    Returns:
        Tensor of shape `(batch_size, ...)`.
    """
    return scores.entropy(ops.mean(probabilities, axis=0))


def mutual_information(probabilities: Tensor) -> Tensor:
    """How much the answers tell about which member it was.

    As the mean Kullback–Leibler divergence of an answer from the mean answer,
    which is the entropy of the mean less the mean entropy.

    Reference: [Houlsby et al., 2011](https://arxiv.org/abs/1112.5745).

    Args and returns as for `predictive_entropy`.
    """
    mean = ops.mean(probabilities, axis=0, keepdims=True)
    ratio = scores.log(probabilities) - scores.log(mean)
    divergence = ops.sum(probabilities * ratio, axis=(-2, -1))
    # Rounding must not make it negative.
    return ops.maximum(ops.mean(divergence, axis=0), 0.0)


def max_probability(probabilities: Tensor) -> Tensor:
    """One minus the probability of the most probable labels of the mean.

    Args and returns as for `predictive_entropy`.
    """
    return scores.max_probability(ops.mean(probabilities, axis=0))


def probability_variance(probabilities: Tensor) -> Tensor:
    """Sum of the variances of the probabilities.

    Args and returns as for `predictive_entropy`.
    """
    return ops.sum(spread(probabilities), axis=(-2, -1))


def spread(values: Tensor) -> Tensor:
    """Variance over the first axis, by the differences from the mean."""
    mean = ops.mean(values, axis=0, keepdims=True)
    return ops.mean(ops.square(values - mean), axis=0)


def mixture_variance(means: Tensor, variances: Tensor | None) -> Tensor:
    """Variance of an equal mixture: mean variance and variance of means.

    Reference: [Lakshminarayanan et al., 2017](https://arxiv.org/abs/1612.01474),
    section 2.4.

    Args:
        means: Tensor of shape `(num_samples, batch_size, ..., num_values)`.
        variances: Tensor of the same shape, or `None` for zero.

    Returns:
        Tensor of shape `(batch_size, ..., num_values)`.
    """
    between = spread(means)
    if variances is None:
        return between
    return ops.mean(variances, axis=0) + between


def mean_logits(logits: Tensor, binary: bool) -> Tensor:
    """Logits of the mean of the probabilities.

    NaN where one of them is infinite, which its probability would hide.

    Args:
        logits: Tensor of shape `(num_samples, batch_size, ...)`, with the
            classes on the last axis unless `binary`.
        binary: Boolean. Whether each is the logit of a sigmoid.

    Returns:
        Tensor of shape `(batch_size, ...)`.
    """
    if binary:
        # The number of samples would cancel.
        yes = ops.logsumexp(ops.log_sigmoid(logits), axis=0)
        mean = yes - ops.logsumexp(ops.log_sigmoid(-logits), axis=0)
    else:
        size = ops.cast(ops.shape(logits)[0], logits.dtype)
        mean = ops.logsumexp(ops.log_softmax(logits), axis=0) - ops.log(size)
    is_known = ops.all(ops.isfinite(logits), axis=0)
    return ops.where(is_known, mean, float("nan"))


OF_PROBABILITIES: dict[str, Callable] = {
    "predictive_entropy": predictive_entropy,
    "mutual_information": mutual_information,
    "max_probability": max_probability,
    "variance": probability_variance,
}
SPREADS = ("mutual_information", "variance", "epistemic_variance")
