"""CIFAR-10, with the house numbers of SVHN as what no network has seen.

    TFDS_DATA_DIR=path/to/tfds python examples/protocols/cifar10.py --quick

A DLA with the schedule of the paper's appendix; the weight decay is that of
its authors' notebook. A quick run has a small ResNet and fewer epochs.
"""

import sys
from functools import partial

import keras
from dla import dla
from small_resnet import augmented, small_resnet

from keras_zigzag.benchmark import Data, Protocol, Training, noise_before
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.datasets import (
    as_floats,
    load_tfds,
    split_validation,
)

NUM_CLASSES = 10
SIZE = 32
# Of CIFAR-10's pixels by channel, on a scale of 0 to 1.
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
PADDING = 4  # pixels, of the random crops
VALIDATION_FRACTION = 0.1
BATCH_SIZE = 128
MOMENTUM = 0.9
WEIGHT_DECAY = 5e-4
LEARNING_RATES = [1e-1] * 20 + [1e-2] * 10
QUICK_LEARNING_RATES = [1e-1] * 4 + [1e-2] * 2
QUICK_TRAIN, QUICK_TEST = 20_000, 5_000  # images
OPTIONS = noise_before(layers=2)


def load(seed, quick):
    num_train = QUICK_TRAIN if quick else None
    num_test = QUICK_TEST if quick else None
    x, y = as_floats(load_tfds("cifar10", "train"), num_train)
    train, validation = split_validation(x, y, VALIDATION_FRACTION, seed)
    return Data(
        train=train,
        validation=validation,
        test=as_floats(load_tfds("cifar10", "test"), num_test),
        ood={"svhn": as_floats(load_tfds("svhn_cropped", "test"), num_test)[0]},
    )


def build_base(features):
    inputs, x = augmented(SIZE, PADDING, MEAN, STD)
    outputs = keras.layers.Dense(NUM_CLASSES, activation="softmax")
    return keras.Model(inputs, outputs(features(x)))


def protocols(quick):
    features = small_resnet if quick else dla
    rates = QUICK_LEARNING_RATES if quick else LEARNING_RATES
    return [
        Protocol(
            name="cifar10",
            title="CIFAR-10 → SVHN",
            task="classification",
            load=partial(load, quick=quick),
            build=partial(build_base, features),
            training=Training(
                epochs=len(rates),
                batch_size=BATCH_SIZE,
                optimizer=partial(
                    keras.optimizers.SGD,
                    rates[0],
                    momentum=MOMENTUM,
                    weight_decay=WEIGHT_DECAY,
                ),
                loss="sparse_categorical_crossentropy",
                learning_rates=rates,
            ),
            options=OPTIONS,
            settings={
                "quick": quick,
                "padding": PADDING,
                "validation_fraction": VALIDATION_FRACTION,
                "mean": MEAN,
                "std": STD,
            },
            paper="cifar10-notebook",
        )
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
