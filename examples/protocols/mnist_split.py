"""MNIST-S: networks that know the digits 0-4 meet 5-9.

    TFDS_DATA_DIR=path/to/tfds python examples/protocols/mnist_split.py --quick

Network and training are those of `mnist`, with five classes.
"""

import sys

from lenet import APPENDIX, NOTEBOOK, NUM_VALIDATION, make

from keras_zigzag.benchmark import Data
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.datasets import (
    as_floats,
    load_tfds,
    split_validation,
)

NUM_CLASSES = 5  # 0-4 are known, 5-9 are out-of-distribution.
MEAN, STD = 0.1309, 0.3090  # of the pixels of 0-4, on a scale of 0 to 1
QUICK_TRAIN, QUICK_TEST = 10_000, 2_500  # images


def load(seed, quick):
    x, y = load_tfds("mnist", "train")
    known, _ = split_digits(x, y)
    fraction = NUM_VALIDATION / len(known[0])
    train, validation = split_validation(*known, fraction, seed)
    test, (x_ood, _) = split_digits(*load_tfds("mnist", "test"))
    num_train = QUICK_TRAIN if quick else len(x)
    num_test = QUICK_TEST if quick else len(x)
    return Data(
        train=as_floats(train, num_train),
        validation=as_floats(validation, NUM_VALIDATION),
        test=as_floats(test, num_test),
        ood={"digits_5_9": x_ood[:num_test].astype("float32")},
    )


def split_digits(x, y):
    """The digits that are known, and the others."""
    known = y < NUM_CLASSES
    return (x[known], y[known]), (x[~known], y[~known])


def protocols(quick):
    title = "MNIST 0–4 → 5–9"
    digits = load, NUM_CLASSES, MEAN, STD
    return [
        make("mnist_split", title, APPENDIX, quick, *digits),
        make(
            "mnist_split-notebook",
            f"{title} (notebook)",
            NOTEBOOK,
            quick,
            *digits,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
