"""Graphs with branches: several first layers, inputs, outputs, sharing."""

import keras
import pytest

from keras_zigzag.prior_layers import AddPrior, ConcatenatePrior
from tests.widening.checker import check_widening
from tests.widening.data import floats, integers

# JAX compiles each operation of each network.
pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


def entries(network):
    """All layers through which the prior enters."""
    return [
        layer
        for layer in network._flatten_layers()
        if isinstance(layer, (AddPrior, ConcatenatePrior))
    ]


def test_inception_stem():
    inputs = keras.Input((8, 8, 3))
    pooled = layers.MaxPooling2D(3, strides=1, padding="same")(inputs)
    branches = [
        layers.Conv2D(2, 1)(inputs),
        layers.Conv2D(2, 3, padding="same")(inputs),
        layers.Conv2D(2, 5, padding="same")(layers.Conv2D(2, 1)(inputs)),
        layers.Conv2D(2, 1)(pooled),
    ]
    x = layers.Concatenate()(branches)
    x = layers.GlobalAveragePooling2D()(x)
    base = keras.Model(inputs, layers.Dense(3)(x))
    model = check_widening(base, floats(4, 8, 8, 3), integers(3, 4))
    assert len(entries(model.network)) == 4


def test_skip_connection_from_the_input():
    inputs = keras.Input((6,))
    x = layers.Dense(6, activation="relu", name="first")(inputs)
    x = layers.Add()([x, inputs])
    x = layers.Dense(6, activation="relu", name="second")(x)
    x = layers.Concatenate()([x, inputs])
    base = keras.Model(inputs, layers.Dense(3, name="third")(x))
    model = check_widening(base, floats(5, 6), integers(3, 5))
    # The skips reach the others without passing the first.
    assert len(entries(model.network)) == 3


def test_an_output_that_skips_every_layer():
    inputs = keras.Input((3,))
    x = layers.Dense(3)(layers.Dense(8, activation="relu")(inputs))
    base = keras.Model(inputs, layers.Add()([x, inputs]))
    check_widening(base, floats(5, 3), floats(5, 3), "regression")


def encoder(**kwargs):
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(4, activation="relu"),
            layers.Dense(6),
        ],
        **kwargs,
    )


@pytest.mark.parametrize("shared", [lambda: layers.Dense(4, "relu"), encoder])
def test_siamese(shared):
    left, right = keras.Input((6,), name="left"), keras.Input((6,))
    shared = shared()
    difference = layers.Subtract()([shared(left), shared(right)])
    outputs = layers.Dense(1, activation="sigmoid")(difference)
    base = keras.Model([left, right], outputs)
    inputs = [floats(5, 6), floats(5, 6, seed=1)]
    model = check_widening(base, inputs, integers(2, 5, 1), "binary")
    assert len(entries(model.network)) == 1


def test_siamese_with_arithmetic_between():
    left, right = keras.Input((6,), name="left"), keras.Input((6,))
    shared = encoder()
    difference = keras.ops.abs(shared(left) - shared(right))
    base = keras.Model([left, right], layers.Dense(1)(difference))
    inputs = [floats(5, 6), floats(5, 6, seed=1)]
    check_widening(base, inputs, floats(5, 1), "regression")


@pytest.mark.parametrize("shared", [lambda: layers.Dense(6), encoder])
def test_shared_by_an_early_and_a_late_place(shared):
    inputs = keras.Input((6,))
    shared = shared()
    x = shared(inputs)
    x = layers.Dense(6, activation="relu")(x)
    base = keras.Model(inputs, layers.Dense(3)(shared(x)))
    check_widening(base, floats(5, 6), integers(3, 5))


@pytest.mark.parametrize("shared", [lambda: layers.Dense(6), encoder])
def test_shared_and_met_late_first(shared):
    left, right = keras.Input((6,), name="left"), keras.Input((6,))
    shared = shared()
    x = shared(layers.Dense(6, activation="relu")(left))
    x = layers.Dense(6)(layers.Dense(6)(x))
    y = shared(right)
    outputs = layers.Dense(3)(layers.Concatenate()([x, y]))
    base = keras.Model([left, right], outputs)
    inputs = [floats(5, 6), floats(5, 6, seed=1)]
    model = check_widening(base, inputs, integers(3, 5))
    assert len(entries(model.network)) == 2


def two_towers(structure):
    image = keras.Input((6, 6, 1), name="image")
    table = keras.Input((4,), name="table")
    x = layers.Flatten()(layers.Conv2D(2, 3, activation="relu")(image))
    y = layers.Dense(4, activation="relu")(table)
    x = layers.Concatenate()([x, y])
    return keras.Model(structure(image, table), layers.Dense(3)(x))


