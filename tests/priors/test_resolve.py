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


@pytest.mark.parametrize("activation", [None, "softmax"])
@pytest.mark.parametrize("kind", [OneHotPrior, priors.IndexPrior])
def test_a_prior_finds_out_whether_it_gets_logits(kind, activation):
    is_logits = activation is None
    given = kind(feedback="soft")
    model = kz.ZigZagModel.from_model(base(3, activation), prior=given)
    assert model.prior.from_logits is is_logits
    assert model.prior.get_config()["from_logits"] is is_logits
    answer = model.prior.answer(np.array([[3.0, -2.0, 0.0]], "float32"))
    is_distribution = np.isclose(ops.convert_to_numpy(answer).sum(), 1)
    assert is_distribution or not is_logits
    # It serves for a model of the other kind, too.
    other = base(3, "softmax" if is_logits else None)
    model = kz.ZigZagModel.from_model(other, prior=given)
    assert model.prior.from_logits is not is_logits


def test_priors_of_several_outputs_find_out_for_themselves():
    inputs = keras.Input((4,))
    base = keras.Model(
        inputs,
        {
            "kind": keras.layers.Dense(3, name="kind")(inputs),
            "yes": keras.layers.Dense(1, "sigmoid", name="yes")(inputs),
        },
    )
    given = {"kind": OneHotPrior(), "yes": priors.BinaryPrior()}
    model = kz.ZigZagModel.from_model(base, prior=given)
    assert model.prior.priors["kind"].from_logits
    assert not model.prior.priors["yes"].from_logits


@pytest.mark.parametrize(
    "kind, units, activation, from_logits",
    [
        (OneHotPrior, 3, None, False),
        (OneHotPrior, 3, "log_softmax", False),
        (OneHotPrior, 3, "softmax", True),
        (priors.BinaryPrior, 1, None, False),
        (priors.BinaryPrior, 1, "sigmoid", True),
    ],
)
def test_a_prior_of_other_outputs(kind, units, activation, from_logits):
    prior = kind(from_logits=from_logits)
    message = f"Received: a `{kind.__name__}` of from_logits={from_logits}"
    with pytest.raises(ValueError, match=message):
        kz.ZigZagModel.from_model(base(units, activation), prior=prior)


@pytest.mark.parametrize("several", [False, True])
def test_each_model_has_a_prior_of_its_own(several):
    given = ValuePrior()
    given.adapt([1.0, 3.0])
    one, prior = base(1), given
    if several:
        one = two_outputs(as_dict=True)
        prior = {"digit": OneHotPrior(), "angle": given}

    def made():
        return kz.ZigZagModel.from_model(one, prior=prior)

    def mean(model):
        found = model.prior.priors["angle"] if several else model.prior
        return float(ops.convert_to_numpy(found.mean)[0])

    first, second = made(), made()
    assert mean(first) == mean(second) == 2.0
    targets = np.array([100.0, 300.0])
    second.adapt({"angle": targets} if several else targets)
    assert (mean(first), mean(second)) == (2.0, 200.0)
    assert float(ops.convert_to_numpy(given.mean)[0]) == 2.0


def test_a_joint_prior_is_copied_with_what_it_has_learnt():
    given = JointPrior({"digit": OneHotPrior(), "angle": ValuePrior()})
    given.build({"digit": (None, 3), "angle": (None, 1)})
    given.adapt({"angle": [1.0, 3.0]})
    model = kz.ZigZagModel.from_model(two_outputs(as_dict=True), prior=given)
    assert model.prior is not given
    assert model.prior.priors["angle"] is not given.priors["angle"]
    mean = ops.convert_to_numpy(model.prior.priors["angle"].mean)
    np.testing.assert_array_equal(mean, [2.0])
