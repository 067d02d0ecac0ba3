"""The rules for means and variances against Monte Carlo."""

import keras
import numpy as np
import pytest
from keras import ops
from scipy import stats
from scipy.special import expit

from keras_zigzag.baselines import moments
from keras_zigzag.baselines.moment_activations import activated, has_rule
from keras_zigzag.baselines.moment_noise import noisy
from keras_zigzag.baselines.moments import Moments
from keras_zigzag.baselines.propagation import Noisy, Propagation

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers
SIZE = 100_000
EXACT = (0.02, 0.03)


def numbers(shape, seed, low=None):
    generator = np.random.default_rng(seed)
    if low is None:
        return generator.normal(size=shape).astype("float32")
    return generator.uniform(low, low + 1, shape).astype("float32")


def samples(mean, variance, size=SIZE, seed=0):
    noise = np.random.default_rng(seed).standard_normal(
        (size, *mean.shape), "float32"
    )
    return mean + np.sqrt(variance) * noise


def assert_moments(got, answers, tolerance):
    """Compares with samples.

    Args:
        got: `Moments`.
        answers: Array of shape `(num_samples, ...)`.
        tolerance: Tuple. Of the mean, in units of the largest deviation, and
            of the variance, relative to the largest.
    """
    mean, variance = answers.mean(0), answers.var(0)
    of_mean, of_variance = tolerance
    np.testing.assert_allclose(
        ops.convert_to_numpy(got.mean),
        mean,
        atol=of_mean * np.sqrt(variance.max()),
    )
    np.testing.assert_allclose(
        ops.convert_to_numpy(got.spread),
        variance,
        atol=of_variance * variance.max(),
    )


def behind(layer, mean, variance):
    """What a model with one layer makes of the moments of its inputs."""
    tensors = [
        Noisy(
            ops.convert_to_tensor(one),
            Moments(*map(ops.convert_to_tensor, (one, two))),
        )
        for one, two in zip(mean, variance, strict=True)
    ]
    inputs = tensors[0] if len(tensors) == 1 else tensors
    propagation = Propagation(
        keras.Sequential([keras.Input((1,)), layers.Identity()]), None
    )
    return propagation._call(layer, inputs).moments


