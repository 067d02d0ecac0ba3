"""MNIST, with FashionMNIST and grey SVHN as what no network has seen.

    TFDS_DATA_DIR=path/to/tfds python examples/protocols/mnist.py --quick

Two settings of one network: that of the paper's appendix, and that of its
authors' notebook. SVHN is left out where it is not prepared.
"""

import sys
import warnings

import numpy as np
from lenet import APPENDIX, NOTEBOOK, NUM_VALIDATION, make

from keras_zigzag.benchmark import Data
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.datasets import (
    as_floats,
    is_prepared,
    load_tfds,
    split_validation,
    tfds_folder,
)

NUM_CLASSES = 10
MEAN, STD = 0.1307, 0.3081  # of MNIST's pixels, on a scale of 0 to 1
LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue, ITU-R BT.601
BORDER = 2  # pixels cut off SVHN's 32x32 on each side
QUICK_TRAIN, QUICK_TEST = 10_000, 5_000  # images


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


def protocols(quick):
    title = "MNIST → FashionMNIST, SVHN"
    digits = load, NUM_CLASSES, MEAN, STD
    return [
        make("mnist", title, APPENDIX, quick, *digits),
        make(
            "mnist-notebook",
            f"{title} (notebook)",
            NOTEBOOK,
            quick,
            *digits,
            paper="mnist-notebook",
        ),
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
