import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests.zigzag.toys import (
    class_data,
    classifier,
    fit_once,
    linear,
    randomise,
    value_data,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def absolute_error(y_true, y_pred):
    return ops.mean(ops.abs(y_true - y_pred), axis=-1)


class Absolute(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return absolute_error(y_true, y_pred)


@pytest.mark.parametrize(
    "loss",
    [
        "mae",
        keras.losses.MeanAbsoluteError(),
        Absolute(),
        absolute_error,
        ["mae"],
    ],
)
def test_losses_in_every_form(loss):
    model, (x, y) = randomise(linear()), value_data()
    model.compile(keras.optimizers.SGD(0.0), loss=loss)
    prior = model.training_batch(x, y)[0].prior
    outputs = model.network([ops.concatenate([x, x]), prior])
    errors = np.abs(ops.convert_to_numpy(outputs) - np.concatenate([y, y]))
    logs = fit_once(model, x, y)
    np.testing.assert_allclose(logs["loss"], errors.mean(), rtol=1e-5)


def errors_of(model, x, y):
    """Squared error of each sample with the prior blank, with the answer."""
    prior = model.training_batch(x, y)[0].prior
    outputs = model.network([ops.concatenate([x, x]), prior])
    squares = (ops.convert_to_numpy(outputs) - np.concatenate([y, y])) ** 2
    return squares.mean(axis=-1).reshape(2, -1)


def test_sample_weights_weigh_both_passes():
    model, (x, y) = randomise(linear()), value_data()
    model.compile(keras.optimizers.SGD(0.0), loss="mse")
    weights = np.arange(1.0, 7.0).astype("float32")
    expected = np.mean(errors_of(model, x, y) * weights)
    logs = fit_once(model, x, y, sample_weight=weights)
    np.testing.assert_allclose(logs["loss"], expected, rtol=1e-5)


@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_class_weights(passes):
    x, y = class_data(12)
    class_weight = {0: 1.0, 1: 2.0, 2: 3.0}
    logs = []
    for kwargs in (
        {"class_weight": class_weight},
        {"sample_weight": np.vectorize(class_weight.get)(y)},
    ):
        model = randomise(classifier(passes=passes, seed=0))
        model.compile("sgd", "sparse_categorical_crossentropy")
        logs.append(fit_once(model, x, y, **kwargs)["loss"])
    np.testing.assert_allclose(*logs, rtol=1e-5)


def two_outputs(structure, **kwargs):
    """A class and a value of one input, in a list or a dict."""
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(6, activation="relu")(inputs)
    kind = keras.layers.Dense(3, activation="softmax", name="kind")(hidden)
    size = keras.layers.Dense(1, name="size")(hidden)
    value = kz.priors.ValuePrior(mean=0.0, variance=1.0)
    if structure is dict:
        outputs = {"kind": kind, "size": size}
        prior = {"kind": "one_hot", "size": value}
    else:
        outputs, prior = [kind, size], ["one_hot", value]
    base = keras.Model(inputs, outputs)
    return kz.ZigZagModel.from_model(base, prior=prior, **kwargs)


def two_targets(structure):
    x, kind = class_data(12)
    size = x[:, :1] * 2
    if structure is dict:
        return x, {"kind": kind, "size": size}
    return x, [kind, size]


NAMED = {"kind": "sparse_categorical_crossentropy", "size": "mse"}


# Keras takes a dict of losses for a dict of outputs.
@pytest.mark.first_quick_on("tensorflow", "jax", "torch")
@pytest.mark.parametrize(
    "structure, form, passes",
    [
        (list, list, "both"),
        (list, dict, "both"),
        (dict, dict, "both"),
        (dict, dict, "sampled"),
    ],
)
def test_several_outputs(structure, form, passes):
    model = randomise(two_outputs(structure, passes=passes, seed=0))
    loss = NAMED if form is dict else list(NAMED.values())
    weights = {"kind": 1.0, "size": 0.5} if form is dict else [1.0, 0.5]
    metrics = {"kind": ["accuracy"], "size": ["mae"]}
    model.compile(
        keras.optimizers.SGD(0.0),
        loss=loss,
        loss_weights=weights,
        metrics=metrics if form is dict else list(metrics.values()),
    )
    x, y = two_targets(structure)
    logs = fit_once(model, x, y, validation_data=(x, y))
    np.testing.assert_allclose(
        logs["loss"], logs["kind_loss"] + 0.5 * logs["size_loss"], rtol=1e-5
    )
    if passes == "both":
        assert logs["kind_accuracy"] == pytest.approx(logs["val_kind_accuracy"])
        assert logs["size_mae"] == pytest.approx(logs["val_size_mae"], rel=1e-5)
    out = model.predict(x, verbose=0)
    names = ["kind", "size"] if structure is dict else [0, 1]
    for name in names:
        assert out["uncertainty"][name].shape == (12,)
        assert out["uncertainty"][name].dtype == "float32"
    assert out["prediction"][names[0]].shape == (12, 3)


def test_targets_by_name_for_a_list_of_outputs():
    model = two_outputs(list)
    model.compile("sgd", loss=NAMED)
    x, (kind, size) = two_targets(list)
    logs = fit_once(model, x, {"kind": kind, "size": size})
    assert np.isfinite(logs["loss"])
