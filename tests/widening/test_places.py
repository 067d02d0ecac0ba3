"""The prior at a layer of the user's choice."""

import keras
import pytest

import keras_zigzag as kz
from tests.widening.checker import check_widening
from tests.widening.data import floats, integers
from tests.widening.test_branches import entries

# JAX compiles each operation of each network.
pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


def backbone():
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, padding="same", name="stem")(inputs)
    x = layers.BatchNormalization(name="norm")(x)
    y = layers.Conv2D(4, 3, padding="same", name="inner")(layers.ReLU()(x))
    x = layers.Add(name="add")([x, y])
    return keras.Model(inputs, x, name="backbone")


def classifier():
    return keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Rescaling(1 / 255),
            backbone(),
            layers.GlobalAveragePooling2D(name="pool"),
            layers.Dense(4, activation="relu", name="hidden"),
            layers.Dense(3, activation="softmax", name="head"),
        ]
    )


@pytest.mark.parametrize(
    "layer", ["stem", "norm", "inner", "add", "backbone", "hidden", "head"]
)
def test_each_place(layer):
    model = check_widening(
        classifier(), floats(4, 8, 8, 3), integers(3, 4), layer=layer
    )
    assert len(entries(model.network)) == 1


def test_layer_without_weights():
    base = classifier()
    check_widening(base, floats(4, 8, 8, 3), integers(3, 4), layer="pool")


def test_two_deep():
    base = keras.Sequential(
        [keras.Input((8, 8, 3)), classifier(), layers.Dense(2)]
    )
    check_widening(base, floats(4, 8, 8, 3), integers(2, 4), layer="inner")


def test_what_comes_before_is_the_trunk():
    model = check_widening(
        classifier(), floats(4, 8, 8, 3), integers(3, 4), layer="head"
    )
    trunk, head = model._split._parts
    names = {layer.name for layer in trunk._flatten_layers()}
    assert {"stem", "inner", "hidden"} <= names
    assert "head" not in names
    assert not names & {layer.name for layer in head.layers}


def test_only_the_end_of_a_nested_model_is_in_the_head():
    model = check_widening(
        classifier(), floats(4, 8, 8, 3), integers(3, 4), layer="inner"
    )
    trunk, head = model._split._parts
    assert "stem" in {layer.name for layer in trunk._flatten_layers()}
    assert "stem" not in {layer.name for layer in head._flatten_layers()}


def test_named_layer_that_is_frozen():
    base = classifier()
    base.get_layer("hidden").trainable = False
    # Its own kernel would never learn to read the prior.
    check_widening(base, floats(4, 8, 8, 3), integers(3, 4), layer="hidden")


def test_shared_layer_by_name():
    left, right = keras.Input((6,), name="left"), keras.Input((6,))
    shared = layers.Dense(4, activation="relu", name="shared")
    x = layers.Concatenate()([shared(left), shared(right)])
    base = keras.Model([left, right], layers.Dense(3)(x))
    inputs = [floats(5, 6), floats(5, 6, seed=1)]
    check_widening(base, inputs, integers(3, 5), layer="shared")


def test_layer_shared_by_trunk_and_head():
    inputs = keras.Input((6,))
    shared = layers.Dense(6, activation="relu", name="shared")
    x = layers.Dense(6, activation="relu", name="late")(shared(inputs))
    base = keras.Model(inputs, layers.Dense(3)(shared(x)))
    check_widening(base, floats(5, 6), integers(3, 5), layer="late")


def two_ends(inner=False):
    inputs = keras.Input((6,))
    trunk = layers.Dense(5, activation="relu", name="trunk")
    ends = [layers.Dense(3, name=name) for name in ("a", "b")]
    if not inner:
        x = trunk(inputs)
        return keras.Model(inputs, {end.name: end(x) for end in ends})
    features = keras.Input((5,))
    outputs = {end.name: end(features) for end in ends}
    end = keras.Model(features, outputs, name="end")
    return keras.Model(inputs, end(trunk(inputs)))


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("num_heads", [1, 2])
def test_every_output_has_to_depend_on_the_prior(inner, num_heads):
    def model(**places):
        return kz.ZigZagModel.from_model(
            two_ends(inner), task="classification", **options, **places
        )

    options = {"num_heads": num_heads}
    for places in ({"layer": "a"}, {"prior_at": ["a"]}):
        message = r"always 0. The outputs .'b'. do not.*Received: .*'a"
        with pytest.raises(ValueError, match=message):
            model(**places)
    for places in ({"layer": "trunk"}, {"prior_at": ["a", "b"]}, {}):
        assert model(**places).prior.num_channels == 8


def test_an_output_that_no_layer_leads_to():
    inputs = keras.Input((6,))
    answer = layers.Dense(3, name="answer")(inputs)
    scaled = layers.Rescaling(2.0, name="scaled")(inputs)
    base = keras.Model(inputs, [answer, scaled])
    with pytest.raises(ValueError, match="The outputs .'scaled'. do not"):
        kz.ZigZagModel.from_model(base, task=["classification", "regression"])
