import functools
import re

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag.priors.losses import (
    ignored_class,
    loss_from_logits,
    takes_integers,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")

losses = keras.losses


def without_addresses(loss):
    """An id that is the same in every process of a parallel run."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(loss))


def model(activation, task="classification", units=3):
    base = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(units, activation=activation)]
    )
    return kz.ZigZagModel.from_model(base, task=task)


def single_model():
    base = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(3, activation="softmax")]
    )
    return kz.baselines.SingleModel.from_model(base, task="classification")


def own_loss(y_true, y_pred):
    return losses.mean_squared_error(y_true, y_pred)


OF_PROBABILITIES = [
    "sparse_categorical_crossentropy",
    "categorical_crossentropy",
    "SparseCategoricalCrossentropy",
    losses.sparse_categorical_crossentropy,
    losses.CategoricalCrossentropy(),
    losses.SparseCategoricalCrossentropy(ignore_class=255),
    losses.CategoricalFocalCrossentropy(),
    losses.categorical_focal_crossentropy,
    ["categorical_crossentropy"],
]
OF_LOGITS = [
    losses.SparseCategoricalCrossentropy(from_logits=True),
    losses.CategoricalCrossentropy(from_logits=True),
    losses.CategoricalFocalCrossentropy(from_logits=True),
    functools.partial(losses.categorical_crossentropy, from_logits=True),
    [losses.CategoricalCrossentropy(from_logits=True)],
]


@pytest.mark.parametrize("loss", OF_PROBABILITIES, ids=without_addresses)
def test_loss_of_probabilities(loss):
    model("softmax").compile("adam", loss)
    with pytest.raises(
        ValueError,
        match="ends in a linear layer.*Received: loss=.*"
        "`from_logits=True`.*`activation='softmax'`",
    ):
        model(None).compile("adam", loss)


@pytest.mark.parametrize("loss", OF_LOGITS, ids=without_addresses)
def test_loss_of_logits(loss):
    model(None).compile("adam", loss)
    with pytest.raises(
        ValueError,
        match="taken for probabilities.*Received: loss=.*"
        "`from_logits=False`.*last layer linear",
    ):
        model("softmax").compile("adam", loss)


@pytest.mark.parametrize(
    "loss",
    [
        "bce",
        "binary_crossentropy",
        losses.BinaryCrossentropy(),
        losses.BinaryFocalCrossentropy(),
        losses.binary_focal_crossentropy,
    ],
    ids=without_addresses,
)
def test_binary_loss_of_probabilities(loss):
    model("sigmoid", "binary", 1).compile("adam", loss)
    with pytest.raises(ValueError, match="`activation='sigmoid'`"):
        model(None, "binary", 1).compile("adam", loss)


@pytest.mark.parametrize(
    "loss",
    [
        losses.BinaryCrossentropy(from_logits=True),
        losses.BinaryFocalCrossentropy(from_logits=True),
    ],
    ids=without_addresses,
)
def test_binary_loss_of_logits(loss):
    model(None, "binary", 2).compile("adam", loss)
    with pytest.raises(ValueError, match="taken for probabilities"):
        model("sigmoid", "binary", 2).compile("adam", loss)


@pytest.mark.parametrize("activation", ["softmax", None])
@pytest.mark.parametrize("loss", ["mse", own_loss, losses.Huber(), None])
def test_losses_that_have_no_say(activation, loss):
    model(activation).compile("adam", loss)


def test_unknown_activation_can_be_told():
    base = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(3), keras.layers.ReLU()]
    )
    loss = losses.CategoricalCrossentropy(from_logits=True)
    unknown = kz.ZigZagModel.from_model(base, task="classification")
    with pytest.raises(ValueError, match="a prior of `from_logits=True`"):
        unknown.compile("adam", loss)
    prior = kz.priors.OneHotPrior(from_logits=True)
    kz.ZigZagModel.from_model(base, prior=prior).compile("adam", loss)


def two_outputs(as_dict):
    inputs = keras.Input((4,))
    kind = keras.layers.Dense(3, activation="softmax", name="kind")(inputs)
    flag = keras.layers.Dense(1, name="flag")(inputs)
    outputs = {"kind": kind, "flag": flag} if as_dict else [kind, flag]
    return kz.ZigZagModel.from_model(
        keras.Model(inputs, outputs),
        task={"kind": "classification", "flag": "binary"},
    )


@pytest.mark.parametrize("as_dict", [True, False])
def test_several_outputs(as_dict):
    kind = "sparse_categorical_crossentropy"
    good, bad = losses.BinaryCrossentropy(from_logits=True), "bce"
    two_outputs(as_dict).compile("adam", {"kind": kind, "flag": good})
    two_outputs(as_dict).compile("adam", {"kind": kind})
    with pytest.raises(ValueError, match="ends in a linear.*loss='bce'"):
        two_outputs(as_dict).compile("adam", {"kind": kind, "flag": bad})
    if not as_dict:
        two_outputs(as_dict).compile("adam", [kind, good])
        with pytest.raises(ValueError, match="ends in a linear.*loss='bce'"):
            two_outputs(as_dict).compile("adam", [kind, bad])


def test_unknown_loss_is_left_to_keras():
    with pytest.raises(ValueError, match="no_such_loss"):
        model("softmax").compile("adam", "no_such_loss")


def test_from_logits_of_a_config():
    loss = losses.BinaryCrossentropy(from_logits=True)
    assert loss_from_logits(losses.serialize(loss)) is True
    assert loss_from_logits("kld") is None


def test_ignored_class():
    loss = losses.SparseCategoricalCrossentropy(ignore_class=255)
    assert ignored_class(loss) == 255
    assert ignored_class(losses.MeanSquaredError()) is None
    assert ignored_class("sparse_categorical_crossentropy") is None
    bound = functools.partial(
        losses.sparse_categorical_crossentropy, ignore_class=255
    )
    assert ignored_class(bound) == 255


INTEGERS = [0, 2, 1]
ONE_HOT = np.eye(3)[INTEGERS]


@pytest.mark.parametrize(
    "loss, labels, message",
    [
        ("categorical_crossentropy", INTEGERS, "takes one-hot labels, and"),
        ("mse", INTEGERS, "takes one-hot labels, and"),
        (losses.KLDivergence(), np.array([INTEGERS]).T, "takes one-hot labels"),
        (
            "sparse_categorical_crossentropy",
            ONE_HOT,
            "takes class indices, and",
        ),
        (
            losses.SparseCategoricalCrossentropy(),
            ONE_HOT,
            "takes class indices",
        ),
        ([losses.sparse_categorical_crossentropy], ONE_HOT, "y.argmax"),
    ],
    ids=without_addresses,
)
def test_labels_of_the_other_kind(loss, labels, message):
    x = np.zeros((3, 4), "float32")
    for one in (model("softmax"), single_model()):
        one.compile("adam", loss)
        with pytest.raises(ValueError, match=message):
            one.fit(x, np.array(labels), verbose=0)


def test_labels_of_the_right_kind():
    assert takes_integers(losses.CategoricalGeneralizedCrossEntropy()) is True
    assert takes_integers(losses.CTC()) is None
    assert takes_integers(own_loss) is None
    assert takes_integers(functools.partial(own_loss)) is None
    for function, is_sparse in (
        (losses.sparse_categorical_crossentropy, True),
        (losses.categorical_crossentropy, False),
    ):
        bound = functools.partial(
            functools.partial(function, axis=-1), from_logits=True
        )
        assert takes_integers(bound) is is_sparse
        assert loss_from_logits(bound) is True
    for loss in OF_PROBABILITIES[:-1]:
        is_sparse = "sparse" in str(loss).lower()
        assert takes_integers(loss) is is_sparse
