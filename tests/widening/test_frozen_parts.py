"""Layers made of others, of which all or some are frozen."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag.baselines import DeepEnsemble
from tests.baselines import toys
from tests.baselines.methods import METHODS

layers = keras.layers
pytestmark = pytest.mark.one_quick_on("jax", "torch")


@keras.saving.register_keras_serializable("keras_zigzag_tests")
class Block(layers.Layer):
    """A layer that makes the layers in it, as those of backbones do."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = layers.Dense(4, activation="tanh")
        self.second = layers.Dense(4)

    def build(self, shape):
        self.first.build(shape)
        self.second.build((*shape[:-1], 4))
        self.built = True

    def call(self, inputs):
        return self.second(self.first(inputs))

    def compute_output_shape(self, shape):
        return (*shape[:-1], 4)


def attention():
    inputs = keras.Input((5, 4))
    x = layers.MultiHeadAttention(2, 3, name="frozen")(inputs, inputs)
    return inputs, x


def block():
    inputs = keras.Input((5, 4))
    return inputs, Block(name="frozen")(inputs)


def with_frozen(make, in_a_model):
    """A base model of which only the last layer learns."""
    inputs, x = make()
    x = layers.GlobalAveragePooling1D()(x)
    if in_a_model:
        backbone = keras.Model(inputs, x, name="backbone")
        backbone.trainable = False
        inputs = keras.Input((5, 4))
        x = backbone(inputs)
    base = keras.Model(inputs, layers.Dense(3, "softmax", name="answer")(x))
    if not in_a_model:
        base.get_layer("frozen").trainable = False
    return base


def trainable_shapes(model):
    return [tuple(weight.shape) for weight in model.trainable_weights]


@pytest.mark.parametrize("in_a_model", [False, True])
@pytest.mark.parametrize("make", [attention, block])
@pytest.mark.parametrize("num_heads", [1, 2])
def test_frozen_layers_of_layers_stay_frozen(make, in_a_model, num_heads):
    base = with_frozen(make, in_a_model)
    assert trainable_shapes(base) == [(4, 3), (3,)]
    model = kz.ZigZagModel.from_model(
        base, "classification", num_heads=num_heads
    )
    assert trainable_shapes(model) == [(4 + 4, 3), (3,)] * num_heads
    model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
    x = np.random.default_rng(0).normal(size=(6, 5, 4)).astype("float32")
    model.train_on_batch(x, np.arange(6) % 3)
    frozen = toys.weights_of(base.layers[1])
    first = [layer for layer in model.network.layers if layer.weights][0]
    toys.assert_same(frozen, toys.weights_of(first))


@pytest.mark.parametrize(
    "name", ["single_model", "deep_ensemble", "mc_dropout", "sngp"]
)
def test_of_other_methods(name):
    base = with_frozen(block, in_a_model=True)
    model = METHODS[name].make(base, "classification")
    frozen = trainable_shapes(base.get_layer("backbone"))
    assert not frozen
    assert (4, 4) not in trainable_shapes(model)


@pytest.mark.parametrize("make", [attention, block])
@pytest.mark.parametrize("name", ["zigzag", "zigzag_five_heads", "mc_dropout"])
def test_what_is_frozen_in_a_layer_is_so_when_loaded(name, make, tmp_path):
    base = with_frozen(make, in_a_model=True)
    model = METHODS[name].make(base, "classification")
    model.compile("adam", "sparse_categorical_crossentropy", run_eagerly=True)
    x = np.random.default_rng(0).normal(size=(6, 5, 4)).astype("float32")
    model.train_on_batch(x, np.arange(6) % 3)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert trainable_shapes(loaded) == trainable_shapes(model)
    for one, other in zip(
        model.optimizer.variables, loaded.optimizer.variables, strict=True
    ):
        np.testing.assert_array_equal(*map(ops.convert_to_numpy, (one, other)))


def test_parts_of_a_layer():
    base = with_frozen(block, in_a_model=False)
    frozen = base.get_layer("frozen")
    frozen.trainable = True
    frozen.first.trainable = False
    frozen.second.kernel.trainable = False
    model = kz.ZigZagModel.from_model(base, "classification", layer="answer")
    copy = model.network.get_layer("frozen")
    assert not copy.first.trainable and copy.second.trainable
    assert trainable_shapes(copy) == [(4,)]


def pretrained():
    """A layer that has a frozen layer and an adapted one in it."""
    first = layers.Dense(4, name="pretrained")
    scale = layers.Normalization(name="scale")
    scale.adapt(10 + toys.features())
    inner = keras.Sequential(
        [keras.Input((4,)), scale, first, layers.Dense(4, name="learns")]
    )
    first.trainable = False
    inputs = keras.Input((5, 4))
    x = layers.TimeDistributed(inner, name="wrapped")(inputs)
    return keras.Model(inputs, layers.Dense(3, "softmax", name="end")(x))


def assert_fresh_but_for_what_is_frozen(copy, source):
    for name in ("scale", "pretrained"):
        toys.assert_same(
            toys.weights_of(copy.get_layer(name)),
            toys.weights_of(source.get_layer(name)),
        )
    scales = [
        ops.convert_to_numpy(one.get_layer("scale").mean)
        for one in (copy, source)
    ]
    np.testing.assert_array_equal(*scales)
    kernels = [one.get_layer("learns").kernel for one in (copy, source)]
    assert not np.array_equal(*map(ops.convert_to_numpy, kernels))


@pytest.mark.parametrize("head_start", ["fresh", "fresh_last"])
def test_fresh_heads_keep_what_is_frozen_in_a_layer(head_start):
    base = pretrained()
    end = "wrapped" if head_start == "fresh" else "end"
    if end == "end":
        base = keras.Model(base.inputs, base.get_layer("wrapped").output)
    model = kz.ZigZagModel.from_model(
        base,
        "classification" if end == "wrapped" else "regression",
        num_heads=3,
        heads_from="wrapped",
        head_start=head_start,
    )
    source = base.get_layer("wrapped").layer
    for index in (1, 2):
        copy = model.network.get_layer(f"wrapped_head_{index}").layer
        assert_fresh_but_for_what_is_frozen(copy, source)


def test_members_keep_what_is_frozen_in_a_layer():
    base = pretrained()
    ensemble = DeepEnsemble.from_model(base, "classification", num_members=2)
    source = base.get_layer("wrapped").layer
    for member in ensemble.members:
        copy = member.get_layer("wrapped").layer
        assert_fresh_but_for_what_is_frozen(copy, source)
