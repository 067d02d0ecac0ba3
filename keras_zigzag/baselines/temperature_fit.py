"""The temperature under which logits fit labels best, by mathematics alone."""

import numpy as np
from scipy import optimize, special

Array = np.ndarray
# Relative, a few units in the last place of float64.
TOLERANCE = 1e-14


def best_temperature(
    logits: Array, targets: Array, weights: Array | None = None
) -> float:
    """The temperature `T` that minimises the cross-entropy of `logits / T`.

    The cross-entropy is convex in `1 / T`, so its derivative has one root,
    and a bracket of it is halved until it is as narrow as float64 allows.

    Reference: [Guo et al., 2017](https://arxiv.org/abs/1706.04599),
    section 4.2.

    Args:
        logits: Array of shape `(num_answers, num_classes)`.
        targets: Array of that shape, the probabilities of the classes; a row
            of zeros counts for nothing.
        weights: Array of shape `(num_answers,)`, not negative. Defaults to
            `None`, for weights of 1.

    Returns:
        Float.

    Raises:
        ValueError: If there is no such temperature.
    """
    logits = np.asarray(logits, "float64")
    targets = np.asarray(targets, "float64")
    if weights is not None:
        targets = targets * np.asarray(weights)[:, None]
    counted = targets.sum(-1) > 0
    logits, targets = logits[counted], targets[counted]
    _check(logits, targets)
    # With the largest at zero, nothing overflows.
    logits = logits - logits.max(-1, keepdims=True)
    total = targets.sum(-1, keepdims=True)

    def slope(inverse: float) -> float:
        """Derivative of the cross-entropy with respect to `1 / T`."""
        expected = total * special.softmax(inverse * logits, axis=-1)
        return float(np.sum((expected - targets) * logits))

    if slope(0.0) >= 0.0:
        raise ValueError(
            "The logits fit the validation labels no better than chance, so "
            "that the higher the temperature, the better. Received: a model "
            "that is not trained, or labels that are not those of the inputs."
        )
    if np.sum(targets * logits) == 0.0:
        raise ValueError(
            "The model is right on all validation samples, so that the lower "
            "the temperature, the better. Received: "
            f"{len(logits)} labels without a single mistake. Give more "
            "samples, none of which it was trained on."
        )
    low, high = 1.0, 1.0
    while slope(low) > 0.0:
        low /= 2.0
    while slope(high) < 0.0:
        high *= 2.0
    if low == high:
        return 1.0
    root = optimize.brentq(slope, low, high, xtol=TOLERANCE * low)
    return 1.0 / root


def _check(logits: Array, targets: Array) -> None:
    if not len(logits):
        raise ValueError(
            "A temperature needs labels. Received: no sample whose weight is "
            "above zero and whose label is not ignored."
        )
    if not np.isfinite(logits).all():
        raise ValueError(
            "The logits of the validation samples must be finite. Received: "
            f"{int((~np.isfinite(logits)).any(-1).sum())} samples with NaN or "
            "infinity."
        )
    shares = targets / targets.sum(-1, keepdims=True)
    if np.ptp(shares, axis=0).max() == 0.0:
        raise ValueError(
            "A temperature needs labels of two classes at least. Received: "
            f"{len(targets)} validation labels that are all the same."
        )
