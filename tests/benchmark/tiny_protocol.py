"""An experiment of seconds, also run as a command by the tests."""

import sys

import keras
import numpy as np

from keras_zigzag.benchmark import Data, Protocol, Training, Variant
from keras_zigzag.benchmark.__main__ import main

EPOCHS = 3
OPTIONS = {
    "MCDropout": {"layers": 1},
    "VariancePropagation": {"layers": 1},
    "Masksembles": {"layers": 1},
    "OrthonormalCertificates": {"num_steps": 20},
    "SNGP": {"num_features": 16},
}
VARIANTS = {
    "single": Variant("SingleModel"),
    "ZigZag, sampled": Variant("ZigZagModel", {"passes": "sampled"}),
    "dropout": Variant("MCDropout"),
}


def load_data(seed):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((200, 4)).astype("float32")
    y = (x[:, 0] + 0.5 * generator.standard_normal(200) > 0).astype("int32")
    parts = [slice(0, 96), slice(96, 128), slice(128, 200)]
    train, validation, test = [(x[one], y[one]) for one in parts]
    far = generator.normal(4.0, 1.0, (40, 4)).astype("float32")
    return Data(train, validation, test, {"far": far})


def load_values(seed):
    data = load_data(seed)
    sets = [
        (x, x[:, :1] ** 2 + 0.1 * y[:, None])
        for x, y in (data.train, data.validation, data.test)
    ]
    return Data(*sets, data.ood)


def build_base(outputs=2, activation="softmax"):
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dense(outputs, activation=activation),
        ]
    )


def build_values():
    return build_base(1, None)


def make(task="classification", epochs=EPOCHS, **changes):
    is_regression = task == "regression"
    arguments = {
        "name": "tiny",
        "title": "Tiny",
        "task": task,
        "load": load_values if is_regression else load_data,
        "build": build_values if is_regression else build_base,
        "training": Training(
            epochs=epochs,
            batch_size=16,
            optimizer=keras.optimizers.Adam,
            loss="mse" if is_regression else "sparse_categorical_crossentropy",
        ),
        "options": OPTIONS,
    }
    return Protocol(**(arguments | changes))


def protocols(quick=False):
    return [make(variants=VARIANTS, epochs=1 if quick else EPOCHS)]


if __name__ == "__main__":
    sys.exit(main(protocols))
