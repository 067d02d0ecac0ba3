"""Layers of the user's own."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag.prior_layers import AddPrior, ConcatenatePrior
from tests.widening.checker import check_widening
from tests.widening.data import floats, integers
from tests.widening.test_branches import entries

# JAX compiles each operation of each network.
pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


@keras.saving.register_keras_serializable("tests")
class Projection(layers.Layer):
    """Features on the last axis, kernel made in `build`."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, shape):
        self.kernel = self.add_weight(
            shape=(shape[-1], self.units), name="kernel"
        )

    def call(self, inputs):
        return ops.relu(ops.matmul(inputs, self.kernel))

    def compute_output_shape(self, shape):
        return (*shape[:-1], self.units)

    def get_config(self):
        return super().get_config() | {"units": self.units}


@keras.saving.register_keras_serializable("tests")
class GraphConvolution(Projection):
    """Called on `[features, edges]`."""

    def build(self, shapes):
        super().build(shapes[0])

    def call(self, inputs):
        features, edges = inputs
        return super().call(ops.matmul(edges, features))

    def compute_output_shape(self, shapes):
        return super().compute_output_shape(shapes[0])


@keras.saving.register_keras_serializable("tests")
class Transposed(Projection):
    """Has the features on the second axis of the kernel."""

    def build(self, shape):
        self.kernel = self.add_weight(
            shape=(self.units, shape[-1]), name="kernel"
        )

    def call(self, inputs):
        return ops.matmul(inputs, ops.transpose(self.kernel))


@keras.saving.register_keras_serializable("tests")
class Normed(Projection):
    """Would answer otherwise on a wider input, so it cannot be widened."""

    def call(self, inputs):
        return super().call(inputs - ops.mean(inputs, -1, keepdims=True))


@keras.saving.register_keras_serializable("tests")
class FixedWidth(layers.Layer):
    """Refuses a wider input."""

    def build(self, shape):
        if shape[-1] != 6:
            raise ValueError(f"Received: shape={shape}")
        self.kernel = self.add_weight(shape=(6, 4), name="kernel")

    def call(self, inputs):
        return ops.matmul(inputs, self.kernel)

    def compute_output_shape(self, shape):
        return (*shape[:-1], 4)


@keras.saving.register_keras_serializable("tests")
class Residual(layers.Layer):
    """Holds layers of its own; the output keeps the shape of the input."""

    def build(self, shape):
        self.hidden = layers.Dense(8, activation="relu")
        self.back = layers.Dense(shape[-1])
        self.hidden.build(shape)
        self.back.build((*shape[:-1], 8))

    def call(self, inputs):
        return inputs + self.back(self.hidden(inputs))

    def compute_output_shape(self, shape):
        return shape


@keras.saving.register_keras_serializable("tests")
class Block(layers.Layer):
    """Holds layers of its own; the output does not."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = layers.Dense(8, activation="relu")
        self.norm = layers.BatchNormalization()

    def build(self, shape):
        self.hidden.build(shape)
        self.norm.build((*shape[:-1], 8))

    def call(self, inputs, training=None):
        return self.norm(self.hidden(inputs), training=training)

    def compute_output_shape(self, shape):
        return (*shape[:-1], 8)


@pytest.mark.parametrize(
    "first, entry",
    [
        (lambda: Projection(4), ConcatenatePrior),
        (lambda: Transposed(4), ConcatenatePrior),
        (lambda: Normed(4), AddPrior),
        (FixedWidth, AddPrior),
        (Residual, AddPrior),
        (Block, ConcatenatePrior),
    ],
)
def test_own_layer(first, entry):
    base = keras.Sequential([keras.Input((6,)), first(), layers.Dense(3)])
    model = check_widening(base, floats(5, 6), integers(3, 5))
    assert entry in map(type, entries(model.network))


def test_graph_convolution():
    features = keras.Input((6, 3), name="features")
    edges = keras.Input((6, 6), name="edges")
    x = GraphConvolution(4)([features, edges])
    x = GraphConvolution(4)([x, edges])
    base = keras.Model([features, edges], layers.Dense(3)(x))
    inputs = [floats(2, 6, 3), floats(2, 6, 6)]
    model = check_widening(base, inputs, integers(3, 2, 6))
    first = model.network.get_layer(base.layers[2].name)
    assert first.kernel.shape == (3 + 4, 4)


def test_graph_convolution_with_integer_edges():
    features = keras.Input((6, 3), name="features")
    edges = keras.Input((6, 6), dtype="int32", name="edges")
    x = GraphConvolution(4)([features, ops.cast(edges, "float32")])
    x = layers.GlobalAveragePooling1D()(x)
    base = keras.Model([features, edges], layers.Dense(3)(x))
    inputs = [floats(2, 6, 3), integers(2, 2, 6, 6)]
    check_widening(base, inputs, integers(3, 2))


def test_own_layer_that_forgets_its_arguments():
    class Forgetful(Projection):
        def get_config(self):
            return layers.Layer.get_config(self)

    base = keras.Sequential([keras.Input((6,)), Forgetful(4), layers.Dense(3)])
    with pytest.raises(ValueError, match="Implement `get_config`"):
        kz.widen_model(base, "one_hot")


def test_own_weights_that_start_otherwise():
    """Weights that no layer saves by themselves are copied too."""
    layer = Block()
    base = keras.Sequential([keras.Input((6,)), layer, layers.Dense(3)])
    layer.norm.moving_mean.assign(np.arange(8.0))
    check_widening(base, floats(5, 6), integers(3, 5))


@keras.saving.register_keras_serializable("tests")
class Gated(layers.Layer):
    """Reads features and their squares; shut at first, or by its bias."""

    def __init__(self, gate=0.0, bias=0.0, **kwargs):
        super().__init__(**kwargs)
        self.start = gate, bias

    def build(self, shape):
        constant = keras.initializers.Constant
        gate, bias = self.start
        self.kernel = self.add_weight(shape=(2 * shape[-1], 5), name="kernel")
        self.gate = self.add_weight(
            shape=(5,), initializer=constant(gate), name="gate"
        )
        self.bias = self.add_weight(
            shape=(5,), initializer=constant(bias), name="bias"
        )

    def call(self, inputs):
        both = ops.concatenate([inputs, inputs**2], -1)
        return self.gate * ops.relu(ops.matmul(both, self.kernel) + self.bias)

    def compute_output_shape(self, shape):
        return (*shape[:-1], 5)

    def get_config(self):
        gate, bias = self.start
        return super().get_config() | {"gate": gate, "bias": bias}


@pytest.mark.parametrize("gate, bias", [(0.0, 0.0), (1.0, -60.0)])
def test_a_layer_that_lets_nothing_through_at_first(gate, bias):
    inputs = keras.Input((4,))
    base = keras.Model(inputs, Gated(gate, bias, name="gated")(inputs))
    prior = kz.priors.ValuePrior(mean=np.zeros(5), variance=np.ones(5))
    widened = kz.widen_model(base, prior)
    gated = base.get_layer("gated")
    gated.gate.assign(np.ones(5))
    for layer in widened.layers:
        if isinstance(layer, Gated):
            layer.gate.assign(np.ones(5))
    x = 1e3 * floats(50, 4)
    for given in (0.0, 1.0):
        found = widened([x, np.full((50, 6), given, "float32")])
        expected = ops.convert_to_numpy(base(x))
        assert np.ptp(expected) > 0
        np.testing.assert_allclose(
            ops.convert_to_numpy(found), expected, rtol=1e-4, atol=1e-2
        )