# Layer, shape of an input, number of inputs, tolerances.
IMAGE = (6, 6, 2)
LAYERS = {
    "dense": (lambda: layers.Dense(4), (5,), 1, EXACT),
    "dense relu": (lambda: layers.Dense(4, "relu"), (5,), 1, (0.03, 0.04)),
    "einsum": (
        lambda: layers.EinsumDense("abc,cd->abd", (3, 4), bias_axes="d"),
        (3, 5),
        1,
        EXACT,
    ),
    "conv1d causal": (
        lambda: layers.Conv1D(3, 3, padding="causal", dilation_rate=2),
        (7, 2),
        1,
        EXACT,
    ),
    "conv2d strides": (
        lambda: layers.Conv2D(3, 3, strides=2, padding="same"),
        IMAGE,
        1,
        EXACT,
    ),
    "conv2d dilation": (
        lambda: layers.Conv2D(2, 2, dilation_rate=2),
        IMAGE,
        1,
        EXACT,
    ),
    "conv3d": (lambda: layers.Conv3D(2, 2), (3, 3, 3, 1), 1, EXACT),
    "depthwise": (
        lambda: layers.DepthwiseConv2D(3, depth_multiplier=2),
        IMAGE,
        1,
        EXACT,
    ),
    "separable": (
        lambda: layers.SeparableConv2D(3, 3, padding="same"),
        IMAGE,
        1,
        EXACT,
    ),
    "transposed": (
        lambda: layers.Conv2DTranspose(2, 3, strides=2),
        (3, 3, 2),
        1,
        EXACT,
    ),
    "average": (lambda: layers.AveragePooling2D(2), IMAGE, 1, EXACT),
    "average same": (
        lambda: layers.AveragePooling2D(3, 2, padding="same"),
        IMAGE,
        1,
        EXACT,
    ),
    "global average": (
        lambda: layers.GlobalAveragePooling2D(keepdims=True),
        IMAGE,
        1,
        EXACT,
    ),
    "global average 1d": (
        lambda: layers.GlobalAveragePooling1D(),
        (5, 2),
        1,
        EXACT,
    ),
    "max": (lambda: layers.MaxPooling2D(2), IMAGE, 1, (0.05, 0.15)),
    "max same": (
        lambda: layers.MaxPooling2D(3, 2, padding="same"),
        IMAGE,
        1,
        (0.08, 0.25),
    ),
    "max 1d": (
        lambda: layers.MaxPooling1D(2, 1, padding="same"),
        (5, 2),
        1,
        (0.03, 0.05),
    ),
    "global max": (
        lambda: layers.GlobalMaxPooling2D(),
        (3, 3, 2),
        1,
        (0.08, 0.15),
    ),
    "batch norm": (lambda: layers.BatchNormalization(), IMAGE, 1, EXACT),
    "layer norm": (lambda: layers.LayerNormalization(), (32,), 1, (0.08, 0.15)),
    "rescaling": (lambda: layers.Rescaling([2.0, 0.5], 3.0), (3, 2), 1, EXACT),
    "normalization": (
        lambda: layers.Normalization(mean=[1.0, 2.0], variance=[4.0, 0.5]),
        (3, 2),
        1,
        EXACT,
    ),
    "relu 6": (lambda: layers.ReLU(0.5, 0.1, 0.2), (20,), 1, EXACT),
    "leaky relu": (lambda: layers.LeakyReLU(0.3), (20,), 1, EXACT),
    "prelu": (lambda: layers.PReLU("uniform"), (20,), 1, EXACT),
    "elu": (lambda: layers.ELU(2.0), (20,), 1, EXACT),
    "softmax": (lambda: layers.Softmax(), (4,), 1, (0.05, 0.06)),
    "softmax axis": (lambda: layers.Softmax(axis=1), (4, 2), 1, (0.05, 0.08)),
    "add": (lambda: layers.Add(), (4,), 3, EXACT),
    "subtract": (lambda: layers.Subtract(), (4,), 2, EXACT),
    "average of": (lambda: layers.Average(), (4,), 3, EXACT),
    "multiply": (lambda: layers.Multiply(), (4,), 2, (0.02, 0.04)),
    "maximum": (lambda: layers.Maximum(), (4,), 2, EXACT),
    "minimum": (lambda: layers.Minimum(), (4,), 2, EXACT),
    "concatenate": (lambda: layers.Concatenate(axis=1), (3, 2), 2, EXACT),
    "flatten": (lambda: layers.Flatten(), (3, 2), 1, EXACT),
    "permute": (lambda: layers.Permute((2, 1)), (3, 2), 1, EXACT),
    "padding": (lambda: layers.ZeroPadding2D(1), (2, 2, 1), 1, EXACT),
    "cropping": (lambda: layers.Cropping1D(1), (4, 2), 1, EXACT),
    "up": (lambda: layers.UpSampling2D(2), (2, 2, 1), 1, EXACT),
}


def made(make, shape, count, seed=3):
    layer = make()
    symbolic = [keras.Input(shape) for _ in range(count)]
    layer(symbolic[0] if count == 1 else symbolic)
    for index, weight in enumerate(layer.weights):
        positive = "variance" in weight.name
        weight.assign(
            numbers(weight.shape, seed + index, 0.5 if positive else None)
        )
    return layer


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_against_monte_carlo(name):
    make, shape, count, tolerance = LAYERS[name]
    if name == "average same" and keras.backend.backend() == "torch":
        tolerance = (0.02, 0.2)  # It repeats the edge.
    layer = made(make, shape, count)
    mean = [numbers((1, *shape), 10 + index) for index in range(count)]
    variance = [numbers((1, *shape), 20 + index, 0.1) for index in range(count)]
    drawn = [
        samples(one[0], two[0], seed=index)
        for index, (one, two) in enumerate(zip(mean, variance, strict=True))
    ]
    inputs = drawn[0] if count == 1 else drawn
    answers = ops.convert_to_numpy(layer(inputs))
    got = behind(layer, mean, variance)
    assert_moments(Moments(got.mean[0], got.spread[0]), answers, tolerance)


# How far the mean behind an activation may be off, in its deviations; three
# times as much is the relative error of the variance. Arguments
# have a deviation of up to 3.
ACTIVATIONS = {
    **dict.fromkeys(
        (
            *("relu", "relu6", "leaky_relu", "hard_sigmoid", "hard_tanh"),
            *("soft_shrink", "sparse_sigmoid", "linear"),
        ),
        1e-4,
    ),
    # It jumps, so the integration is not as good.
    "hard_shrink": 1e-3,
    **dict.fromkeys(
        (
            *("sigmoid", "softplus", "elu", "selu", "gelu", "silu", "mish"),
            *("celu", "squareplus", "log_sigmoid"),
        ),
        0.02,
    ),
    **dict.fromkeys(
        ("tanh", "softsign", "sparse_plus", "tanh_shrink", "hard_silu"), 0.1
    ),
}


