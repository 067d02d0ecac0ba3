"""Ages of faces (UTKFace), with drawn ones (iCartoonFace) as what is unseen.

    KERAS_ZIGZAG_AGE_DIR=path/to/faces python examples/protocols/age.py --quick

The folder holds `utkface/`, whose files are named `age_gender_race_date.jpg`
or `age_gender_race_date.jpg.chip.jpg`, and `icartoonface/`. Network and loss
are those of the paper's appendix, where the widths and the schedule are ours.
"""

import re
import sys
import warnings
from functools import partial

import keras
import numpy as np
from small_resnet import augmented, small_resnet

from keras_zigzag.benchmark import Data, Protocol, Training, noise_before
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.datasets import split_validation
from keras_zigzag.benchmark.image_batches import (
    ImageBatches,
    folder_of,
    image_paths,
)

VARIABLE = "KERAS_ZIGZAG_AGE_DIR"
KNOWN, UNKNOWN = "utkface", "icartoonface"
# Of 0 or 1, and 0 to 4: what is broken mostly lacks one of them.
NAME = re.compile(r"(\d{1,3})_[01]_[0-4]_\d+\.")
MEAN = STD = (0.5, 0.5, 0.5)  # of the pixels, on a scale of 0 to 1
IMAGE_SIZE, QUICK_SIZE = 128, 48
PADDING = 1 / 16  # of the image's size, of the random crops
WIDTHS = (512, 256, 128, 64)  # and the age, the fifth dense layer
SLOPE = 0.01  # of LeakyReLU below zero
TEST_FRACTION, VALIDATION_FRACTION = 0.2, 0.1
MAX_UNKNOWN = 5_000  # images of iCartoonFace
BATCH_SIZE = 64
LEARNING_RATES = [1e-3] * 20 + [1e-4] * 10
QUICK_LEARNING_RATES = [1e-3] * 3
QUICK_IMAGES = 5_000  # of each set
OPTIONS = noise_before(layers=4)


def load(seed, quick):
    folder = folder_of(VARIABLE, (KNOWN, UNKNOWN))
    paths, ages = read_ages(image_paths(folder / KNOWN, VARIABLE))
    unknown = np.array(image_paths(folder / UNKNOWN, VARIABLE))
    order = np.random.default_rng(seed).permutation(len(paths))
    order = order[: QUICK_IMAGES if quick else None]
    rest, test = split_validation(
        paths[order], ages[order], TEST_FRACTION, seed
    )
    train, validation = split_validation(*rest, VALIDATION_FRACTION, seed)
    batches = partial(
        ImageBatches, image_size=size_of(quick), batch_size=BATCH_SIZE
    )
    order = np.random.default_rng(seed).permutation(len(unknown))
    return Data(
        train=batches(*train, shuffle_seed=seed),
        validation=batches(*validation),
        test=batches(*test),
        ood={UNKNOWN: batches(unknown[order[:MAX_UNKNOWN]])},
    )


def read_ages(paths):
    """Images whose names say the age, and the ages; the others are left out."""
    found = [NAME.match(path.name) for path in paths]
    broken = [p for p, m in zip(paths, found, strict=True) if m is None]
    if broken:
        warnings.warn(
            f"{len(broken)} of {len(paths)} images of {KNOWN} are left out: "
            "their names are not of the form age_gender_race_date.jpg, such "
            f"as {broken[0].name}.",
            stacklevel=2,
        )
    kept = [p for p, m in zip(paths, found, strict=True) if m is not None]
    ages = [[float(m[1])] for m in found if m is not None]
    return np.array(kept), np.array(ages, "float32")


def size_of(quick):
    return QUICK_SIZE if quick else IMAGE_SIZE


def build_base(quick):
    size = size_of(quick)
    inputs, x = augmented(size, PADDING * size, MEAN, STD)
    if quick:
        x = small_resnet(x)
    else:
        x = keras.applications.ResNet152(
            include_top=False, weights=None, input_tensor=x, pooling="avg"
        ).output
    for width in WIDTHS:
        x = keras.layers.LeakyReLU(SLOPE)(keras.layers.Dense(width)(x))
    return keras.Model(inputs, keras.layers.Dense(1)(x))


def protocols(quick):
    rates = QUICK_LEARNING_RATES if quick else LEARNING_RATES
    return [
        Protocol(
            name="age",
            title="UTKFace → iCartoonFace",
            task="regression",
            load=partial(load, quick=quick),
            build=partial(build_base, quick),
            training=Training(
                epochs=len(rates),
                batch_size=BATCH_SIZE,
                optimizer=partial(keras.optimizers.Adam, rates[0]),
                loss="mae",
                learning_rates=rates,
            ),
            options=OPTIONS,
            settings={
                "quick": quick,
                "image_size": size_of(quick),
                "widths": WIDTHS,
                "max_unknown": MAX_UNKNOWN,
            },
            units="years",
        )
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
