"""Base models that are compiled with functions of the user's own."""

import warnings

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag import baselines
from keras_zigzag.copying import copy_layer, copy_state
from tests.baselines.methods import METHODS

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


class OwnLoss(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, **kwargs):
        return super().compute_loss(x, y, y_pred, **kwargs) + 1.0


class OwnStep(keras.Sequential):
    def train_step(self, *args):
        return super().train_step(*args)


def with_own_loss():
    model = functional()
    return OwnLoss(model.input, model.output, name="own")


def with_own_step():
    return OwnStep([keras.Input((4,)), *sequential().layers], name="own")


@pytest.mark.parametrize(
    ("make", "received"),
    [
        (with_own_loss, r"`OwnLoss` with \['compute_loss'\]"),
        (with_own_step, r"`OwnStep` with \['train_step'\]"),
    ],
)
@pytest.mark.parametrize("name", METHODS)
def test_training_of_ones_own_is_said_to_be_left(name, make, received):
    method = METHODS[name]
    with pytest.warns(UserWarning, match=received):
        method.make(make(), method.tasks[0])


def test_copies_can_be_loaded_without_the_class_of_the_base(tmp_path):
    with pytest.warns(UserWarning, match="`OwnLoss`"):
        model = METHODS["deep_ensemble"].make(with_own_loss(), "classification")
    model.save(tmp_path / "model.keras")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = keras.models.load_model(tmp_path / "model.keras")
    x = np.ones((2, 4), "float32")
    np.testing.assert_array_equal(
        loaded.predict_on_batch(x)["prediction"],
        model.predict_on_batch(x)["prediction"],
    )


@pytest.mark.parametrize("name", METHODS)
def test_a_loss_of_no_output_is_refused(name):
    method = METHODS[name]
    task = (
        "classification" if "classification" in method.tasks else "regression"
    )
    inputs = keras.Input((4,))
    x = layers.Dense(8, activation="relu")(inputs)
    end = "softmax" if task == "classification" else None
    outputs = {one: layers.Dense(3, end, name=one)(x) for one in ("a", "b")}
    model = method.make(
        keras.Model(inputs, outputs), dict.fromkeys(outputs, task)
    )
    with pytest.raises(ValueError, match=r"of \['a', 'b'\].*for \['c'\]"):
        model.compile("sgd", {"a": "mse", "c": "mse"})


@keras.saving.register_keras_serializable("keras_zigzag_tests")
class Both(layers.Layer):
    def call(self, inputs, more=None):
        return inputs if more is None else inputs + more


@pytest.mark.parametrize(
    "name", ["zigzag", "single_model", "deep_ensemble", "mc_dropout", "sngp"]
)
def test_an_input_that_is_optional_stays_so(name):
    inputs = keras.Input((4,)), keras.Input((4,), optional=True)
    x = layers.Dense(5, activation="relu")(Both()(*inputs))
    base = keras.Model(list(inputs), layers.Dense(3, "softmax")(x))
    model = METHODS[name].make(base, "classification")
    x = ops.convert_to_tensor(np.ones((2, 4), "float32"))
    found = model([x, None])
    assert found.shape == (2, 3)
