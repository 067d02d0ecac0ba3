"""Transformers and what they are made of."""

import keras
import pytest

from keras_zigzag.prior_layers import AddPrior
from tests.widening.checker import check_widening
from tests.widening.data import floats, integers
from tests.widening.test_branches import entries

# JAX compiles each operation of each network.
pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


def post_norm(x):
    attended = layers.MultiHeadAttention(2, 4)(x, x)
    x = layers.LayerNormalization()(layers.Add()([x, attended]))
    hidden = layers.Dense(8, activation="gelu")(x)
    hidden = layers.Dense(x.shape[-1])(hidden)
    return layers.LayerNormalization()(layers.Add()([x, hidden]))


def pre_norm(x):
    normed = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(2, 4)(normed, normed)
    hidden = layers.Dense(8, activation="gelu")(layers.LayerNormalization()(x))
    return x + layers.Dense(x.shape[-1])(hidden)


def classifier(inputs, x):
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


@pytest.mark.slow_but_on("tensorflow", "torch")
@pytest.mark.parametrize("block", [post_norm, pre_norm])
def test_transformer_on_features(block):
    inputs = keras.Input((5, 8))
    base = classifier(inputs, block(block(inputs)))
    model = check_widening(base, floats(4, 5, 8), integers(3, 4))
    assert AddPrior in map(type, entries(model.network))


@pytest.mark.parametrize("block", [post_norm, pre_norm])
@pytest.mark.parametrize("mask_zero", [False, True])
def test_transformer_on_words(block, mask_zero):
    inputs = keras.Input((5,), dtype="int32")
    x = layers.Embedding(9, 8, mask_zero=mask_zero)(inputs)
    base = classifier(inputs, block(x))
    check_widening(base, integers(9, 4, 5), integers(3, 4))


@pytest.mark.parametrize(
    "attention",
    [
        lambda x: layers.MultiHeadAttention(2, 4)(x, x, x),
        lambda x: layers.MultiHeadAttention(2, 4)(query=x, value=x),
        lambda x: layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True),
        lambda x: layers.GroupQueryAttention(4, 4, 2)(x, x),
        lambda x: layers.MultiHeadAttention(2, 4, output_shape=6)(x, x),
    ],
)
def test_attention_first(attention):
    inputs = keras.Input((5, 8))
    base = classifier(inputs, attention(inputs))
    check_widening(base, floats(4, 5, 8), integers(3, 4))


def test_cross_attention():
    words, picture = keras.Input((5, 8), name="words"), keras.Input((3, 6))
    x = layers.MultiHeadAttention(2, 4)(words, picture)
    inputs = [words, picture]
    base = classifier(inputs, layers.Add()([words, x]))
    check_widening(base, [floats(4, 5, 8), floats(4, 3, 6)], integers(3, 4))


def test_attention_without_weights():
    inputs = keras.Input((5, 8))
    x = layers.Attention()([inputs, inputs])
    base = classifier(inputs, layers.Dense(4, activation="relu")(x))
    check_widening(base, floats(4, 5, 8), integers(3, 4))


@pytest.mark.parametrize(
    "equation, shape",
    [("abc,cd->abd", (5, 4)), ("abc,cde->abde", (5, 2, 3))],
)
def test_einsum_dense(equation, shape):
    base = keras.Sequential(
        [
            keras.Input((5, 8)),
            layers.EinsumDense(equation, shape, bias_axes=equation[-1]),
            layers.Flatten(),
            layers.Dense(3),
        ]
    )
    check_widening(base, floats(4, 5, 8), integers(3, 4))


def test_einsum_dense_that_fixes_the_shape():
    # The time axis is contracted too.
    base = keras.Sequential(
        [
            keras.Input((5, 8)),
            layers.EinsumDense("abc,bcd->ad", 4),
            layers.Dense(3),
        ]
    )
    check_widening(base, floats(4, 5, 8), integers(3, 4))


@keras.saving.register_keras_serializable("tests")
class PositionAndClass(layers.Layer):
    """Prepends a class token and adds an embedding of the position."""

    def build(self, shape):
        _, length, width = shape
        self.token = self.add_weight(shape=(1, 1, width))
        self.position = self.add_weight(shape=(1, length + 1, width))

    def call(self, inputs):
        ops = keras.ops
        shape = (ops.shape(inputs)[0], 1, inputs.shape[-1])
        token = ops.broadcast_to(self.token, shape)
        return ops.concatenate([token, inputs], axis=1) + self.position

    def compute_output_shape(self, shape):
        return (shape[0], shape[1] + 1, shape[2])


@pytest.mark.parametrize("layer", [None, "tokens", "head"])
def test_vision_transformer(layer):
    inputs = keras.Input((8, 8, 3))
    x = layers.Rescaling(1 / 255)(inputs)
    x = layers.Conv2D(8, 4, strides=4, name="patches")(x)
    x = layers.Reshape((4, 8))(x)
    x = pre_norm(PositionAndClass(name="tokens")(x))
    x = layers.LayerNormalization()(x)[:, 0]
    base = keras.Model(inputs, layers.Dense(3, name="head")(x))
    check_widening(base, floats(4, 8, 8, 3), integers(3, 4), layer=layer)


def test_vision_transformer_of_flat_patches():
    inputs = keras.Input((8, 8, 3))
    x = layers.Reshape((2, 4, 2, 4, 3))(inputs)
    x = layers.Reshape((4, 48))(layers.Permute((1, 3, 2, 4, 5))(x))
    x = post_norm(layers.Dense(8)(x))
    check_widening(classifier(inputs, x), floats(4, 8, 8, 3), integers(3, 4))


@pytest.mark.parametrize("layer", ["attention", "late"])
def test_prior_at_an_attention(layer):
    inputs = keras.Input((5, 8))
    x = layers.Dense(8)(inputs)
    x += layers.MultiHeadAttention(2, 4, name="attention")(x, x)
    x += layers.MultiHeadAttention(2, 4, name="late")(x, x)
    base = classifier(inputs, x)
    model = check_widening(base, floats(4, 5, 8), integers(3, 4), layer=layer)
    assert len(entries(model.network)) == 1
