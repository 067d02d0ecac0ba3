"""Scores of a made-up classifier and of a made-up regression."""

import numpy as np


def classification(size=60, num_classes=3, seed=0):
    """Labels, probabilities, uncertainties, and those of an OOD set."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(num_classes, size=size)
    logits = rng.normal(size=(size, num_classes))
    logits[np.arange(size), labels] += 1.5
    p = np.exp(logits)
    p /= p.sum(axis=-1, keepdims=True)
    # Rounded, so that some tie.
    uncertainty = np.round(1.0 - p.max(axis=-1), 1)
    ood = np.round(rng.uniform(0.2, 0.8, size=size // 2), 1)
    return labels, p, uncertainty, ood


def regression(size=60, num_values=2, seed=0):
    """Values, predictions, uncertainties, and those of an OOD set."""
    rng = np.random.default_rng(seed)
    uncertainty = np.round(rng.uniform(0.1, 1.0, size=size), 1)
    targets = rng.normal(size=(size, num_values))
    error = rng.normal(size=(size, num_values)) * uncertainty[:, None]
    ood = rng.uniform(0.3, 1.5, size=size // 3)
    return targets, targets + error, uncertainty, ood
