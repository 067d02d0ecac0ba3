"""Base models that are compiled with functions of the user's own."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag import baselines
from keras_zigzag.graphs import copy_layer, copy_state

layers = keras.layers


def my_loss(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred), axis=-1)


def my_metric(y_true, y_pred):
    return ops.mean(y_pred)


def compiled(model):
    model.compile("sgd", my_loss, metrics=[my_metric], run_eagerly=True)
    # What Keras knows of the metrics it finds out on the first batch.
    shapes = model.input_shape, model.output_shape
    model.train_on_batch(*[np.ones((2, *one[1:])) for one in shapes])
    return model


def sequential():
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(5),
            layers.Dense(3, activation="softmax"),
        ],
        name="base",
    )


def functional():
    x = keras.Input((4,))
    y = layers.Dense(3, activation="softmax")(layers.Dense(5)(x))
    return keras.Model(x, y, name="base")


@pytest.mark.parametrize("make", [sequential, functional])
@pytest.mark.parametrize(
    "method",
    [kz.ZigZagModel, baselines.SingleModel, baselines.SNGP],
)
def test_base_with_a_loss_of_ones_own(method, make):
    base = compiled(make())
    model = method.from_model(base, task="classification")
    assert base.compiled and not model.compiled
    x = np.ones((2, 4), "float32")
    assert model.predict_on_batch(x)["prediction"].shape == (2, 3)


@pytest.mark.parametrize("in_a_wrapper", [False, True])
def test_inner_model_with_a_loss_of_ones_own(in_a_wrapper):
    inner = compiled(
        keras.Sequential([keras.Input((4,)), layers.Dense(4)], name="inner")
    )
    inner.trainable = False
    x = keras.Input((2, 4) if in_a_wrapper else (4,))
    hidden = layers.TimeDistributed(inner)(x) if in_a_wrapper else inner(x)
    base = keras.Model(x, layers.Dense(3, activation="softmax")(hidden))
    model = kz.ZigZagModel.from_model(base, task="classification")
    x = np.ones((2, *base.input_shape[1:]), "float32")
    np.testing.assert_allclose(
        model.predict_on_batch(x)["prediction"],
        base.predict_on_batch(x),
        rtol=1e-5,
    )


@pytest.mark.parametrize("make", [sequential, functional])
def test_copies_are_not_compiled(make):
    base = compiled(make())
    copy = copy_layer(base)
    copy_state(base, copy)
    assert type(copy) is type(base)
    assert copy.name == base.name
    assert not copy.compiled
    x = np.ones((2, 4), "float32")
    np.testing.assert_allclose(
        copy.predict_on_batch(x), base.predict_on_batch(x), rtol=1e-5
    )


def test_a_layer_in_two_models_stays_one():
    x, shared = keras.Input((4,)), layers.Dense(4, name="shared")
    inner = keras.Sequential([keras.Input((4,)), shared], name="inner")
    base = compiled(keras.Model(x, shared(inner(x))))
    copy = copy_layer(base)
    assert copy.get_layer("shared") is copy.get_layer("inner").layers[0]
