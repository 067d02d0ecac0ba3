"""Heads beside the last layer of a base model."""

import keras
import numpy as np
import pytest

from keras_zigzag.baselines import (
    DeepEnsemble,
    EvidentialModel,
    SingleModel,
    TwoModels,
)
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


def ending_in(*last, shape=(4,)):
    return keras.Sequential([keras.Input(shape), *last])


def standardised():
    back = layers.Normalization(invert=True)
    back.adapt(50 + 10 * toys.values())
    return ending_in(layers.Dense(1), back)


ENDS = {
    "normalization": standardised,
    "batch_norm": lambda: ending_in(
        layers.Dense(1), layers.BatchNormalization()
    ),
    "prelu": lambda: ending_in(
        layers.Conv1D(1, 2), layers.PReLU(), shape=(6, 4)
    ),
    "lstm": lambda: ending_in(layers.LSTM(1), shape=(6, 4)),
    "both_ways": lambda: ending_in(
        layers.Bidirectional(layers.GRU(1)), shape=(6, 4)
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_that_makes_no_values(end):
    with pytest.raises(ValueError, match="End it in `Dense` or a conv"):
        SingleModel.from_model(ENDS[end](), "regression")


@pytest.mark.parametrize("kind", [DeepEnsemble, EvidentialModel, TwoModels])
def test_all_methods_say_so(kind):
    with pytest.raises(ValueError, match="a `Normalization`, which makes no"):
        kind.from_model(standardised(), "regression")


def restricted():
    return layers.Dense(
        1,
        kernel_initializer="ones",
        bias_initializer=keras.initializers.Constant(22.5),
        kernel_constraint="non_neg",
        bias_constraint="non_neg",
        activity_regularizer=keras.regularizers.L2(1e-6),
    )


LAST = {
    "dense": (restricted, (4,)),
    "frozen": (lambda: layers.Dense(1, trainable=False), (4,)),
    "einsum": (
        lambda: layers.EinsumDense(
            "ab,bc->ac", 1, bias_axes="c", bias_initializer="ones"
        ),
        (4,),
    ),
    "wrapped": (
        lambda: layers.TimeDistributed(restricted(), trainable=False),
        (5, 4),
    ),
    "separable": (
        lambda: layers.SeparableConv2D(1, 3, pointwise_constraint="non_neg"),
        (6, 6, 1),
    ),
    "depthwise": (lambda: layers.DepthwiseConv2D(3), (6, 6, 1)),
}


def head_weights(model):
    return [one for one in model.trainable_weights if "_variance" in one.path]


def check_start_and_training(model, shape):
    x = np.abs(np.random.default_rng(0).normal(size=(8, *shape)))
    x = x.astype("float32")
    outputs = model.call_loss(x)
    for log_variance in outputs.log_variances:
        assert not np.any(keras.ops.convert_to_numpy(log_variance))
    heads = head_weights(model)
    y = keras.ops.convert_to_numpy(outputs.prediction)
    model.compile(
        keras.optimizers.SGD(0.01),
        run_eagerly=keras.backend.backend() == "tensorflow",
    )
    before = [keras.ops.convert_to_numpy(one).copy() for one in heads]
    # A depthwise kernel learns once the pointwise one behind it is not zero.
    model.fit(x, y, epochs=2, verbose=0)
    after = [keras.ops.convert_to_numpy(one) for one in heads]
    assert heads and all(map(np.any, after))
    for one, other in zip(before, after, strict=True):
        assert not np.allclose(one, other, rtol=0, atol=1e-8)
    # A constraint to what is not negative would keep the variance at one.
    assert min(map(np.min, after)) < 0


@pytest.mark.parametrize("last", LAST)
def test_the_variance_starts_at_one_and_learns(last):
    make, shape = LAST[last]
    model = SingleModel.from_model(ending_in(make(), shape=shape), "regression")
    check_start_and_training(model, shape)
    assert not any(
        getattr(layer, "activity_regularizer", None)
        for layer in model._flatten_layers()
        if layer.name.endswith("_log_variance")
    )


def test_a_penalty_of_the_mean_is_not_one_of_the_variance():
    base = ending_in(layers.Dense(1), layers.ActivityRegularization(l2=1.0))
    model = SingleModel.from_model(base, "regression")
    penalties = [
        layer
        for layer in model.network.layers
        if isinstance(layer, layers.ActivityRegularization)
    ]
    assert [len(one._inbound_nodes) for one in penalties] == [1]


def frozen_base():
    base = toys.mlp(1, None)
    base.trainable = False
    return base


def test_evidence_of_a_frozen_base():
    base = frozen_base()
    model = EvidentialModel.from_model(base, "regression")
    assert len(model.trainable_weights) == 6
    assert not base.trainable_weights


def test_a_second_network_of_a_frozen_base_is_new():
    base = frozen_base()
    model = TwoModels.from_model(base, train_base=False, seed=0)
    second = model.variance_network
    assert len(second.trainable_weights) == 4
    assert not np.allclose(toys.weights_of(second)[0], toys.weights_of(base)[0])
    assert not model.network.trainable_weights
    assert not base.trainable_weights


def test_members_of_a_frozen_base_are_new():
    base = ending_in(
        layers.TimeDistributed(layers.Dense(1, trainable=False)), shape=(5, 4)
    )
    model = DeepEnsemble.from_model(base, "regression", 2, variance=False)
    one, other = (toys.weights_of(member)[0] for member in model.members)
    assert len(model.trainable_weights) == 4
    assert not np.allclose(one, other)
