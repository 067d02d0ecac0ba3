"""Heads and passes that read one tensor do nothing to each other."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests.zigzag.toys import randomise

layers = keras.layers
pytestmark = pytest.mark.first_quick_on("jax", "torch")

WORDS = np.array([[1, 2, 3, 4, 0, 0, 0], [5, 6, 7, 1, 2, 3, 4]])
SHORT = WORDS[:1, :4]


def attending(per_word, late=False):
    """An attention takes the mask off what it reads."""
    inputs = keras.Input((None,), dtype="int32")
    x = layers.Embedding(9, 8, mask_zero=True)(inputs)
    x = layers.Dense(8, activation="relu", name="hidden")(x)
    query = layers.Dense(8, name="query")(x) if late else x
    x = layers.MultiHeadAttention(2, 4, name="attention")(query, x)
    if not per_word:
        x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


OPTIONS = pytest.mark.parametrize(
    "options",
    [
        {"num_heads": 3},
        {"num_heads": 3, "heads_from": "query"},
        {"num_heads": 3, "prior_at": "heads"},
        {"layer": "query"},
        {"layer": "attention", "num_passes": 3},
        {},
    ],
    ids=str,
)


@OPTIONS
@pytest.mark.parametrize("per_word", [True, False])
def test_padding_has_no_influence(options, per_word):
    base = attending(per_word, late=True)
    model = randomise(
        kz.ZigZagModel.from_model(base, "classification", **options)
    )
    padded = model.predict(WORDS, verbose=0)
    short = model.predict(SHORT, verbose=0)
    for name, values in short.items():
        found = padded[name][0, :4] if per_word else padded[name][0]
        np.testing.assert_allclose(found, values[0], rtol=1e-4, atol=1e-5)
        assert np.isfinite(values).all()


@OPTIONS
def test_the_network_is_the_base_model(options):
    base = attending(per_word=True, late=True)
    model = kz.ZigZagModel.from_model(base, "classification", **options)
    words = ops.convert_to_tensor(WORDS)
    found = model.network([words, model.prior.encode_blank(2)])
    found = ops.convert_to_numpy(found)
    if "num_heads" in options:
        found = found[:, 0]
    expected = base.predict(WORDS, verbose=0)
    np.testing.assert_allclose(found[0, :4], expected[0, :4], atol=1e-5)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-5)


@pytest.mark.parametrize("num_heads", [1, 3])
def test_labels_of_padding_are_in_no_loss(num_heads):
    base = attending(per_word=True)
    losses = []
    for label in (0, 2):
        model = kz.ZigZagModel.from_model(
            base, "classification", num_heads=num_heads, seed=0
        )
        randomise(model)
        model.compile(
            keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy"
        )
        labels = np.where(WORDS == 0, label, 1)
        history = model.fit(WORDS, labels, verbose=0).history
        losses.append(
            [history["loss"][0], model.evaluate(WORDS, labels, verbose=0)]
        )
    np.testing.assert_allclose(*losses, rtol=1e-6)
