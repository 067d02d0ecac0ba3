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
    weights_of,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def as_subclass(cls, passes="both"):
    """A linear regression of this class, with random weights."""
    model = linear()
    return randomise(cls(model.network, model.prior, passes=passes, seed=0))


class OwnLoss(kz.ZigZagModel):
    def compute_loss(self, x, y, y_pred, sample_weight, training=True):
        assert x.shape[0] == y.shape[0] == y_pred.shape[0]
        return ops.mean(ops.sum(x, axis=-1, keepdims=True) * (y - y_pred))


class OwnLossWithoutTraining(kz.ZigZagModel):
    def compute_loss(self, inputs, targets, outputs, sample_weight=None):
        total = ops.sum(inputs, axis=-1, keepdims=True)
        return ops.mean(total * (targets - outputs))


class LossMixin:
    def compute_loss(self, x, y, y_pred, sample_weight, training=True):
        return ops.mean(ops.sum(x, axis=-1, keepdims=True) * (y - y_pred))


class MixedIn(LossMixin, kz.ZigZagModel):
    pass


@pytest.mark.parametrize(
    "cls, passes, size",
    [
        (OwnLoss, "both", 6),
        (OwnLoss, "sampled", 6),
        (OwnLoss, "sampled", 1),
        (OwnLossWithoutTraining, "both", 6),
        (MixedIn, "both", 6),
    ],
)
def test_own_loss_sees_inputs_row_by_row(cls, passes, size):
    model, (x, y) = as_subclass(cls, passes), value_data(size)
    twin = as_subclass(cls, passes)
    batch, targets, _ = twin.training_batch(x, y)
    outputs = ops.convert_to_numpy(twin(batch, training=True))
    rows = np.resize(x, (len(outputs), 3)).sum(axis=-1, keepdims=True)
    model.compile(keras.optimizers.SGD(0.0))
    model.fit(x, y, batch_size=size, shuffle=False, verbose=0)
    logs = model.history.history
    expected = np.mean(rows * (ops.convert_to_numpy(targets) - outputs))
    np.testing.assert_allclose(logs["loss"], expected, rtol=1e-4)


class LossBesideKeras(kz.ZigZagModel):
    def compute_loss(self, x, y, y_pred, sample_weight, training=True):
        loss = super().compute_loss(x, y, y_pred, sample_weight, training)
        return loss + 10.0


def test_own_loss_beside_that_of_keras():
    x, y = value_data()
    logs = []
    for cls in (kz.ZigZagModel, LossBesideKeras):
        model = as_subclass(cls)
        model.compile("sgd", loss="mse")
        logs.append(fit_once(model, x, y)["loss"])
    np.testing.assert_allclose(logs[1], logs[0] + 10.0, rtol=1e-5)


class OwnMetric(kz.ZigZagModel):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.bias = keras.metrics.Mean(name="bias")
        self.total = keras.metrics.Sum(name="total")

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        logs = super().compute_metrics(x, y, y_pred, sample_weight)
        self.bias.update_state(y - y_pred)
        self.total.update_state(ops.sum(x, axis=-1) * y[:, 0])
        return {
            **logs,
            "bias": self.bias.result(),
            "total": self.total.result(),
        }


def test_own_metrics_see_the_blank_rows():
    model, (x, y) = as_subclass(OwnMetric), value_data()
    model.compile(keras.optimizers.SGD(0.0), loss="mse", metrics=["mae"])
    error = y - ops.convert_to_numpy(model(x))
    logs = fit_once(model, x, y, validation_data=(x, y))
    np.testing.assert_allclose(logs["bias"], error.mean(), rtol=1e-4)
    np.testing.assert_allclose(logs["mae"], np.abs(error).mean(), rtol=1e-5)
    expected = np.sum(x.sum(axis=-1) * y[:, 0])
    np.testing.assert_allclose(logs["total"], expected, rtol=1e-4)
    np.testing.assert_allclose(logs["val_bias"], error.mean(), rtol=1e-4)


class OwnStep(kz.ZigZagModel):
    def train_step(self, *args):
        *state, (x, y) = args
        return super().train_step(*state, (x * 0.0, y))


def test_own_train_step_that_calls_super():
    x, y = value_data()
    model, other = as_subclass(OwnStep), as_subclass(kz.ZigZagModel)
    for each, inputs in ((model, x), (other, x * 0.0)):
        each.compile(keras.optimizers.SGD(0.1), loss="mse")
        fit_once(each, inputs, y)
    for left, right in zip(weights_of(model), weights_of(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-7)


class TapeStep(kz.ZigZagModel):
    """As Keras's guide on custom training writes it."""

    def train_step(self, data):
        import tensorflow as tf

        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        x, y, sample_weight = self.training_batch(x, y, sample_weight)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(
                x=x, y=y, y_pred=y_pred, sample_weight=sample_weight
            )
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
        return self.compute_metrics(x, y, y_pred, sample_weight)


@pytest.mark.backend("tensorflow")
@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_own_train_step_from_scratch(passes):
    x, y = value_data()
    model, other = (
        as_subclass(cls, passes) for cls in (TapeStep, kz.ZigZagModel)
    )
    logs = []
    for each in (model, other):
        each.compile(keras.optimizers.SGD(0.1), loss="mse", metrics=["mae"])
        logs.append(fit_once(each, x, y))
    assert logs[0] == pytest.approx(logs[1], rel=1e-5)
    for left, right in zip(weights_of(model), weights_of(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-7)


class PlainStep(kz.ZigZagModel):
    """A step that knows nothing of priors still trains the first pass."""

    def train_step(self, data):
        import tensorflow as tf

        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"own_loss": loss}


@pytest.mark.backend("tensorflow")
def test_own_train_step_without_priors():
    model, (x, y) = as_subclass(PlainStep), value_data()
    model.compile(keras.optimizers.SGD(0.05), loss="mse")
    losses = model.fit(x, y, epochs=3, verbose=0).history["own_loss"]
    assert losses[0] > losses[1] > losses[2]


def test_a_loop_of_ones_own_needs_public_methods_only():
    model, (x, y) = classifier(), class_data(5)
    batch, targets, _ = model.training_batch(x, y)
    outputs = model(batch, training=True)
    assert outputs.shape == (10, 3)
    assert targets.shape == (10,)
