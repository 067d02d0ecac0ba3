"""The answers of probabilities; NaN, which equals none, where there is none."""

import numpy as np

from keras_zigzag.metrics.inputs import Array


def most_probable(probabilities: Array) -> Array:
    """The class on the last axis, NaN where one of its numbers is NaN."""
    best = probabilities.argmax(axis=-1)
    unknown = np.isnan(probabilities).any(axis=-1)
    return np.where(unknown, np.nan, best) if unknown.any() else best


def yes_or_no(probability: Array) -> Array:
    """1 above a half and 0 up to it, NaN where it is NaN."""
    return np.where(np.isnan(probability), np.nan, probability > 0.5)
