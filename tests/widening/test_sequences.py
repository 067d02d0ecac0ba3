"""Recurrent networks, embeddings and masks."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests.widening.checker import check_widening
from tests.widening.data import floats, integers

# JAX compiles each operation of each network.
pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers

RECURRENT = {
    "LSTM": lambda: layers.LSTM(4),
    "GRU": lambda: layers.GRU(4),
    "GRU, reset before": lambda: layers.GRU(4, reset_after=False),
    "SimpleRNN": lambda: layers.SimpleRNN(4),
    "RNN of cells": lambda: layers.RNN([layers.LSTMCell(4), layers.GRUCell(5)]),
    "Bidirectional LSTM": lambda: layers.Bidirectional(layers.LSTM(4)),
    "Bidirectional GRU": lambda: layers.Bidirectional(
        layers.GRU(4), merge_mode="sum"
    ),
    "TimeDistributed": lambda: layers.TimeDistributed(layers.Dense(4)),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent(name):
    base = keras.Sequential(
        [
            keras.Input((5, 3)),
            RECURRENT[name](),
            layers.Flatten(),
            layers.Dense(3),
        ]
    )
    check_widening(base, floats(4, 5, 3), integers(3, 4))


def test_stacked_with_states():
    inputs = keras.Input((5, 3))
    sequence, h, c = layers.LSTM(4, return_sequences=True, return_state=True)(
        inputs
    )
    x = layers.LSTM(4)(sequence, initial_state=[h, c])
    base = keras.Model(inputs, layers.Dense(3)(x))
    check_widening(base, floats(4, 5, 3), integers(3, 4))


@pytest.mark.parametrize(
    "first, shape",
    [
        (lambda: layers.ConvLSTM1D(3, 2), (3, 6, 2)),
        (lambda: layers.ConvLSTM2D(3, 2), (3, 4, 4, 2)),
    ],
)
def test_convolutional_recurrent(first, shape):
    base = keras.Sequential(
        [keras.Input(shape), first(), layers.Flatten(), layers.Dense(3)]
    )
    check_widening(base, floats(4, *shape), integers(3, 4))


def test_sequences_of_any_length():
    base = keras.Sequential(
        [
            keras.Input((None, 3)),
            layers.Conv1D(4, 3, padding="causal", activation="relu"),
            layers.GlobalMaxPooling1D(),
            layers.Dense(3),
        ]
    )
    check_widening(base, floats(4, 7, 3), integers(3, 4))


@pytest.mark.parametrize(
    "mixes",
    [
        lambda: [layers.LSTM(4)],
        lambda: [layers.Conv1D(4, 3), layers.GlobalMaxPooling1D()],
        lambda: [layers.GlobalAveragePooling1D(), layers.Dense(4, "relu")],
        lambda: [layers.Flatten(), layers.Dense(4, "relu")],
    ],
)
def test_embedding_first(mixes):
    base = keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(9, 4),
            layers.SpatialDropout1D(0.1),
            *mixes(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    check_widening(base, integers(9, 4, 6), integers(3, 4))


# Keras says so of a nested model, although the mask passes through it.
passes_the_mask = pytest.mark.filterwarnings(
    "ignore:Layer '.*' .* was passed an input with a mask"
)


def padded_words():
    words = 1 + integers(8, 4, 6)
    for row, length in enumerate([6, 4, 2, 1]):
        words[row, length:] = 0
    return words


def tagger(nested):
    """A word by word classification in which padding counts nothing."""
    body = [
        layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
        layers.Dense(4, activation="relu"),
    ]
    if nested:
        body = [keras.Sequential([keras.Input((6, 4)), *body])]
    return keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(9, 4, mask_zero=True),
            *body,
            layers.Dense(3, activation="softmax", name="tags"),
        ]
    )


@pytest.mark.first_quick_on("tensorflow", "jax", "torch")
@passes_the_mask
@pytest.mark.parametrize("layer", [None, "tags"])
@pytest.mark.parametrize("nested", [False, True])
def test_mask_of_an_embedding(nested, layer):
    words = padded_words()
    model = check_widening(
        tagger(nested), words, integers(3, 4, 6), layer=layer
    )
    out = model.predict(words, verbose=0)
    np.testing.assert_array_equal(np.isnan(out["uncertainty"]), words == 0)


def masked_regression():
    return keras.Sequential(
        [
            keras.Input((5, 3)),
            layers.Masking(),
            layers.GRU(4, return_sequences=True),
            layers.LSTM(4),
            layers.Dense(1, name="last"),
        ]
    )


def sequences_with_padding():
    sequences = floats(4, 5, 3)
    sequences[1, 3:] = 0
    sequences[2, 1:] = 0
    return sequences


@pytest.mark.parametrize("layer", [None, "last"])
def test_masking_layer(layer):
    check_widening(
        masked_regression(),
        sequences_with_padding(),
        floats(4, 1),
        "regression",
        layer=layer,
    )


def test_padding_changes_nothing():
    base = masked_regression()
    model = check_widening(
        base, sequences_with_padding(), floats(4, 1), "regression"
    )
    short = floats(4, 3, 3)
    long = np.concatenate([short, np.zeros((4, 2, 3), "float32")], axis=1)
    for name in ("prediction", "uncertainty"):
        outputs = model.predict(long, verbose=0)[name]
        half = model.predict(long[:2], verbose=0)[name]
        np.testing.assert_allclose(outputs[:2], half, atol=1e-6)
    features = ops.convert_to_tensor(long)
    last = keras.Sequential(base.layers[:-1])(features)
    same = keras.Sequential(base.layers[1:-1])(ops.convert_to_tensor(short))
    np.testing.assert_allclose(
        ops.convert_to_numpy(last), ops.convert_to_numpy(same), atol=1e-6
    )


@pytest.mark.first_quick_on("tensorflow", "jax", "torch")
@pytest.mark.parametrize("passes", ["both", "sampled"])
@passes_the_mask
@pytest.mark.parametrize("layer", [None, "tags"])
@pytest.mark.parametrize("nested", [False, True])
def test_loss_and_metrics_leave_padding_out(nested, layer, passes):
    base = tagger(nested)
    words, tags = padded_words(), integers(3, 4, 6)
    model = kz.ZigZagModel.from_model(
        base, task="classification", layer=layer, passes=passes
    )
    for each in (base, model):
        each.compile(
            keras.optimizers.SGD(0.0),
            "sparse_categorical_crossentropy",
            metrics=["sparse_categorical_crossentropy"],
            run_eagerly=True,
        )
    np.testing.assert_allclose(
        model.evaluate(words, tags, verbose=0),
        base.evaluate(words, tags, verbose=0),
        rtol=1e-4,
    )
    if passes == "both":
        # Nothing is learned, and untrained both halves answer alike.
        wanted = base.fit(words, tags, verbose=0).history
        history = model.fit(words, tags, verbose=0).history
        assert history.keys() == wanted.keys()
        for name in wanted:
            np.testing.assert_allclose(history[name], wanted[name], rtol=1e-4)
        return
    logs = []
    for behind_the_mask in (0, 2):
        keras.utils.set_random_seed(0)
        one = kz.ZigZagModel.from_model(
            base, task="classification", layer=layer, passes=passes, seed=0
        )
        one.compile(
            keras.optimizers.SGD(0.1),
            "sparse_categorical_crossentropy",
            metrics=["sparse_categorical_crossentropy"],
            run_eagerly=True,
        )
        y = np.where(words == 0, behind_the_mask, tags)
        logs.append(one.fit(words, y, epochs=2, shuffle=False, verbose=0))
    for name, values in logs[0].history.items():
        np.testing.assert_allclose(logs[1].history[name], values, rtol=1e-5)


@pytest.mark.backend("tensorflow")
@pytest.mark.parametrize("kind", ["vectorization", "lookup"])
def test_text(kind):
    import tensorflow as tf

    texts = tf.constant(["a good film", "a bad film", "good", "bad bad"])
    if kind == "vectorization":
        inputs = keras.Input((), dtype="string")
        lookup = layers.TextVectorization(output_sequence_length=4)
        lookup.adapt(texts)
        samples = texts
    else:
        inputs = keras.Input((2,), dtype="string")
        lookup = layers.StringLookup(vocabulary=["good", "bad"])
        samples = tf.constant([["good", "bad"]] * 2 + [["bad", "so"]] * 2)
    x = layers.Embedding(lookup.vocabulary_size(), 4)(lookup(inputs))
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dense(4, activation="relu")(x)
    base = keras.Model(inputs, layers.Dense(2, activation="softmax")(x))
    check_widening(base, samples, integers(2, 4))


@pytest.mark.backend("tensorflow")
def test_categories_and_numbers():
    number = keras.Input((3,), name="number")
    category = keras.Input((1,), dtype="int32", name="category")
    lookup = layers.IntegerLookup(vocabulary=[3, 5, 7])
    code = layers.CategoryEncoding(4, output_mode="one_hot")(lookup(category))
    bins = layers.Discretization(bin_boundaries=[-0.5, 0.5])(number)
    bins = layers.Flatten()(layers.Embedding(3, 2)(bins))
    x = layers.Concatenate()([number, code, bins])
    x = layers.Dense(8, activation="relu")(x)
    base = keras.Model([number, category], layers.Dense(1)(x))
    inputs = [floats(5, 3), np.array([[3], [5], [7], [9], [3]])]
    check_widening(base, inputs, floats(5, 1), "regression")
