"""Targets per pixel, per node and per step: the prior is a map.

The outputs are logits, since PyTorch has no gradient of the sparse loss of
probabilities per pixel.
"""

import keras
import pytest

from keras_zigzag.prior_layers import ConcatenatePrior
from tests.widening.checker import check_widening
from tests.widening.data import floats, integers
from tests.widening.test_branches import entries

# JAX compiles each operation of each network.
pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


def unet(size=8, first=()):
    inputs = x = keras.Input((size, size, 3))
    for layer in first:
        x = layer(x)
    wide = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D()(wide)
    x = layers.Conv2D(
        6, 3, padding="same", activation="relu", name="downsampled"
    )(x)
    x = layers.Conv2DTranspose(4, 2, strides=2, name="up")(x)
    x = layers.Concatenate()([x, wide])
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    outputs = layers.Conv2D(3, 1, name="pixels")(x)
    return keras.Model(inputs, outputs)


@pytest.mark.parametrize("layer", [None, "downsampled", "up", "pixels"])
def test_unet(layer):
    model = check_widening(
        unet(), floats(2, 8, 8, 3), integers(3, 2, 8, 8), layer=layer
    )
    (entry,) = entries(model.network)
    assert isinstance(entry, ConcatenatePrior)
    assert model.network.input[1].shape == (None, 8, 8, 4)
    outputs = model.predict(floats(2, 8, 8, 3), verbose=0)
    assert outputs["uncertainty"].shape == (2, 8, 8)


@pytest.mark.parametrize("layer", [None, "downsampled", "pixels"])
def test_unet_of_any_size(layer):
    model = check_widening(
        unet(size=None), floats(2, 8, 8, 3), integers(3, 2, 8, 8), layer=layer
    )
    outputs = model.predict(floats(2, 4, 12, 3), verbose=0)
    assert outputs["uncertainty"].shape == (2, 4, 12)


def test_padding_before():
    first = [layers.Rescaling(1 / 255), layers.ZeroPadding2D(2)]
    base = unet(first=first)
    base = keras.Model(
        base.input, layers.Cropping2D(2)(base.output), name="cropped"
    )
    check_widening(base, floats(2, 8, 8, 3), integers(3, 2, 8, 8))


@pytest.mark.parametrize("layer", [None, "pixels"])
def test_nested_unet(layer):
    base = keras.Sequential(
        [keras.Input((8, 8, 3)), layers.Rescaling(1 / 255), unet()]
    )
    check_widening(base, floats(2, 8, 8, 3), integers(3, 2, 8, 8), layer=layer)


def test_image_to_image():
    base = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.Conv2D(1, 3, padding="same"),
        ]
    )
    targets = floats(2, 8, 8, 1)
    check_widening(base, floats(2, 8, 8, 1), targets, "regression")


def test_binary_map():
    base = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.Conv2D(1, 1, activation="sigmoid"),
        ]
    )
    check_widening(base, floats(2, 8, 8, 1), integers(2, 2, 8, 8, 1), "binary")


@pytest.mark.backend("jax", "torch")
def test_map_with_channels_first_inside():
    first = {"data_format": "channels_first", "padding": "same"}
    base = keras.Sequential(
        [
            keras.Input((2, 8, 8)),
            layers.Conv2D(4, 3, activation="relu", **first),
            layers.Permute((2, 3, 1)),
            layers.Dense(3),
        ]
    )
    check_widening(base, floats(2, 2, 8, 8), integers(3, 2, 8, 8))


@pytest.mark.parametrize("length", [5, None])
def test_steps(length):
    base = keras.Sequential(
        [
            keras.Input((length, 3)),
            layers.Conv1D(4, 3, padding="same", activation="relu"),
            layers.LSTM(4, return_sequences=True),
            layers.Dense(2),
        ]
    )
    check_widening(base, floats(4, 5, 3), floats(4, 5, 2), "regression")


def test_nodes():
    nodes = keras.Input((6, 3), name="nodes")
    edges = keras.Input((6, 6), name="edges")
    x = layers.Dense(4, activation="relu")(nodes)
    x = keras.ops.matmul(edges, x)
    x = layers.Dense(4, activation="relu")(x)
    base = keras.Model([nodes, edges], layers.Dense(3)(x))
    inputs = [floats(2, 6, 3), floats(2, 6, 6)]
    check_widening(base, inputs, integers(3, 2, 6))


def test_a_map_and_a_vector():
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    base = keras.Model(
        inputs,
        {
            "map": layers.Conv2D(3, 1, name="map")(x),
            "label": layers.Dense(1, activation="sigmoid", name="label")(
                layers.GlobalAveragePooling2D()(x)
            ),
        },
    )
    targets = {"map": integers(3, 2, 8, 8), "label": integers(2, 2, 1)}
    tasks = {"map": "classification", "label": "binary"}
    check_widening(base, floats(2, 8, 8, 3), targets, tasks)


def test_map_at_features_of_another_rank():
    inputs = keras.Input((4, 4, 3))
    x = layers.Dense(16, activation="relu")(layers.Flatten()(inputs))
    x = layers.Reshape((4, 4, 1))(x)
    base = keras.Model(inputs, layers.Conv2D(3, 1)(x))
    check_widening(base, floats(2, 4, 4, 3), integers(3, 2, 4, 4))
