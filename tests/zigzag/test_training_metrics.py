import keras
import numpy as np
import pytest

import keras_zigzag as kz
from tests.zigzag.toys import (
    both_rows,
    class_data,
    classifier,
    fit_once,
    linear,
    randomise,
    value_data,
    weights_of,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def copies_its_prior(**kwargs):
    """A network that can do nothing but give back its prior."""
    base = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(3, use_bias=False, activation="softmax"),
        ]
    )
    model = kz.ZigZagModel.from_model(base, task="classification", **kwargs)
    (kernel,) = model.network.trainable_weights
    copy = np.zeros(kernel.shape)
    copy[4:7] = 20.0 * np.eye(3)
    kernel.assign(copy)
    return model


def test_metrics_by_hand():
    model, (x, y) = randomise(linear()), value_data()
    model.compile(keras.optimizers.SGD(0.0), loss="mse", metrics=["mae"])
    kernel, bias = weights_of(model)
    blank, _ = both_rows(x, y)
    logs = fit_once(model, x, y)
    expected = np.mean(np.abs(blank @ kernel + bias - y))
    np.testing.assert_allclose(logs["mae"], expected, rtol=1e-5)


@pytest.mark.parametrize("passes", ["both", "sampled"])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_training_accuracy_does_not_see_the_label(passes, batch_size):
    model = copies_its_prior(passes=passes, seed=1)
    model.compile(
        keras.optimizers.SGD(0.0),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        weighted_metrics=["sparse_categorical_crossentropy"],
    )
    x, y = class_data(30)
    # With a blank prior the network says 1/3 for each, and class 0 is never
    # the label.
    y = np.where(y == 0, 1, y)
    history = model.fit(x, y, batch_size=batch_size, verbose=0)
    assert history.history["accuracy"] == [0.0]
    np.testing.assert_allclose(
        history.history["sparse_categorical_crossentropy"], np.log(3), rtol=1e-5
    )
    assert history.history["loss"][0] < 0.6 * np.log(3)


@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_validation_is_that_of_the_prediction(passes):
    model = copies_its_prior(passes=passes)
    model.compile(
        "sgd", "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    x, y = class_data(30)
    y = np.where(y == 0, 1, y)
    model.optimizer.learning_rate = 0.0
    logs = fit_once(model, x, y, validation_data=(x, y))
    assert logs["val_accuracy"] == 0.0
    np.testing.assert_allclose(logs["val_loss"], np.log(3), rtol=1e-5)


def test_evaluate_is_that_of_an_ordinary_model():
    model, (x, y) = randomise(classifier()), class_data(30)
    model.compile(
        "sgd", "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    logs = model.evaluate(x, y, batch_size=7, verbose=0, return_dict=True)
    probabilities = keras.ops.convert_to_numpy(model(x))
    expected = -np.log(probabilities[np.arange(30), y])
    np.testing.assert_allclose(logs["loss"], expected.mean(), rtol=1e-4)
    accuracy = np.mean(probabilities.argmax(-1) == y)
    np.testing.assert_allclose(logs["accuracy"], accuracy, rtol=1e-6)


def test_weighted_metrics_weigh_the_blank_rows():
    model, (x, y) = randomise(linear()), value_data()
    model.compile(keras.optimizers.SGD(0.0), "mse", weighted_metrics=["mae"])
    weights = np.arange(1.0, 7.0).astype("float32")
    kernel, bias = weights_of(model)
    blank, _ = both_rows(x, y)
    errors = np.abs(blank @ kernel + bias - y).mean(axis=-1)
    logs = fit_once(model, x, y, sample_weight=weights)
    np.testing.assert_allclose(
        logs["mae"], np.average(errors, weights=weights), rtol=1e-5
    )


def test_the_loss_of_an_epoch_weighs_batches_by_their_samples():
    x, y = value_data(5)
    losses = []
    for part in (slice(0, 3), slice(3, 5)):
        model = randomise(linear())
        model.compile(keras.optimizers.SGD(0.0), "mse")
        losses.append(fit_once(model, x[part], y[part])["loss"])
    model = randomise(linear())
    model.compile(keras.optimizers.SGD(0.0), "mse")
    history = model.fit(x, y, batch_size=3, shuffle=False, verbose=0)
    expected = np.average(losses, weights=[3, 2])
    np.testing.assert_allclose(history.history["loss"], expected, rtol=1e-5)


@pytest.mark.parametrize("num_heads", [1, 2])
def test_metrics_where_one_of_two_outputs_has_a_mask(num_heads):
    tokens = keras.Input((5,), dtype="int32")
    steps = keras.layers.Embedding(7, 4, mask_zero=True)(tokens)
    steps = keras.layers.Dense(4)(steps)
    pooled = keras.layers.GlobalAveragePooling1D()(steps)
    outputs = {
        "a": keras.layers.Dense(3, activation="softmax", name="a")(steps),
        "b": keras.layers.Dense(1, name="b")(pooled),
    }
    base = keras.Model(tokens, outputs)
    model = kz.ZigZagModel.from_model(
        base,
        task={"a": "classification", "b": "regression"},
        num_heads=num_heads,
        heads_from=["a", "b"] if num_heads > 1 else None,
    )
    x = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 1, 2]])
    y = {"a": x % 3, "b": np.ones((2, 1))}
    model.adapt(y)
    loss = {"a": "sparse_categorical_crossentropy", "b": "mse"}
    for one in (base, model):
        one.compile("sgd", loss, metrics={"a": ["accuracy"]})
    expected = base.evaluate(x, y, verbose=0, return_dict=True)
    logs = model.evaluate(x, y, verbose=0, return_dict=True)
    assert logs.keys() == expected.keys()
    if num_heads == 1:
        for name, value in expected.items():
            np.testing.assert_allclose(logs[name], value, rtol=1e-5)
    assert np.isfinite(fit_once(model, x, y)["a_accuracy"])
