"""Sequential and Functional models that start with a layer that mixes."""

import keras
import pytest

from tests.widening.checker import check_widening
from tests.widening.data import floats, integers

pytestmark = pytest.mark.first_quick_on("jax", "torch")

layers = keras.layers


def mlp(**last):
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, activation="relu"),
            layers.Dense(8, activation="tanh"),
            layers.Dense(**{"units": 3, "activation": "softmax"} | last),
        ]
    )


def test_sequential_mlp():
    base = mlp()
    model = check_widening(base, floats(5, 6), integers(3, 5))
    first = model.network.get_layer(base.layers[0].name)
    assert first.kernel.shape == (6 + 4, 8)
    assert model.network.count_params() == base.count_params() + 4 * 8


@pytest.mark.parametrize("prior", ["index", "scaled_index"])
def test_priors_of_the_notebooks(prior):
    check_widening(mlp(), floats(5, 6), integers(3, 5), prior=prior)


def test_logits():
    base = mlp(activation=None)
    model = check_widening(base, floats(5, 6), integers(3, 5))
    assert model.prior.from_logits


def test_regression():
    base = mlp(units=2, activation=None)
    check_widening(base, floats(5, 6), floats(5, 2), "regression")


def test_binary():
    base = mlp(units=1, activation="sigmoid")
    check_widening(base, floats(5, 6), integers(2, 5, 1), "binary")


def test_functional_mlp():
    inputs = keras.Input((6,), name="features")
    x = layers.Dense(8, activation="relu")(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.Dropout(0.3)(x)
    base = keras.Model(inputs, layers.Dense(3, activation="softmax")(x))
    check_widening(base, floats(5, 6), integers(3, 5))


def test_one_layer():
    base = keras.Sequential([keras.Input((6,)), layers.Dense(3)])
    check_widening(base, floats(5, 6), integers(3, 5))


def test_sequential_without_an_input_layer():
    base = keras.Sequential([layers.Dense(4), layers.Dense(3)])
    base(floats(5, 6))
    check_widening(base, floats(5, 6), integers(3, 5))


def test_regularisers_constraints_and_initialisers():
    base = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(
                8,
                kernel_regularizer="l2",
                kernel_constraint=keras.constraints.MaxNorm(3.0),
                kernel_initializer="orthogonal",
                use_bias=False,
            ),
            layers.ActivityRegularization(l2=1e-3),
            layers.Dense(3),
        ]
    )
    check_widening(base, floats(5, 6), integers(3, 5))


CNNS = {
    "Conv1D": ((10, 2), lambda: layers.Conv1D(4, 3)),
    "Conv2D": ((8, 8, 3), lambda: layers.Conv2D(4, 3, activation="relu")),
    "Conv3D": ((5, 5, 5, 2), lambda: layers.Conv3D(4, 3)),
    "Conv1DTranspose": ((5, 2), lambda: layers.Conv1DTranspose(4, 3)),
    "Conv2DTranspose": (
        (4, 4, 3),
        lambda: layers.Conv2DTranspose(4, 3, strides=2),
    ),
    "Conv3DTranspose": ((3, 3, 3, 2), lambda: layers.Conv3DTranspose(4, 2)),
    "SeparableConv1D": ((10, 2), lambda: layers.SeparableConv1D(4, 3)),
    "SeparableConv2D": ((8, 8, 3), lambda: layers.SeparableConv2D(4, 3)),
    "depth multiplier": (
        (8, 8, 3),
        lambda: layers.SeparableConv2D(4, 3, depth_multiplier=2),
    ),
    "dilated": ((8, 8, 3), lambda: layers.Conv2D(4, 3, dilation_rate=2)),
    "grouped": ((8, 8, 4), lambda: layers.Conv2D(6, 3, groups=2)),
}


@pytest.mark.parametrize("name", CNNS)
def test_cnn(name):
    shape, first = CNNS[name]
    base = keras.Sequential(
        [
            keras.Input(shape),
            first(),
            layers.LeakyReLU(),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    check_widening(base, floats(4, *shape), integers(3, 4))


@pytest.mark.parametrize("kind", ["SeparableConv1D", "SeparableConv2D"])
def test_both_kernels_of_a_separable_convolution_learn(kind):
    shape, first = CNNS[kind]
    base = keras.Sequential(
        [keras.Input(shape), first(), layers.Flatten(), layers.Dense(3)]
    )
    model = check_widening(base, floats(4, *shape), integers(3, 4))
    wide = model.network.get_layer(base.layers[0].name)
    channels = shape[-1]
    assert wide.depthwise_kernel.shape[-2] == channels + 4
    before = kernels(wide, channels)
    assert abs(before[1]).max() > 0
    model.fit(floats(4, *shape), integers(3, 4), verbose=0)
    after = kernels(wide, channels)
    for one, other in zip(before, after, strict=True):
        assert abs(one - other).max() > 0


def kernels(layer, channels):
    depthwise = keras.ops.convert_to_numpy(layer.depthwise_kernel)
    pointwise = keras.ops.convert_to_numpy(layer.pointwise_kernel)
    return depthwise[..., channels:, :], pointwise[..., channels:, :]


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_stem(multiplier):
    base = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.DepthwiseConv2D(3, depth_multiplier=multiplier),
            layers.BatchNormalization(),
            layers.Conv2D(4, 1, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3),
        ]
    )
    model = check_widening(base, floats(4, 8, 8, 3), integers(3, 4))
    convolution = model.network.get_layer(base.layers[2].name)
    assert convolution.kernel.shape[-2] == 3 * multiplier + 4


@pytest.mark.backend("jax", "torch")
@pytest.mark.parametrize("groups", [1, 2])
def test_channels_first(groups):
    form = {"data_format": "channels_first"}
    base = keras.Sequential(
        [
            keras.Input((4, 8, 8)),
            layers.Conv2D(6, 3, groups=groups, **form),
            layers.BatchNormalization(axis=1),
            layers.ReLU(),
            layers.SeparableConv2D(4, 3, **form),
            layers.GlobalAveragePooling2D(**form),
            layers.Dense(3),
        ]
    )
    check_widening(base, floats(4, 4, 8, 8), integers(3, 4))


@pytest.mark.backend("jax", "torch")
def test_channels_first_separable_stem():
    base = keras.Sequential(
        [
            keras.Input((4, 8, 8)),
            layers.SeparableConv2D(4, 3, data_format="channels_first"),
            layers.Flatten(),
            layers.Dense(3),
        ]
    )
    check_widening(base, floats(4, 4, 8, 8), integers(3, 4))
