import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag import priors
from keras_zigzag.priors import JointPrior, OneHotPrior, ValuePrior

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def base(units=3, activation=None):
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(5, activation="relu"),
            keras.layers.Dense(units, activation=activation),
        ]
    )


def two_outputs(as_dict):
    inputs = keras.Input((4,))
    digit = keras.layers.Dense(3, activation="softmax", name="digit")(inputs)
    angle = keras.layers.Dense(1, name="angle")(inputs)
    outputs = [digit, angle]
    if as_dict:
        outputs = {"digit": digit, "angle": angle}
    return keras.Model(inputs, outputs)


@pytest.mark.parametrize(
    "task, units, activation, kind, from_logits",
    [
        ("classification", 3, "softmax", "OneHotPrior", False),
        ("classification", 3, None, "OneHotPrior", True),
        ("classification", 3, "log_softmax", "OneHotPrior", True),
        ("binary", 1, "sigmoid", "BinaryPrior", False),
        ("binary", 2, None, "BinaryPrior", True),
        ("regression", 2, None, "ValuePrior", None),
    ],
)
def test_from_the_task(task, units, activation, kind, from_logits):
    prior = priors.resolve(base(units, activation), task=task)
    assert type(prior).__name__ == kind
    assert getattr(prior, "from_logits", None) == from_logits
    assert prior.num_channels == units + 1


def test_by_name():
    for name in ("one_hot", "index", "scaled_index"):
        assert priors.resolve(base(), prior=name).from_logits
        assert not priors.resolve(base(3, "softmax"), prior=name).from_logits
    own = OneHotPrior(feedback="soft")
    assert priors.resolve(base(), task="regression", prior=own) is own


@pytest.mark.parametrize("as_dict", [True, False])
@pytest.mark.parametrize(
    "task",
    [
        ["classification", "regression"],
        ("classification", "regression"),
        {"angle": "regression", "digit": "classification"},
    ],
)
def test_several_outputs(as_dict, task):
    if as_dict and not isinstance(task, dict):
        pytest.skip("Outputs by name have tasks by name.")
    prior = priors.resolve(two_outputs(as_dict), task=task)
    digit, angle = prior.priors
    if as_dict:
        digit, angle = prior.priors["digit"], prior.priors["angle"]
    assert isinstance(digit, OneHotPrior) and isinstance(angle, ValuePrior)


def test_one_name_for_all_outputs():
    prior = priors.resolve(two_outputs(False), task="regression")
    assert [one.num_values for one in prior.priors] == [3, 1]


def test_network_with_two_inputs():
    inputs, prior = keras.Input((4,)), keras.Input((4,))
    joined = keras.layers.Concatenate()([inputs, prior])
    network = keras.Model([inputs, prior], keras.layers.Dense(3)(joined))
    model = kz.ZigZagModel(network, "one_hot")
    assert model.prior.from_logits


class Network(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3, activation="softmax")

    def call(self, inputs):
        return self.dense(ops.concatenate(inputs, axis=-1))


def test_subclassed_network():
    with pytest.raises(ValueError, match="not known. Received: .*num_classes"):
        kz.ZigZagModel(Network(), "one_hot")
    model = kz.ZigZagModel(Network(), OneHotPrior(num_classes=3))
    model.compile("adam", "sparse_categorical_crossentropy")
    x, y = np.random.rand(8, 4).astype("float32"), np.arange(8) % 3
    model.fit(x, y, verbose=0)
    assert model.predict(x, verbose=0)["uncertainty"].shape == (8,)


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({}, "`task=` one of .*'regression'.*Received: task=None"),
        ({"task": "clasification"}, "Expected one of .*'binary'.*'clasific"),
        ({"task": 3}, "Received: task=3"),
        ({"task": ["classification"] * 2}, "one output. Received: a list of 2"),
        ({"prior": "onehot"}, "Expected one of .*'one_hot'.*Received: .*'oneh"),
        ({"prior": OneHotPrior}, "Unknown prior.*Received"),
        ({"prior": {}}, "Unknown prior.*Received"),
        ({"prior": OneHotPrior(num_classes=4)}, "one output per class"),
        ({"prior": JointPrior([OneHotPrior()])}, "has 1 outputs. Received"),
    ],
)
def test_bad_names(kwargs, message):
    with pytest.raises(ValueError, match=message):
        kz.ZigZagModel.from_model(base(), **kwargs)


def test_one_sigmoid_is_no_classification():
    with pytest.raises(ValueError, match="Received: .*1.*task='binary'"):
        kz.ZigZagModel.from_model(base(1, "sigmoid"), task="classification")


@pytest.mark.parametrize("activation", ["softmax", "log_softmax"])
@pytest.mark.parametrize("chosen", [{"task": "binary"}, {"prior": "binary"}])
def test_a_softmax_is_not_binary(activation, chosen):
    with pytest.raises(ValueError, match=f"task='binary'.*{activation}.*Give"):
        kz.ZigZagModel.from_model(base(2, activation), **chosen)


def test_the_output_that_is_not_binary_is_named():
    tasks = {"digit": "binary", "angle": "regression"}
    with pytest.raises(ValueError, match="output 'digit', which ends in a so"):
        kz.ZigZagModel.from_model(two_outputs(as_dict=True), task=tasks)


@pytest.mark.parametrize("as_dict", [True, False])
@pytest.mark.parametrize(
    "task",
    [
        ["classification"],
        ["classification"] * 3,
        {"digit": "classification"},
        {"digit": "classification", "angle": "regression", "x": "binary"},
        {"digit": "classification", "angel": "regression"},
    ],
)
def test_wrong_number_of_tasks(as_dict, task):
    with pytest.raises(ValueError, match="one task or prior per.*Received"):
        kz.ZigZagModel.from_model(two_outputs(as_dict), task=task)


def test_one_prior_for_several_outputs():
    with pytest.raises(ValueError, match="one prior per output.*Received"):
        kz.ZigZagModel.from_model(two_outputs(True), prior=OneHotPrior())


def test_outputs_in_outputs():
    inputs = keras.Input((4,))
    outputs = {
        "a": [keras.layers.Dense(1)(inputs)] * 2,
        "b": keras.layers.Dense(1)(inputs),
    }
    with pytest.raises(ValueError, match="Received: outputs in outputs"):
        kz.ZigZagModel.from_model(
            keras.Model(inputs, outputs), task="regression"
        )
