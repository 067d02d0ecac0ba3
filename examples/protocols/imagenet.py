"""ImageNet, with ImageNet-O as what no network has seen.

    KERAS_ZIGZAG_IMAGENET_DIR=path python examples/protocols/imagenet.py

The folder holds `imagenet-o/` and, unless `tensorflow_datasets` has
`imagenet2012`, `train/` and `val/` with one folder for each class. `val/` is
the test set. The schedule is the usual one of a ResNet50.
"""

import sys
from functools import partial

import keras
import numpy as np
from small_resnet import augmented, small_resnet

from keras_zigzag.benchmark import Data, Protocol, Training, noise_before
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.datasets import split_validation, tfds_batches
from keras_zigzag.benchmark.image_batches import (
    ImageBatches,
    class_folders,
    folder_of,
    image_paths,
)

VARIABLE = "KERAS_ZIGZAG_IMAGENET_DIR"
PARTS = ("train", "val", "imagenet-o")
NUM_CLASSES = 1000
# Of ImageNet's pixels by channel, on a scale of 0 to 1.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
IMAGE_SIZE, QUICK_SIZE = 224, 64
PADDING = 1 / 8  # of the image's size, of the random crops
VALIDATION_PERCENT = 2
BATCH_SIZE = 256
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4
LEARNING_RATES = [1e-1] * 30 + [1e-2] * 30 + [1e-3] * 30
QUICK_LEARNING_RATES = [1e-1, 1e-2]
QUICK_TRAIN = 20_000  # images
OPTIONS = noise_before(layers=2)


def load(seed, quick):
    folder = folder_of(VARIABLE, PARTS)
    sizes = {"image_size": size_of(quick), "batch_size": BATCH_SIZE}
    batches = partial(ImageBatches, **sizes)
    if (folder / "train").is_dir():
        sets = folder_sets(folder, batches, seed, quick)
    else:
        sets = tfds_sets(partial(tfds_batches, **sizes), seed, quick)
    ood = batches(image_paths(folder / "imagenet-o", VARIABLE))
    return Data(*sets, ood={"imagenet_o": ood})


def folder_sets(folder, batches, seed, quick):
    """Training, validation and test set, from one folder for each class."""
    paths, labels = class_folders(folder / "train", NUM_CLASSES, VARIABLE)
    train, validation = split_validation(
        np.array(paths), labels, VALIDATION_PERCENT / 100, seed
    )
    size = QUICK_TRAIN if quick else None
    paths, labels = train
    test = class_folders(folder / "val", NUM_CLASSES, VARIABLE)
    return (
        batches(paths[:size], labels[:size], shuffle_seed=seed),
        batches(*validation),
        batches(*test),
    )


def tfds_sets(batches, seed, quick):
    """The same from `tensorflow_datasets`; the seed draws the order alone."""
    end = 100 - VALIDATION_PERCENT
    train = f"train[:{QUICK_TRAIN if quick else f'{end}%'}]"
    return (
        batches("imagenet2012", train, shuffle_seed=seed),
        batches("imagenet2012", f"train[{end}%:]"),
        batches("imagenet2012", "validation"),
    )


def size_of(quick):
    return QUICK_SIZE if quick else IMAGE_SIZE


def build_base(quick):
    size = size_of(quick)
    inputs, x = augmented(size, PADDING * size, MEAN, STD)
    if quick:
        features = small_resnet(x)
    else:
        features = keras.applications.ResNet50(
            include_top=False, weights=None, input_tensor=x, pooling="avg"
        ).output
    outputs = keras.layers.Dense(NUM_CLASSES, activation="softmax")
    return keras.Model(inputs, outputs(features))


def protocols(quick):
    rates = QUICK_LEARNING_RATES if quick else LEARNING_RATES
    return [
        Protocol(
            name="imagenet",
            title="ImageNet → ImageNet-O",
            task="classification",
            load=partial(load, quick=quick),
            build=partial(build_base, quick),
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
                "image_size": size_of(quick),
                "validation_percent": VALIDATION_PERCENT,
            },
        )
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
