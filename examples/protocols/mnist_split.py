"""MNIST-S: networks that know the digits 0-4 meet 5-9.

    TFDS_DATA_DIR=path/to/tfds python examples/protocols/mnist_split.py --quick

Network and training are those of `mnist`, with five classes.
"""

import sys
from functools import partial

import keras
from lenet import build_lenet

from keras_zigzag.benchmark import Data, Protocol, Training
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.datasets import load_tfds, split_validation

NUM_CLASSES = 5  # 0-4 are known, 5-9 are out-of-distribution.
MEAN, STD = 0.1309, 0.3090  # of the pixels of 0-4, on a scale of 0 to 1
NUM_VALIDATION = 5_000
# The appendix does not say how large a batch is. At a rate of 1e-2 some
# methods do not learn from small ones; from these all of them do.
APPENDIX = {"epochs": 3, "batch_size": 1024, "learning_rate": 1e-2}
NOTEBOOK = {"epochs": 5, "batch_size": 64, "learning_rate": 1e-3}
QUICK_EPOCHS = 2
QUICK_TRAIN, QUICK_TEST = 10_000, 2_500  # images
OPTIONS = {
    "MCDropout": {"layers": 2, "rate": 0.2},
    "VariancePropagation": {"layers": 2, "rate": 0.2},
    "Masksembles": {"layers": 2, "scale": 2.0},
}


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


def as_floats(data, size):
    x, y = data
    return x[:size].astype("float32"), y[:size]


def make(name, title, setting, quick):
    return Protocol(
        name=name,
        title=title,
        task="classification",
        load=partial(load, quick=quick),
        build=partial(build_lenet, NUM_CLASSES, MEAN, STD),
        training=Training(
            epochs=QUICK_EPOCHS if quick else setting["epochs"],
            batch_size=setting["batch_size"],
            optimizer=partial(keras.optimizers.Adam, setting["learning_rate"]),
            loss="sparse_categorical_crossentropy",
        ),
        options=OPTIONS,
        settings={
            "quick": quick,
            "num_validation": NUM_VALIDATION,
            "mean": MEAN,
            "std": STD,
        },
    )


def protocols(quick):
    title = "MNIST 0–4 → 5–9"
    return [
        make("mnist_split", title, APPENDIX, quick),
        make("mnist_split-notebook", f"{title} (notebook)", NOTEBOOK, quick),
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
