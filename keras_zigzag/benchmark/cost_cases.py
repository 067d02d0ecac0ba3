"""What the cost benchmark measures: models, data and targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
from keras import layers

import keras_zigzag as kz

NUM_CLASSES = 10
CONTESTANTS = ("base", "both", "sampled")
TARGETS = {
    "parameters": 1.01,
    "fit step, both": 2.05,
    "fit step, sampled": 1.10,
    "predict": 2.0,
}


@dataclass(frozen=True)
class Case:
    """One base model, the place of its prior, and the load put on it.

    Args:
        title: String. What the table calls the case.
        build: Callable without arguments that returns a new base model.
        input_shape: Tuple of integers. The shape of one input.
        batch_size: Integer. Large enough that computing takes most of a step.
        num_steps: Integer. Batches per timed `fit` or `predict` call, enough
            that what Keras does once per call does not count.
        layer: String. Name of the layer that takes the prior. Defaults to
            `None`, the first feature-mixing layers.
        predict_target: Float. Highest accepted ratio for `predict`. Defaults
            to that of a prior at the first layers.
    """

    title: str
    build: Callable[[], keras.Model]
    input_shape: tuple[int, ...]
    batch_size: int
    num_steps: int
    layer: str | None = None
    predict_target: float = TARGETS["predict"]

    def target(self, quantity: str) -> float | None:
        if quantity == "predict":
            return self.predict_target
        return TARGETS.get(quantity)


def build_mlp() -> keras.Model:
    hidden = [layers.Dense(1024, activation="relu") for _ in range(3)]
    head = layers.Dense(NUM_CLASSES, activation="softmax")
    return keras.Sequential([keras.Input((784,)), *hidden, head])


def build_cnn() -> keras.Model:
    def conv(filters: int) -> keras.layers.Layer:
        return layers.Conv2D(filters, 3, padding="same", activation="relu")

    return keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            conv(64),
            conv(64),
            layers.MaxPooling2D(),
            conv(128),
            conv(128),
            layers.MaxPooling2D(),
            conv(256),
            layers.GlobalAveragePooling2D(),
            layers.Dense(NUM_CLASSES, activation="softmax"),
        ]
    )


def build_resnet50() -> keras.Model:
    return keras.applications.ResNet50(
        weights=None, input_shape=(64, 64, 3), classes=NUM_CLASSES
    )


CASES = {
    "mlp": Case("MLP 784-1024-1024-1024", build_mlp, (784,), 512, 20),
    "cnn": Case("CNN of 5 convolutions, 32x32", build_cnn, (32, 32, 3), 64, 6),
    "resnet50": Case("ResNet50, 64x64", build_resnet50, (64, 64, 3), 32, 4),
    "resnet50-last-block": Case(
        "ResNet50, prior at its last block",
        build_resnet50,
        (64, 64, 3),
        32,
        4,
        layer="conv5_block3_1_conv",
        predict_target=1.3,
    ),
    "resnet50-head": Case(
        "ResNet50, prior at its head",
        build_resnet50,
        (64, 64, 3),
        32,
        4,
        layer="predictions",
        predict_target=1.1,
    ),
}


def build_contestant(case: Case, name: str) -> keras.Model:
    """Returns the compiled base model or the ZigZag model around one.

    `jit_compile` is what Keras chooses for the base model, for all of them.
    """
    base = case.build()
    base.compile("adam", "sparse_categorical_crossentropy")
    if name == "base":
        return base
    model = kz.ZigZagModel.from_model(
        base, task="classification", layer=case.layer, passes=name
    )
    model.compile(
        "adam",
        "sparse_categorical_crossentropy",
        jit_compile=base.jit_compile,
    )
    return model


def make_data(case: Case, num_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns random inputs and labels; what they are costs no time."""
    rng = np.random.default_rng(0)
    shape = (num_samples, *case.input_shape)
    x = rng.standard_normal(shape, dtype="float32")
    return x, rng.integers(0, NUM_CLASSES, num_samples)
