"""Tiny models of every kind that is evaluated."""

import keras
import numpy as np

import keras_zigzag as kz
from tests.zigzag.toys import class_data, classifier, randomise


def compiled_classifier(**kwargs):
    model = randomise(classifier())
    model.compile("adam", "sparse_categorical_crossentropy", **kwargs)
    return model


def ordinary(activation="softmax", units=3, loss=None):
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(units, activation=activation),
        ]
    )
    model.compile("adam", loss or "sparse_categorical_crossentropy")
    return model


def segmentation():
    base = keras.Sequential(
        [
            keras.Input((None, None, 1)),
            keras.layers.Conv2D(3, 3, padding="same", activation="softmax"),
        ]
    )
    model = kz.ZigZagModel.from_model(base, task="classification")
    return randomise(model)


def two_outputs():
    inputs = keras.Input((4,))
    x = keras.layers.Dense(5, activation="relu")(inputs)
    outputs = {
        "kind": keras.layers.Dense(3, activation="softmax", name="kind")(x),
        "size": keras.layers.Dense(1, name="size")(x),
    }
    prior = kz.priors.ValuePrior(mean=0.0, variance=1.0)
    model = kz.ZigZagModel.from_model(
        keras.Model(inputs, outputs),
        prior={"kind": "one_hot", "size": prior},
    )
    return randomise(model)


def sets(size=64):
    """ID inputs and labels, and OOD inputs of much the same range."""
    x, y = class_data(size)
    ood, _ = class_data(size // 2, seed=1)
    return x, y, (ood * 1.2).astype(np.float32)