def test_activations_against_integration():
    z = np.linspace(-9, 9, 20001)
    weight = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()
    mean = np.repeat([-3.0, -1.0, 0.0, 0.4, 2.5], 3).astype("float32")
    deviation = np.tile([0.3, 1.0, 3.0], 5).astype("float32")
    x = Moments(*map(ops.convert_to_tensor, (mean, deviation**2)))
    places = (mean[:, None] + deviation[:, None] * z).astype("float32")
    for name, tolerance in ACTIVATIONS.items():
        function = keras.activations.get(name)
        assert has_rule(function)
        got = activated(function, x)
        values = ops.convert_to_numpy(function(ops.convert_to_tensor(places)))
        expected = values @ weight
        variance = (values - expected[:, None]) ** 2 @ weight
        off = ops.convert_to_numpy(got.mean) - expected
        limit = tolerance * np.sqrt(variance) + 1e-6
        assert (abs(off) <= limit).all(), name
        off = ops.convert_to_numpy(got.spread) - variance
        assert (abs(off) <= 3 * tolerance * variance + 1e-6).all(), name
    x = Moments(*map(ops.convert_to_tensor, (mean, deviation * 0 + 0.25)))
    got = activated(keras.activations.exponential, x)
    np.testing.assert_allclose(got.mean, np.exp(mean + 0.125), rtol=1e-5)
    np.testing.assert_allclose(
        got.spread,
        np.expm1(0.25) * np.exp(2 * mean + 0.25),
        rtol=1e-5,
    )
    assert not has_rule(lambda x: x) and not has_rule(keras.activations.glu)


def test_the_normal_distribution():
    z = np.linspace(-12, 12, 500).astype("float32")
    got = moments.below(ops.convert_to_tensor(z))
    np.testing.assert_allclose(got, stats.norm.cdf(z), atol=2e-7)


def test_nothing_is_lost_where_numbers_are_extreme():
    mean = ops.convert_to_tensor([1000.0, -1000.0, 0.0, 30.0])
    variance = ops.convert_to_tensor([1e-4, 1e-4, 0.0, 0.0])
    x = Moments(mean, variance)
    got = activated(keras.activations.relu, x)
    np.testing.assert_allclose(got.mean, [1000.0, 0.0, 0.0, 30.0], atol=1e-6)
    np.testing.assert_allclose(got.spread, [1e-4, 0, 0, 0], atol=1e-9)
    for function in (moments.softmax, lambda x: moments.maximum(x, x)):
        got = function(x)
        assert np.isfinite(ops.convert_to_numpy(got.mean)).all()
        assert np.isfinite(ops.convert_to_numpy(got.spread)).all()


def test_probabilities_of_two_classes_and_of_certain_ones():
    x = Moments(
        ops.convert_to_tensor([[2.0, -1.0], [9.0, -9.0]]),
        ops.convert_to_tensor([[3.0, 1.0], [1.0, 1.0]]),
    )
    gap = Moments(
        ops.convert_to_tensor([3.0, 18.0]), ops.convert_to_tensor([4.0, 2.0])
    )
    expected = moments.quadrature(ops.sigmoid, gap)
    got = moments.softmax(x)
    np.testing.assert_allclose(got.mean[:, 0], expected.mean, rtol=1e-5)
    np.testing.assert_allclose(
        got.spread[0], [expected.spread[0]] * 2, rtol=1e-4
    )
    # Rounding would leave nothing of `1 − p`.
    np.testing.assert_allclose(
        got.mean[1, 1],
        stats.norm.expect(lambda g: expit(-18 + 2**0.5 * g)),
        rtol=0.01,
    )


NOISE = {
    "dropout": (lambda: layers.Dropout(0.3), (3, 4)),
    "spatial": (lambda: layers.SpatialDropout1D(0.2), (3, 4)),
    "gaussian dropout": (lambda: layers.GaussianDropout(0.3), (3, 4)),
    "gaussian noise": (lambda: layers.GaussianNoise(0.7), (3, 4)),
}


@pytest.mark.parametrize("name", NOISE)
def test_noise_against_keras(name):
    make, shape = NOISE[name]
    layer, mean, variance = make(), numbers(shape, 1), numbers(shape, 2, 0.1)
    answers = layer(samples(mean, variance), training=True)
    x = Moments(*map(ops.convert_to_tensor, (mean, variance)))
    assert_moments(noisy(layer, x), ops.convert_to_numpy(answers), EXACT)
