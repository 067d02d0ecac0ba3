"""Models that begin with layers that keep features apart."""

import keras
import numpy as np
import pytest

from tests.widening.checker import check_widening
from tests.widening.data import floats, integers, pixels

pytestmark = pytest.mark.first_quick_on("jax", "torch")

layers = keras.layers

FIRST = {
    "Rescaling": lambda: [layers.Rescaling(1 / 127.5, offset=-1.0)],
    "Rescaling per channel": lambda: [
        layers.Rescaling([0.01, 0.02, 0.03], offset=[0.0, 0.1, 0.2])
    ],
    "ZeroPadding2D": lambda: [layers.ZeroPadding2D(1)],
    "BatchNormalization": lambda: [layers.BatchNormalization()],
    "LayerNormalization": lambda: [layers.LayerNormalization()],
    "GroupNormalization": lambda: [layers.GroupNormalization(3)],
    "pooling": lambda: [layers.MaxPooling2D(), layers.AveragePooling2D(1)],
    "resizing": lambda: [layers.Resizing(6, 6), layers.UpSampling2D()],
    "noise": lambda: [layers.GaussianNoise(0.1), layers.SpatialDropout2D(0.1)],
    "PReLU": lambda: [layers.PReLU(shared_axes=[1, 2])],
    "augmentation": lambda: [
        layers.RandomFlip("horizontal", seed=0),
        layers.RandomRotation(0.1, seed=0),
        layers.RandomZoom(0.1, seed=0),
        layers.RandomContrast(0.1, seed=0),
        layers.RandomCrop(7, 7, seed=0),
    ],
}


def cnn(first):
    return keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            *first,
            # One step may leave every ReLU of so small a layer at zero.
            layers.Conv2D(4, 3, activation="tanh", name="conv"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3),
        ]
    )


@pytest.mark.first_quick_on("tensorflow", "jax", "torch")
@pytest.mark.parametrize("name", FIRST)
def test_passed_over(name):
    base = cnn(FIRST[name]())
    model = check_widening(base, floats(4, 8, 8, 3), integers(3, 4))
    assert model.network.get_layer("conv").kernel.shape[-2] == 3 + 4


def test_adapted_normalization():
    normalization = layers.Normalization()
    normalization.adapt(pixels(50, 8, 8, 3))
    base = cnn([normalization])
    model = check_widening(base, pixels(4, 8, 8, 3), integers(3, 4))
    copy = model.network.get_layer(normalization.name)
    np.testing.assert_allclose(copy.mean, normalization.mean)


def test_normalization_by_given_moments():
    base = cnn([layers.Normalization(mean=[1, 2, 3], variance=[1, 2, 3])])
    check_widening(base, floats(4, 8, 8, 3), integers(3, 4))


def test_normalization_adapted_for_a_table():
    normalization = layers.Normalization()
    normalization.adapt(5 * floats(50, 6) + 3)
    base = keras.Sequential(
        [
            keras.Input((6,)),
            normalization,
            layers.Dense(8, activation="relu"),
            layers.Dense(1),
        ]
    )
    check_widening(base, floats(5, 6), floats(5, 1), "regression")


def test_flatten():
    base = keras.Sequential(
        [
            keras.Input((4, 4, 1)),
            layers.Rescaling(1 / 255),
            layers.Flatten(),
            layers.Dense(8, activation="relu"),
            layers.Dense(3, activation="softmax"),
        ]
    )
    check_widening(base, pixels(5, 4, 4, 1), integers(3, 5))


def test_reshape_permute_and_repeat():
    base = keras.Sequential(
        [
            keras.Input((12,)),
            layers.Reshape((4, 3)),
            layers.Permute((2, 1)),
            layers.Conv1D(4, 2),
            layers.GlobalMaxPooling1D(),
            layers.RepeatVector(2),
            layers.LSTM(4),
            layers.Dense(3),
        ]
    )
    check_widening(base, floats(5, 12), integers(3, 5))


def test_integer_images():
    base = keras.Sequential(
        [
            keras.Input((6, 6, 1), dtype="uint8"),
            layers.Rescaling(1 / 255),
            layers.Conv2D(4, 3),
            layers.Flatten(),
            layers.Dense(3),
        ]
    )
    images = pixels(4, 6, 6, 1).astype("uint8")
    check_widening(base, images, integers(3, 4))


def test_arithmetic_on_the_input():
    inputs = keras.Input((6, 6, 3))
    x = keras.ops.transpose(inputs / 255.0 - 0.5, (0, 2, 1, 3))
    x = layers.Conv2D(4, 3)(x[:, 1:])
    x = keras.ops.mean(x, axis=(1, 2))
    base = keras.Model(inputs, layers.Dense(3)(x))
    check_widening(base, pixels(4, 6, 6, 3), integers(3, 4))
