"""Smaller experiments, made of the training and validation samples of others.

For choosing settings: what an experiment tests on, and what it counts as
out-of-distribution, is not looked at. What is unknown is of the same kind as
there, and taken from samples that the experiment trains and validates with.
"""

import numpy as np
from uci import OOD_FRACTION, chosen_feature, is_upper

from keras_zigzag.benchmark import Data
from keras_zigzag.benchmark.datasets import split_validation

MAX_UNKNOWN = 2_000  # samples of the class that is held out
TEST_FRACTION = 0.2  # of the samples of a regression that are known


def without_a_class(seed, load):
    """A classification in which one class is unknown, by the seed.

    The test is on the validation samples of the other classes. Nothing is
    trained with the unknown ones, so that all of them are of use.
    """
    data = load(seed)
    (x, y), (x_val, y_val) = data.train, data.validation
    held_out = seed % len(np.unique(y))
    test = known_classes(x_val, y_val, held_out)
    unknown = np.concatenate([x_val[y_val == held_out], x[y == held_out]])
    return Data(
        train=known_classes(x, y, held_out),
        validation=test,
        test=test,
        ood={"held_out": unknown[:MAX_UNKNOWN]},
    )


def known_classes(x, y, held_out):
    """The other classes, numbered without a gap."""
    known = y != held_out
    return x[known], y[known] - (y[known] > held_out)


def without_upper_part(seed, load):
    """A regression in which the upper part of one feature is unknown.

    With that of `uci` taken away already it is the part next to it, of the
    feature that the same rule chooses. The sets are small, so that training
    and validation samples are split anew, with a larger part for the test.
    """
    data = load(seed)
    both = zip(data.train, data.validation, strict=True)
    x, y = map(np.concatenate, both)
    upper = is_upper(x[:, chosen_feature(x)], OOD_FRACTION)
    train, test = split_validation(x[~upper], y[~upper], TEST_FRACTION, seed)
    return Data(train, validation=test, test=test, ood={"next": x[upper]})
