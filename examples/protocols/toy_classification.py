"""Two moons: what is far from all samples should be uncertain.

    python examples/protocols/toy_classification.py --quick

The toy classification of the paper: ten linear layers with ELU and skips. The
places of a grid that are far from the training samples are out-of-distribution.
An epoch goes over the samples many times, which saves overhead.
"""

import sys
from functools import partial

import keras
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

from keras_zigzag.benchmark import Data, Protocol, Training, noise_before
from keras_zigzag.benchmark.__main__ import main

NUM_SAMPLES = 500  # of each set; one batch is all of them
NOISE = 0.1
X_RANGE, Y_RANGE = (-2.0, 3.0), (-2.0, 2.0)
GRID = (101, 81)
FAR = 0.5  # from all training samples: what counts as out-of-distribution
NUM_LAYERS = 10
WIDTH = 32
PASSES, QUICK_PASSES = 300, 40  # over the samples, all in all
PASSES_PER_EPOCH = 20
LEARNING_RATE = 1e-2
OPTIONS = noise_before(layers=2)


def load(seed):
    x, y = moons(seed)
    grid = places()
    return Data(
        train=(np.tile(x, (PASSES_PER_EPOCH, 1)), np.tile(y, PASSES_PER_EPOCH)),
        validation=moons(seed + 2000),
        test=moons(seed + 1000),
        ood={"far": grid[cdist(grid, x).min(axis=-1) > FAR]},
    )


def moons(seed):
    x, y = make_moons(NUM_SAMPLES, noise=NOISE, random_state=seed)
    return x.astype("float32"), y


def places():
    """All places of the grid, row by row."""
    ranges = zip((X_RANGE, Y_RANGE), GRID, strict=True)
    axes = [np.linspace(*ends, count) for ends, count in ranges]
    return np.stack(np.meshgrid(*axes), -1).reshape(-1, 2).astype("float32")


def build_base():
    inputs = keras.Input((2,))
    x = keras.layers.Dense(WIDTH, "elu")(inputs)
    for _ in range(NUM_LAYERS - 2):
        x = keras.layers.add([x, keras.layers.Dense(WIDTH, "elu")(x)])
    return keras.Model(inputs, keras.layers.Dense(2, "softmax")(x))


def protocols(quick):
    passes = QUICK_PASSES if quick else PASSES
    return [
        Protocol(
            name="toy_classification",
            title="Two moons → far places",
            task="classification",
            load=load,
            build=build_base,
            training=Training(
                epochs=passes // PASSES_PER_EPOCH,
                batch_size=NUM_SAMPLES,
                optimizer=partial(keras.optimizers.Adam, LEARNING_RATE),
                loss="sparse_categorical_crossentropy",
            ),
            options=OPTIONS,
            settings={
                "quick": quick,
                "noise": NOISE,
                "far": FAR,
                "passes_per_epoch": PASSES_PER_EPOCH,
            },
        )
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
