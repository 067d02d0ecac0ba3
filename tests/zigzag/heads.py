"""A small network with several heads, and its data."""

import keras
import numpy as np
from keras import ops

import keras_zigzag as kz

layers = keras.layers
NUM_HEADS = 3


def base_model(activation="softmax", outputs=3):
    """Two hidden layers, with a regulariser on trunk and heads."""
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(6, "tanh", kernel_regularizer="l2", name="trunk"),
            layers.Dense(5, "tanh", kernel_regularizer="l2", name="hidden"),
            layers.Dense(outputs, activation, name="answer"),
        ],
        name="base",
    )


def headed(prior_at="first", num_heads=NUM_HEADS, base=None, **kwargs):
    model = kz.ZigZagModel.from_model(
        base or base_model(),
        task="classification",
        num_heads=num_heads,
        prior_at=prior_at,
        **kwargs,
    )
    generator = np.random.default_rng(0)
    for weight in model.network.trainable_weights:
        weight.assign(generator.normal(0.0, 0.5, weight.shape))
    return model


def data(size=12):
    generator = np.random.default_rng(1)
    x = generator.standard_normal((size, 4)).astype("float32")
    return x, generator.integers(0, 3, size)


def compiled(model, optimizer="sgd", **kwargs):
    """Without a graph, for which TensorFlow takes seconds."""
    eager = keras.backend.backend() == "tensorflow"
    model.compile(
        optimizer,
        "sparse_categorical_crossentropy",
        run_eagerly=eager,
        **kwargs,
    )
    return model


def of_network(model, x, prior):
    return ops.convert_to_numpy(model.network([x, prior]))
