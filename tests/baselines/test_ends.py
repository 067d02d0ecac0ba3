"""What is changed at the end of a copy of the base model, and what is not."""

import keras
import numpy as np
import pytest
from scipy import special

from keras_zigzag import baselines
from keras_zigzag.baselines import heads
from tests.baselines import toys

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"
NAMED = {"kind": "classification", "size": "regression"}
OF_LOGITS = {
    "TemperatureScaling": {},
    "SingleModel": {"score": "energy"},
    "EvidentialModel": {},
}


def answers(model, x):
    return [
        keras.ops.convert_to_numpy(one)
        for one in keras.tree.flatten(model(x, training=False))
    ]


def assert_same_answers(one, two, x):
    for left, right in zip(answers(one, x), answers(two, x), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


# Layers that others read.


def coarse_and_fine(end="softmax"):
    """A second output that reads the probabilities of the first."""
    inputs = keras.Input((4,))
    x = layers.Dense(8, "relu")(inputs)
    if end == "layer":
        coarse = layers.Softmax(name="coarse")(layers.Dense(3)(x))
    else:
        coarse = layers.Dense(3, end, name="coarse")(x)
    both = layers.Concatenate()([x, coarse])
    fine = layers.Dense(6, "softmax", name="fine")(both)
    return keras.Model(inputs, [coarse, fine])


def called_twice():
    inputs = keras.Input((4,))
    shared = layers.Dense(4, "softmax", name="shared")
    return keras.Model(inputs, shared(shared(inputs)))


def called_in_a_model():
    inputs, hidden = keras.Input((4,)), keras.Input((4,))
    shared = layers.Dense(4, "softmax", name="shared")
    inner = keras.Model(hidden, layers.Dense(4)(shared(hidden)))
    return keras.Model(inputs, shared(inner(inputs)))


def read_in_the_last_model():
    inputs, hidden = keras.Input((4,)), keras.Input((4,))
    coarse = layers.Dense(3, "softmax", name="coarse")(hidden)
    fine = layers.Dense(6, "softmax")(coarse)
    inner = keras.Model(hidden, [coarse, fine])
    return keras.Model(inputs, inner(inputs))


def given_twice():
    base = toys.mlp()
    return keras.Model(
        base.inputs, {"a": base.outputs[0], "b": base.outputs[0]}
    )


READ = {
    one.__name__: one
    for one in (
        coarse_and_fine,
        called_twice,
        called_in_a_model,
        read_in_the_last_model,
        given_twice,
    )
}


@pytest.mark.parametrize("name", OF_LOGITS)
@pytest.mark.parametrize("kind", READ)
def test_nobody_reads_logits_for_probabilities(kind, name):
    method = getattr(baselines, name)
    with pytest.raises(ValueError, match="read by no other layer"):
        method.from_model(READ[kind](), "classification", **OF_LOGITS[name])


def test_one_output_is_not_changed_with_another():
    base = toys.randomise(given_twice())
    with pytest.raises(ValueError, match="read by no other layer"):
        baselines.SingleModel.from_model(
            base, "classification", score={"a": "energy", "b": "entropy"}
        )


def test_a_softmax_layer_may_be_read():
    base, x = toys.randomise(coarse_and_fine("layer")), toys.features()
    model = baselines.TemperatureScaling.from_model(base, "classification")
    assert_same_answers(model.network, base, x)
    found = model.estimate(x)[0]
    for left, right in zip(found, answers(base, x), strict=True):
        left = keras.ops.convert_to_numpy(left)
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


def test_the_logits_have_a_name_of_their_own():
    inputs = keras.Input((4,))
    x = layers.Dense(8, name="kind_logits")(inputs)
    for end in ("softmax", None):
        kind = layers.Dense(3, end, name="kind")(x)
        base = keras.Model(inputs, kind)
        model = baselines.EvidentialModel.from_model(base, "classification")
        assert model.answers.output_names == ["kind"]
    baselines.TemperatureScaling.from_model(base, "classification")


# Names of the outputs.


def ends_in_models(inner="out"):
    """Outputs that are models, with layers in them that share a name."""
    inputs = keras.Input((4,))
    x = layers.Dense(8, name="out")(inputs)
    kind = [keras.Input((8,)), layers.Dense(3, "softmax", name=inner)]
    kind = keras.Sequential(kind, name="kind")
    size = keras.Sequential(
        [keras.Input((8,)), layers.Dense(1, name=inner)], name="size"
    )
    return keras.Model(inputs, [kind(x), size(x)])


@pytest.mark.parametrize("inner", ["out", "kind"])
@pytest.mark.parametrize(
    "name", ["SingleModel", "OrthonormalCertificates", "SNGP", "DeepEnsemble"]
)
def test_outputs_that_are_models_keep_their_names(name, inner):
    base = ends_in_models(inner)
    options = {"DeepEnsemble": {"num_members": 2}}.get(name, {})
    method = getattr(baselines, name)
    model = method.from_model(base, task=NAMED, **options)
    assert model.answers.output_names == base.output_names
    assert model.answers.tasks == list(NAMED.values())
    again = method.from_config(model.get_config())
    assert again.answers.output_names == base.output_names


@pytest.mark.parametrize("end", ["softmax", None])
@pytest.mark.parametrize("name", OF_LOGITS)
def test_logits_of_outputs_that_are_models(name, end):
    inputs = keras.Input((4,))
    tasks = {"kind": "classification", "sort": "classification"}
    outputs = [
        keras.Sequential(
            [keras.Input((4,)), layers.Dense(3, end, name="out")], name=one
        )(inputs)
        for one in tasks
    ]
    base, x = toys.randomise(keras.Model(inputs, outputs)), toys.features()
    method = getattr(baselines, name)
    model = method.from_model(base, tasks, **OF_LOGITS[name])
    assert model.answers.output_names == base.output_names
    if name != "EvidentialModel":
        assert_same_answers(model.network, base, x)


def test_losses_go_by_the_names_of_models():
    base = ends_in_models()
    model = baselines.SingleModel.from_model(base, NAMED)
    model.compile("adam", {"kind": CROSSENTROPY}, metrics={"size": "mae"})
    y = {"kind": toys.labels(), "size": toys.values()}
    logs = model.fit(toys.features(), y, verbose=0).history
    assert set(logs) == {"loss", "kind_loss", "size_loss", "size_mae"}


def test_a_layer_in_two_models_has_two_names():
    inputs = keras.Input((4,))
    shared = layers.Dense(4, name="shared")
    softmax = layers.Softmax(name="softmax")
    parts = [[shared, softmax], [layers.Dense(4), shared, softmax]]
    outputs = [
        keras.Sequential([keras.Input((4,)), *part], name=name)(inputs)
        for part, name in zip(parts, ("one", "two"), strict=True)
    ]
    base, x = toys.randomise(keras.Model(inputs, outputs)), toys.features()
    for name, options in OF_LOGITS.items():
        method = getattr(baselines, name)
        model = method.from_model(base, "classification", **options)
        assert model.answers.output_names == ["one", "two"]
        if name != "EvidentialModel":
            assert_same_answers(model.network, base, x)


# Models of several outputs.


def two_of_one_model():
    hidden, inputs = keras.Input((4,)), keras.Input((4,))
    x = layers.Dense(8, activity_regularizer="l2", name="trunk")(hidden)
    x = layers.Dropout(0.5)(layers.BatchNormalization()(x))
    outputs = [layers.Dense(3, "softmax")(x), layers.Dense(2, "softmax")(x)]
    inner = keras.Model(hidden, outputs)
    x = layers.Rescaling(1.0)(inputs)
    return keras.Model(inputs, inner(x))


def test_an_inner_model_of_several_outputs_runs_once():
    base, x = toys.randomise(two_of_one_model()), toys.features()
    base(x)
    model = baselines.OrthonormalCertificates.from_model(base, "classification")
    assert_same_answers(model.network, base, x)
    assert len(model.network.losses) == len(base.losses) == 1


def test_a_model_that_is_read_and_an_output_runs_once():
    hidden, inputs = keras.Input((4,)), keras.Input((4,))
    trunk = layers.Dense(8, activity_regularizer="l2")(hidden)
    inner = keras.Model(hidden, layers.Dense(3)(trunk), name="inner")
    first = inner(inputs)
    outputs = [first, layers.Dense(2, name="second")(first)]
    base, x = toys.randomise(keras.Model(inputs, outputs)), toys.features()
    network = heads.open_end(base)
    assert network.output_names == ["inner", "second"]
    assert_same_answers(network, base, x)
    assert len(network.losses) == 1


def test_features_of_several_outputs_of_a_model_are_those_of_one_run():
    hidden, inputs = keras.Input((4,)), keras.Input((4,))
    x = layers.Dense(8, activation="relu")(hidden)
    inner = keras.Model(hidden, [layers.Dense(3)(x), layers.Dense(2)(x)])
    outputs = [layers.Activation("softmax")(one) for one in inner(inputs)]
    features = heads.last_features(keras.Model(inputs, outputs))
    assert features.shape == (None, 8)


# Logarithms of probabilities.


@pytest.mark.parametrize("end", ["dense", "layer", "nested"])
def test_logarithms_of_probabilities_stay_such(end):
    x = toys.features()
    base = toys.mlp(activation=None if end == "layer" else "log_softmax")
    if end == "layer":
        base = keras.Sequential([base, layers.Activation("log_softmax")])
    elif end == "nested":
        base = keras.Sequential([keras.Input((4,)), base])
    toys.randomise(base)
    model = baselines.TemperatureScaling.from_model(base, "classification")
    (before,) = answers(base, x)
    for temperature in (1.0, 2.0):
        model.temperatures.assign([temperature])
        found = keras.ops.convert_to_numpy(model.estimate(x)[0])
        expected = special.log_softmax(before / temperature, axis=-1)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["SingleModel", "TemperatureScaling"])
def test_no_energy_of_logarithms_of_probabilities(name):
    method, base = getattr(baselines, name), toys.mlp(3, "log_softmax")
    with pytest.raises(ValueError, match="score='energy'.*log-softmax"):
        method.from_model(base, "classification", score="energy")
    method.from_model(base, "classification")
