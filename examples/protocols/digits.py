"""Digits 0-4 of scikit-learn, with 5-9 as what the network has never seen.

    python -m keras_zigzag.benchmark run digits

Needs no download, and all methods take a few minutes on two cores.
"""

import sys

import keras
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from keras_zigzag.benchmark import Data, Protocol, Training, noise_before
from keras_zigzag.benchmark.__main__ import main

NUM_CLASSES = 5
TEST_FRACTION = 0.6  # Large, so that every method has mistakes to rank.
VALIDATION_FRACTION = 0.1
EPOCHS, QUICK_EPOCHS = 20, 5
BATCH_SIZE = 32


def load_data(seed):
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8, 1).astype("float32")
    known = labels < NUM_CLASSES
    x, x_test, y, y_test = train_test_split(
        images[known],
        labels[known],
        test_size=TEST_FRACTION,
        stratify=labels[known],
        random_state=seed,
    )
    x, x_val, y, y_val = train_test_split(
        x, y, test_size=VALIDATION_FRACTION, stratify=y, random_state=seed
    )
    return Data(
        train=(x, y),
        validation=(x_val, y_val),
        test=(x_test, y_test),
        ood={"5-9": images[~known]},
    )


def build_base():
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Rescaling(1 / 16),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(NUM_CLASSES, activation="softmax"),
        ]
    )


def protocols(quick=False):
    return [
        Protocol(
            name="digits",
            title="Digits 0–4 → 5–9",
            task="classification",
            load=load_data,
            build=build_base,
            training=Training(
                epochs=QUICK_EPOCHS if quick else EPOCHS,
                batch_size=BATCH_SIZE,
                optimizer=keras.optimizers.Adam,
                loss="sparse_categorical_crossentropy",
            ),
            options=noise_before(layers=2),
            settings={"quick": quick},
        )
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
