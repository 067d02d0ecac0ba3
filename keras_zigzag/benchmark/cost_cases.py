"""What the cost benchmark measures: models, data and targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import layers

import keras_zigzag as kz

NUM_CLASSES = 10
CONTESTANTS = ("base", "both", "sampled")
NUM_HEADS = 5
# With the prior at the first layers, and at those of the heads.
OF_HEADS = {"heads": "first", "prior at heads": "heads"}
TARGETS = {
    "parameters": 1.01,
    "fit step, both": 2.05,
    "fit step, sampled": 1.10,
    "predict": 2.0,
    "fit step, five heads to one": 1.10,
    "predict, five heads to one": 1.10,
    "predict, prior at five heads": 1.15,
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
        heads_from: String. Name of the layer from which on there are several
            heads, where these are what is measured. Defaults to `None`.
    """

    title: str
    build: Callable[[], keras.Model]
    input_shape: tuple[int, ...]
    batch_size: int
    num_steps: int
    layer: str | None = None
    predict_target: float = TARGETS["predict"]
    heads_from: str | None = None

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


def with_dense_layers(features: keras.Model) -> keras.Model:
    """Puts two dense layers behind a network that ends in a vector."""
    x = layers.Dense(256, activation="relu", name="hidden")(features.output)
    answer = layers.Dense(NUM_CLASSES, activation="softmax", name="answer")
    return keras.Model(features.input, answer(x))


def build_cnn_of_two_dense_layers() -> keras.Model:
    cnn = build_cnn()
    return with_dense_layers(keras.Model(cnn.inputs, cnn.layers[-2].output))


def build_resnet50_of_two_dense_layers() -> keras.Model:
    return with_dense_layers(
        keras.applications.ResNet50(
            include_top=False,
            weights=None,
            input_shape=(64, 64, 3),
            pooling="avg",
        )
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
    "cnn-heads": Case(
        "CNN, five heads of two dense layers",
        build_cnn_of_two_dense_layers,
        (32, 32, 3),
        64,
        6,
        heads_from="hidden",
    ),
    "resnet50-heads": Case(
        "ResNet50, five heads of two dense layers",
        build_resnet50_of_two_dense_layers,
        (64, 64, 3),
        32,
        4,
        heads_from="hidden",
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
        base, task="classification", **zigzag_options(case, name)
    )
    model.compile(
        "adam",
        "sparse_categorical_crossentropy",
        jit_compile=base.jit_compile,
    )
    return model


def zigzag_options(case: Case, name: str) -> dict[str, Any]:
    """Returns the arguments with which a contestant is made."""
    if name in OF_HEADS:
        return {
            "num_heads": NUM_HEADS,
            "heads_from": case.heads_from,
            "prior_at": OF_HEADS[name],
        }
    return {"layer": case.layer, "passes": name}


def make_data(case: Case, num_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns random inputs and labels; what they are costs no time."""
    rng = np.random.default_rng(0)
    shape = (num_samples, *case.input_shape)
    x = rng.standard_normal(shape, dtype="float32")
    return x, rng.integers(0, NUM_CLASSES, num_samples)
