"""MNIST, with FashionMNIST and grey SVHN as what no network has seen.

    TFDS_DATA_DIR=path/to/tfds python examples/protocols/mnist.py --quick

Two settings of one network: that of the paper's appendix, and that of its
authors' notebook. SVHN is left out where it is not prepared.
"""

import sys
import warnings
from functools import partial

import keras
import numpy as np
from lenet import build_lenet

from keras_zigzag.benchmark import Data, Protocol, Training
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.datasets import (
    is_prepared,
    load_tfds,
    split_validation,
    tfds_folder,
)

NUM_CLASSES = 10
MEAN, STD = 0.1307, 0.3081  # of MNIST's pixels, on a scale of 0 to 1
NUM_VALIDATION = 5_000
LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue, ITU-R BT.601
BORDER = 2  # pixels cut off SVHN's 32x32 on each side
# The appendix does not say how large a batch is. At a rate of 1e-2 some
# methods do not learn from small ones; from these all of them do.
APPENDIX = {"epochs": 3, "batch_size": 1024, "learning_rate": 1e-2}
NOTEBOOK = {"epochs": 5, "batch_size": 64, "learning_rate": 1e-3}
QUICK_EPOCHS = 2
QUICK_TRAIN, QUICK_TEST = 10_000, 5_000  # images
OPTIONS = {
    "MCDropout": {"layers": 2, "rate": 0.2},
    "VariancePropagation": {"layers": 2, "rate": 0.2},
    "Masksembles": {"layers": 2, "scale": 2.0},
}


def load(seed, quick):
    x, y = load_tfds("mnist", "train")
    train, validation = split_validation(x, y, NUM_VALIDATION / len(x), seed)
    test = load_tfds("mnist", "test")
    ood = {"fashion_mnist": load_tfds("fashion_mnist", "test")[0]}
    if is_prepared("svhn_cropped"):
        ood["svhn"] = to_grey(load_tfds("svhn_cropped", "test")[0])
    else:
        warnings.warn(
            f"Without SVHN: there is no svhn_cropped in {tfds_folder()}. "
            "Prepare it with `tensorflow_datasets.load('svhn_cropped')`.",
            stacklevel=2,
        )
    num_train = QUICK_TRAIN if quick else len(x)
    num_test = QUICK_TEST if quick else None
    return Data(
        train=as_floats(train, num_train),
        validation=as_floats(validation),
        test=as_floats(test, num_test),
        ood={
            name: images[:num_test].astype("float32")
            for name, images in ood.items()
        },
    )


def to_grey(images):
    """Colour images as MNIST has them: grey, and of 28x28 pixels."""
    inner = images[:, BORDER:-BORDER, BORDER:-BORDER].astype("float32")
    return (inner @ np.array(LUMINANCE, "float32"))[..., np.newaxis]


def as_floats(data, size=None):
    x, y = data
    return x[:size].astype("float32"), y[:size]


def make(name, title, setting, quick, paper=""):
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
        paper=paper,
    )


def protocols(quick):
    title = "MNIST → FashionMNIST, SVHN"
    return [
        make("mnist", title, APPENDIX, quick),
        make(
            "mnist-notebook",
            f"{title} (notebook)",
            NOTEBOOK,
            quick,
            paper="mnist-notebook",
        ),
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
