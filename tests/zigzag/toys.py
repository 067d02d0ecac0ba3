"""Tiny models and data, and the widened network's arithmetic by hand."""

import keras
import numpy as np

import keras_zigzag as kz


def classifier(activation="softmax", **kwargs):
    """A small network of three classes on four features."""
    base = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dense(3, activation=activation),
        ]
    )
    return kz.ZigZagModel.from_model(base, task="classification", **kwargs)


def class_data(size=20, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((size, 4)).astype("float32")
    return x, np.argmax(x[:, :3], axis=-1).astype("int32")


def linear(num_values=2, layers=(), **kwargs):
    """A linear regression on three features, with targets as they are."""
    base = keras.Sequential(
        [keras.Input((3,)), *layers, keras.layers.Dense(num_values)]
    )
    prior = kz.priors.ValuePrior(mean=0.0, variance=1.0)
    return kz.ZigZagModel.from_model(base, prior=prior, **kwargs)


def value_data(size=6, num_values=2, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((size, 3)).astype("float32")
    y = x[:, :num_values] * 2 + generator.standard_normal((size, num_values))
    return x, y.astype("float32")


def randomise(model, seed=0):
    """Random weights, so that the network reads its prior."""
    generator = np.random.default_rng(seed)
    for weight in model.network.trainable_weights:
        weight.assign(generator.normal(0.0, 0.5, weight.shape))
    return model


def both_rows(x, y):
    """The rows that a widened linear layer reads: `[x, blank]`, `[x, y]`."""
    blank = np.concatenate([x, 0 * y, 0 * x[:, :1]], axis=1)
    answer = np.concatenate([x, y, 0 * x[:, :1] + 1], axis=1)
    return blank, answer


def fit_once(model, x, y, **kwargs):
    """One step on all of the data; the logs."""
    history = model.fit(
        x, y, batch_size=len(x), epochs=1, shuffle=False, verbose=0, **kwargs
    )
    return {name: values[0] for name, values in history.history.items()}


def assert_same_weights(model, other, **tolerances):
    for one, two in zip(model.weights, other.weights, strict=True):
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(one),
            keras.ops.convert_to_numpy(two),
            **tolerances,
        )


def differ(model, other):
    """Whether some trainable weights of two models differ."""
    return not all(
        np.allclose(one, two, atol=1e-7)
        for one, two in zip(weights_of(model), weights_of(other), strict=True)
    )


def weights_of(model):
    return [
        keras.ops.convert_to_numpy(weight) for weight in model.trainable_weights
    ]