def test_list_of_inputs():
    base = two_towers(lambda image, table: [image, table])
    model = check_widening(
        base, [floats(5, 6, 6, 1), floats(5, 4)], integers(3, 5)
    )
    assert len(entries(model.network)) == 2


def test_dict_of_inputs():
    base = two_towers(lambda image, table: {"table": table, "image": image})
    inputs = {"image": floats(5, 6, 6, 1), "table": floats(5, 4)}
    check_widening(base, inputs, integers(3, 5))


def two_heads(structure):
    inputs = keras.Input((6,))
    x = layers.Dense(8, activation="relu")(inputs)
    digit = layers.Dense(3, activation="softmax", name="digit")(x)
    angle = layers.Dense(2, name="angle")(x)
    return keras.Model(inputs, structure(digit, angle))


def test_list_of_outputs():
    base = two_heads(lambda digit, angle: [digit, angle])
    targets = [integers(3, 5), floats(5, 2)]
    check_widening(
        base, floats(5, 6), targets, ["classification", "regression"]
    )


def test_dict_of_outputs():
    base = two_heads(lambda digit, angle: {"digit": digit, "angle": angle})
    targets = {"digit": integers(3, 5), "angle": floats(5, 2)}
    tasks = {"digit": "classification", "angle": "regression"}
    model = check_widening(base, floats(5, 6), targets, tasks)
    assert set(model.predict(floats(2, 6), verbose=0)["uncertainty"]) == {
        "digit",
        "angle",
    }


def test_nested_three_deep():
    inner = encoder(name="inner")
    inputs = keras.Input((6,))
    middle = keras.Model(
        inputs, layers.Dense(4)(inner(layers.BatchNormalization()(inputs)))
    )
    base = keras.Sequential(
        [keras.Input((6,)), layers.Rescaling(0.5), middle, layers.Dense(3)]
    )
    model = check_widening(base, floats(5, 6), integers(3, 5))
    assert len(entries(model.network)) == 1


def test_nested_models_with_several_inputs_and_outputs():
    left, right = (
        keras.Input((6,), name="left"),
        keras.Input((4,), name="right"),
    )
    x = layers.Dense(4, activation="relu")(left)
    inner = keras.Model(
        {"left": left, "right": right},
        {"sum": layers.Add()([x, right]), "right": right},
    )
    outer_left, outer_right = keras.Input((6,)), keras.Input((4,))
    parts = inner({"left": outer_left, "right": outer_right})
    x = layers.Concatenate()([parts["sum"], parts["right"]])
    base = keras.Model([outer_left, outer_right], layers.Dense(3)(x))
    inputs = [floats(5, 6), floats(5, 4)]
    model = check_widening(base, inputs, integers(3, 5))
    # "right" comes out of the nested model as it went in.
    assert len(entries(model.network)) == 2


@pytest.mark.parametrize("training", [False, None])
def test_nested_called_for_inference(training):
    backbone = keras.Sequential(
        [
            keras.Input((6, 6, 3)),
            layers.Conv2D(4, 3, name="conv"),
            layers.BatchNormalization(name="norm"),
            layers.Dropout(0.9),
            layers.Flatten(),
        ]
    )
    inputs = keras.Input((6, 6, 3))
    x = backbone(inputs, training=training)
    base = keras.Model(inputs, layers.Dense(3)(x))
    model = check_widening(base, floats(4, 6, 6, 3), integers(3, 4))
    assert model.network.count_params() == base.count_params() + 9 * 4 * 4


def test_frozen_layers_are_passed_over():
    backbone = keras.Sequential(
        [
            keras.Input((6, 6, 3)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling2D(),
        ]
    )
    backbone.trainable = False
    base = keras.Sequential(
        [
            keras.Input((6, 6, 3)),
            backbone,
            layers.Dense(4, activation="relu", name="head"),
            layers.Dense(3),
        ]
    )
    model = check_widening(base, floats(4, 6, 6, 3), integers(3, 4))
    assert model.network.get_layer("head").kernel.shape == (4 + 4, 4)
    assert len(model.trainable_weights) == len(base.trainable_weights)


def test_half_of_a_backbone_frozen():
    base = keras.Sequential(
        [keras.Input((6,)), layers.Dense(5), layers.Dense(4), layers.Dense(3)]
    )
    base.layers[0].trainable = False
    model = check_widening(base, floats(4, 6), integers(3, 4))
    second = model.network.get_layer(base.layers[1].name)
    assert second.kernel.shape == (5 + 4, 4)


def test_trained_base():
    base = keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    base.compile("adam", "sparse_categorical_crossentropy")
    images, labels = floats(16, 6, 6, 2), integers(3, 16)
    base.fit(images, labels, epochs=2, verbose=0)
    optimizer = base.optimizer
    iterations = int(optimizer.iterations)
    check_widening(base, images, labels)
    assert base.optimizer is optimizer
    assert int(optimizer.iterations) == iterations
