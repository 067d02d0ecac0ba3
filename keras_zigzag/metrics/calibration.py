"""Whether a probability of 0.9 is right nine times of ten.

Labels and probabilities as in `keras_zigzag.metrics.probabilities`.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from keras_zigzag.metrics.inputs import Array
from keras_zigzag.metrics.probabilities import checked_probabilities
from keras_zigzag.metrics.ranking import mid_ranks
from keras_zigzag.number_checks import checked_count

Norm = Literal["l1", "l2", "max"]
Binning = Literal["width", "mass"]


class ReliabilityCurve(NamedTuple):
    """Arrays of shape `(num_bins,)`, without the bins that are empty.

    `confidence` and `frequency` are the means in each bin of what was
    predicted and of what happened, `share` is the bin's share of the samples.
    """

    confidence: Array
    frequency: Array
    share: Array


def expected_calibration_error(
    labels: Any,
    probabilities: Any,
    num_bins: int = 15,
    norm: Norm = "l1",
    binning: Binning = "width",
    sample_weight: Any = None,
) -> float:
    """Distance of confidence and accuracy, `Σ_b share_b |conf_b − acc_b|`.

    The confidence is the probability of the most probable class. `"l2"` is
    `√(Σ_b share_b (conf_b − acc_b)²)`, `"max"` the largest distance of all
    bins. Bins of equal width are open on the left; those of equal mass go by
    rank, and samples of the same confidence are in the same bin.

    References: [Guo et al., 2017](https://arxiv.org/abs/1706.04599);
    [Kumar et al., 2019](https://arxiv.org/abs/1909.10155) for `"l2"` and equal
    mass.

    Args:
        labels: Array of class indices, of shape `(num_samples, ...)`.
        probabilities: Array of shape `(num_samples, ..., num_classes)`, or
            of the shape of `labels`: the probability of class 1.
        num_bins: Integer. Defaults to `15`.
        norm: `"l1"`, `"l2"` or `"max"`. Defaults to `"l1"`.
        binning: `"width"` or `"mass"`. Defaults to `"width"`.
        sample_weight: Array of the shape of `labels`, or `None`.

    Returns:
        Float in `[0, 1]`. Lower is better.

    Example:

    >>> keras_zigzag.metrics.expected_calibration_error(
    ...     labels=[0, 1], probabilities=[[0.8, 0.2], [0.6, 0.4]])
    0.4
    """
    curve = reliability_curve(
        labels, probabilities, num_bins, binning, sample_weight
    )
    return _distance(curve, norm)


def classwise_calibration_error(
    labels: Any,
    probabilities: Any,
    num_bins: int = 15,
    norm: Norm = "l1",
    binning: Binning = "width",
    sample_weight: Any = None,
) -> float:
    """Mean over the classes of the calibration error of each class.

    For each class, its probability is compared with how often it is the
    label, not with the accuracy only where it is the most probable one.

    Reference: [Nixon et al., 2019](https://arxiv.org/abs/1904.01685), static
    calibration error; [Kull et al., 2019](https://arxiv.org/abs/1910.12656).

    Args as for `expected_calibration_error`.

    Returns:
        Float in `[0, 1]`. Lower is better.

    Example:

    >>> keras_zigzag.metrics.classwise_calibration_error(
    ...     labels=[0, 1], probabilities=[[0.8, 0.2], [0.6, 0.4]])
    0.4
    """
    label, p, weight = checked_probabilities(
        labels, probabilities, sample_weight
    )
    errors = [
        _distance(
            _curve(p[:, index], label == index, weight, num_bins, binning), norm
        )
        for index in range(p.shape[-1])
    ]
    return float(np.mean(errors))


def reliability_curve(
    labels: Any,
    probabilities: Any,
    num_bins: int = 15,
    binning: Binning = "width",
    sample_weight: Any = None,
) -> ReliabilityCurve:
    """Confidence and accuracy in each bin, for the reliability diagram.

    Args as for `expected_calibration_error`.

    Returns:
        `ReliabilityCurve` of arrays `confidence`, `frequency`, `share`.

    Example:

    >>> curve = keras_zigzag.metrics.reliability_curve(
    ...     labels=[0, 1], probabilities=[[0.8, 0.2], [0.6, 0.4]])
    >>> curve.confidence
    [0.6, 0.8]
    >>> curve.frequency
    [0.0, 1.0]
    """
    label, p, weight = checked_probabilities(
        labels, probabilities, sample_weight
    )
    best = p.argmax(axis=-1)
    confidence = p[np.arange(len(p)), best]
    return _curve(confidence, best == label, weight, num_bins, binning)


def _curve(
    confidence: Array,
    happened: Array,
    weight: Array | None,
    num_bins: int,
    binning: Binning,
) -> ReliabilityCurve:
    if weight is None:
        weight = np.ones(len(confidence))
    index = bin_index(confidence, weight, num_bins, binning)
    mass, predicted, observed = (
        np.bincount(index, weights=values, minlength=num_bins)
        for values in (weight, weight * confidence, weight * happened)
    )
    filled = mass > 0
    return ReliabilityCurve(
        predicted[filled] / mass[filled],
        observed[filled] / mass[filled],
        mass[filled] / mass.sum(),
    )


def bin_index(
    confidence: Array, weight: Array, num_bins: int, binning: Binning
) -> Array:
    num_bins = checked_count("num_bins", num_bins)
    if binning == "width":
        index = np.ceil(confidence * num_bins) - 1
    elif binning == "mass":
        index = np.floor(mid_ranks(confidence, weight) * num_bins)
    else:
        raise ValueError(
            "`binning` must be 'width' or 'mass'. "
            f"Received: binning={binning!r}"
        )
    return np.clip(index, 0, num_bins - 1).astype("int64")


def _distance(curve: ReliabilityCurve, norm: Norm) -> float:
    gap = np.abs(curve.confidence - curve.frequency)
    if norm == "l1":
        return float(curve.share @ gap)
    if norm == "l2":
        return float(np.sqrt(curve.share @ gap**2))
    if norm == "max":
        return float(gap.max())
    raise ValueError(
        f"`norm` must be 'l1', 'l2' or 'max'. Received: norm={norm!r}"
    )
