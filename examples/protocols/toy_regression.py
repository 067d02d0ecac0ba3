"""A noisy cubic: what lies beyond the training samples should be uncertain.

    python examples/protocols/toy_regression.py --quick

The toy regression of the paper: six linear blocks with ELU, batch
normalisation and skips learn a cubic from x in [-1, 3]. The rest of [-4, 6] is
out-of-distribution. The targets of the test set are without noise. An epoch
goes over the samples many times, which saves overhead.
"""

import sys
from functools import partial

import keras
import numpy as np

from keras_zigzag.benchmark import Data, Protocol, Training, noise_before
from keras_zigzag.benchmark.__main__ import main

NUM_SAMPLES = 100  # one batch is all of them
SEEN, SHOWN = (-1.0, 3.0), (-4.0, 6.0)
NUM_PLACES = 401  # of the line that is shown
NOISE = 0.2 / 15.0
NUM_BLOCKS = 6
WIDTH = 32
PASSES, QUICK_PASSES = 4000, 200  # over the samples, all in all
PASSES_PER_EPOCH = 100
LEARNING_RATE = 1e-2
OPTIONS = noise_before(layers=2)


def truth(x):
    return (1.5 * x**3 - 5.0 * x**2 + x + 3.5) / 15.0 - 0.2


def load(seed):
    generator = np.random.default_rng(seed)
    x, y = samples(generator)
    line = np.linspace(*SHOWN, NUM_PLACES, dtype="float32")[:, np.newaxis]
    is_seen = (SEEN[0] <= line[:, 0]) & (line[:, 0] <= SEEN[1])
    return Data(
        train=tuple(np.tile(part, (PASSES_PER_EPOCH, 1)) for part in (x, y)),
        validation=samples(generator),
        test=(line[is_seen], truth(line[is_seen])),
        ood={"unseen": line[~is_seen]},
    )


def samples(generator):
    x = generator.uniform(*SEEN, (NUM_SAMPLES, 1))
    y = truth(x) + generator.normal(0.0, NOISE, x.shape)
    return x.astype("float32"), y.astype("float32")


def build_base():
    inputs = keras.Input((1,))
    x = keras.layers.Dense(WIDTH)(inputs)
    for _ in range(NUM_BLOCKS - 1):
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.Activation("elu")(x)
        x = keras.layers.add([x, keras.layers.Dense(WIDTH)(x)])
    x = keras.layers.Activation("elu")(x)
    return keras.Model(inputs, keras.layers.Dense(1)(x))


def protocols(quick):
    passes = QUICK_PASSES if quick else PASSES
    return [
        Protocol(
            name="toy_regression",
            title="Cubic → beyond its samples",
            task="regression",
            load=load,
            build=build_base,
            training=Training(
                epochs=passes // PASSES_PER_EPOCH,
                batch_size=NUM_SAMPLES,
                optimizer=partial(keras.optimizers.Adam, LEARNING_RATE),
                loss="mse",
            ),
            options=OPTIONS,
            settings={
                "quick": quick,
                "noise": NOISE,
                "passes_per_epoch": PASSES_PER_EPOCH,
            },
        )
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
