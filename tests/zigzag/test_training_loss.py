import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests.zigzag.toys import (
    both_rows,
    fit_once,
    linear,
    randomise,
    value_data,
    weights_of,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def test_loss_is_the_mean_of_the_two_terms():
    model, (x, y) = randomise(linear()), value_data()
    model.compile(optimizer="sgd", loss="mse")
    kernel, bias = weights_of(model)
    blank, answer = both_rows(x, y)
    blank_loss = np.mean((blank @ kernel + bias - y) ** 2)
    answer_loss = np.mean((answer @ kernel + bias - y) ** 2)
    logs = fit_once(model, x, y)
    np.testing.assert_allclose(
        logs["loss"], (blank_loss + answer_loss) / 2, rtol=1e-5
    )


def test_one_step_of_gradient_descent_by_hand():
    model, (x, y) = randomise(linear()), value_data()
    model.compile(keras.optimizers.SGD(0.1), loss="mse")
    kernel, bias = weights_of(model)
    rows = np.concatenate(both_rows(x, y))
    slope = 2 * (rows @ kernel + bias - np.tile(y, (2, 1))) / (2 * y.size)
    fit_once(model, x, y)
    new_kernel, new_bias = weights_of(model)
    np.testing.assert_allclose(
        new_kernel, kernel - 0.1 * rows.T @ slope, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        new_bias, bias - 0.1 * slope.sum(axis=0), rtol=1e-5, atol=1e-6
    )


def test_train_on_batch_is_the_same_step():
    x, y = value_data()
    one, two = randomise(linear()), randomise(linear())
    for model in (one, two):
        model.compile(keras.optimizers.SGD(0.1), loss="mse")
    fit_once(one, x, y)
    two.train_on_batch(x, y)
    for left, right in zip(weights_of(one), weights_of(two), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6)


def test_batch_normalisation_sees_one_concatenated_batch():
    base = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(4),
            keras.layers.BatchNormalization(momentum=0.9, name="norm"),
            keras.layers.Dense(2),
        ]
    )
    prior = kz.priors.ValuePrior(mean=0.0, variance=1.0)
    model = randomise(kz.ZigZagModel.from_model(base, prior=prior))
    model.compile(keras.optimizers.SGD(0.0), loss="mse")
    x, y = value_data()
    kernel, bias = weights_of(model)[:2]
    hidden = np.concatenate(both_rows(x, y)) @ kernel + bias
    fit_once(model, x, y)
    norm = model.network.get_layer("norm")
    np.testing.assert_allclose(
        ops.convert_to_numpy(norm.moving_mean),
        0.1 * hidden.mean(axis=0),
        rtol=1e-4,
        atol=1e-6,
    )
    np.testing.assert_allclose(
        ops.convert_to_numpy(norm.moving_variance),
        0.9 + 0.1 * hidden.var(axis=0),
        rtol=1e-4,
    )


@keras.saving.register_keras_serializable("tests")
class AddsLoss(keras.layers.Layer):
    def call(self, inputs):
        self.add_loss(ops.convert_to_tensor(0.25))
        return inputs


@pytest.mark.parametrize("passes", ["both", "sampled"])
@pytest.mark.parametrize("after", [False, True])
def test_added_losses_count_once(passes, after):
    layers = [keras.Input((3,)), AddsLoss(), keras.layers.Dense(2)]
    if after:
        layers = [keras.Input((3,)), keras.layers.Dense(2), AddsLoss()]
    prior = kz.priors.ValuePrior(mean=0.0, variance=1.0)
    model = kz.ZigZagModel.from_model(
        keras.Sequential(layers), prior=prior, passes=passes
    )
    model.compile("sgd", loss=lambda y, y_pred: 0.0 * ops.mean(y_pred))
    logs = fit_once(model, *value_data())
    np.testing.assert_allclose(logs["loss"], 0.25, rtol=1e-6)


@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_regularisers_count_once(passes):
    base = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(2, kernel_regularizer=keras.regularizers.L2()),
        ]
    )
    prior = kz.priors.ValuePrior(mean=0.0, variance=1.0)
    model = kz.ZigZagModel.from_model(base, prior=prior, passes=passes)
    randomise(model).compile("sgd", loss=lambda y, p: 0.0 * ops.mean(p))
    expected = 0.01 * np.sum(weights_of(model)[0] ** 2)
    logs = fit_once(model, *value_data())
    np.testing.assert_allclose(logs["loss"], expected, rtol=1e-5)


def test_activity_regularisers_are_the_mean_over_both_passes():
    layer = keras.layers.Dense(
        2, activity_regularizer=keras.regularizers.L2(0.5)
    )
    base = keras.Sequential([keras.Input((3,)), layer])
    prior = kz.priors.ValuePrior(mean=0.0, variance=1.0)
    model = randomise(kz.ZigZagModel.from_model(base, prior=prior))
    model.compile("sgd", loss=lambda y, p: 0.0 * ops.mean(p))
    x, y = value_data()
    kernel, bias = weights_of(model)
    outputs = np.concatenate(both_rows(x, y)) @ kernel + bias
    logs = fit_once(model, x, y)
    expected = 0.5 * np.sum(outputs**2) / len(outputs)
    np.testing.assert_allclose(logs["loss"], expected, rtol=1e-5)


def test_trainable_weights_are_those_of_the_network():
    model = linear(layers=[keras.layers.BatchNormalization()])
    assert [id(w) for w in model.trainable_weights] == [
        id(w) for w in model.network.trainable_weights
    ]
    assert model.count_params() >= model.network.count_params()
