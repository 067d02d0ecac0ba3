"""Random inputs and targets of any shape."""

import numpy as np


def floats(*shape, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal(shape).astype("float32")


def pixels(*shape, seed=0):
    """Images with values from 0 to 255."""
    generator = np.random.default_rng(seed)
    return generator.uniform(0, 255, shape).astype("float32")


def integers(limit, *shape, seed=0):
    return np.random.default_rng(seed).integers(0, limit, shape)
