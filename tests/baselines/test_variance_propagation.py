import keras
import numpy as np
import pytest
from scipy import special, stats

from keras_zigzag.baselines import MCDropout, VariancePropagation
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


def uncertainty(model, x):
    """Without the compilation of `predict`."""
    out = model.call_with_uncertainty(x)["uncertainty"]
    return keras.tree.map_structure(keras.ops.convert_to_numpy, out)


def test_one_layer_of_dropout_is_exact():
    base, x = toys.randomise(toys.mlp(1, None)), toys.features(8)
    before = toys.weights_of(base)
    model = VariancePropagation.from_model(base, "regression", rate=0.3)
    out = model.predict(x, verbose=0)
    hidden = np.maximum(x @ before[0] + before[1], 0)
    variance = hidden**2 @ before[2] ** 2 * 0.3 / 0.7
    np.testing.assert_allclose(
        out["uncertainty"], np.sqrt(variance)[:, 0], rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        out["prediction"], base.predict(x, verbose=0), rtol=1e-5, atol=1e-6
    )
    again = VariancePropagation.from_model(
        base, "regression", rate=0.3, score="variance"
    ).predict(x, batch_size=3, verbose=0)
    np.testing.assert_allclose(
        again["uncertainty"], variance[:, 0], rtol=1e-4, atol=1e-6
    )
    toys.assert_same(toys.weights_of(base), before)


@pytest.mark.parametrize("activation", ["softmax", None])
def test_probabilities_are_those_of_many_passes(activation):
    base, x = toys.randomise(toys.mlp(3, activation)), toys.features(8)
    generator, weights = np.random.default_rng(0), toys.weights_of(base)
    hidden = np.maximum(x @ weights[0] + weights[1], 0)
    kept = generator.random((20000, *hidden.shape)) >= 0.2
    logits = (hidden * kept / 0.8) @ weights[2] + weights[3]
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    expected = {
        "predictive_entropy": stats.entropy(p.mean(0), axis=-1),
        "max_probability": 1 - p.mean(0).max(-1),
        "variance": p.var(0).sum(-1),
    }
    for score, values in expected.items():
        model = VariancePropagation.from_model(
            base, "classification", score=score
        )
        out = uncertainty(model, x)
        np.testing.assert_allclose(out, values, atol=0.03, err_msg=score)


def deep(pooling):
    inputs = keras.Input((8, 8, 1))
    x = layers.Conv2D(8, 3, activation="relu")(inputs)
    x = layers.Dropout(0.2)(x)
    x = layers.Conv2D(8, 3, padding="same", activation="gelu")(x)
    x = layers.BatchNormalization()(x)
    x = pooling(x)
    x = layers.Flatten()(x)
    x = layers.Dropout(0.3)(x)
    return keras.Model(inputs, layers.Dense(1)(x))


@pytest.mark.slow
@pytest.mark.parametrize(
    "pooling", [layers.AveragePooling2D(2), layers.MaxPooling2D(2)]
)
def test_a_cnn_against_a_long_monte_carlo(pooling):
    base = deep(pooling)
    x = np.random.default_rng(0).standard_normal((24, 8, 8, 1))
    exact = MCDropout.from_model(base, "regression", 1000, seed=0)
    expected = exact.predict(x, batch_size=2, verbose=0)["uncertainty"]
    model = VariancePropagation.from_model(base, "regression")
    out = model.predict(x, verbose=0)["uncertainty"]
    ratio = out / expected
    # The Monte Carlo itself is good to 3 %.
    assert 0.88 < ratio.min() and ratio.max() < 1.12
    assert stats.spearmanr(out, expected)[0] > 0.95


def test_which_noise_counts():
    def noise(model):
        return model._propagation.names

    base = toys.cnn()
    names = [
        layer.name
        for layer in base._flatten_layers()
        if "dropout" in layer.name
    ]
    assert len(names) == 2
    x = toys.images()
    answers = [
        uncertainty(
            VariancePropagation.from_model(
                base, "classification", count, noise=chosen, score="variance"
            ),
            x,
        )
        for chosen, count in (
            (None, None),
            (names, None),
            (names[:1], None),
            ([], 1),
        )
    ]
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-6)
    assert not np.allclose(answers[0], answers[2])
    model = VariancePropagation.from_model(base, "classification", noise=[])
    assert len(noise(model)) == 1 and noise(model)[0] not in names
    with pytest.raises(ValueError, match="noise=\\['no'\\]"):
        VariancePropagation.from_model(base, "classification", noise=["no"])


def test_binary_places_without_a_channel_axis():
    inputs = keras.Input((6, 5, 2))
    places = layers.Dense(1, "sigmoid")(layers.Dropout(0.2)(inputs))
    task, x = "binary", np.random.default_rng(0).normal(size=(3, 6, 5, 2))
    with_axis, without = (
        uncertainty(VariancePropagation.from_model(base, task), x)
        for base in (
            keras.Model(inputs, places),
            keras.Model(inputs, layers.Reshape((6, 5))(places)),
        )
    )
    assert without.shape == (3, 6, 5)
    np.testing.assert_allclose(without, with_axis, rtol=1e-5)


@pytest.mark.parametrize("activation", ["sigmoid", None])
def test_labels_are_those_of_many_passes(activation):
    base, x = toys.randomise(toys.mlp(2, activation)), toys.features(8)
    first, bias, last, last_bias = toys.weights_of(base)
    hidden = np.maximum(x @ first + bias, 0)
    generator = np.random.default_rng(0)
    kept = generator.random((20000, *hidden.shape)) >= 0.2
    p = special.expit((hidden * kept / 0.8) @ last + last_bias)
    mean = p.mean(axis=0)
    expected = {
        "predictive_entropy": special.entr(mean) + special.entr(1 - mean),
        "max_probability": None,
        "variance": 2 * p.var(axis=0),  # Of both outcomes of a label.
    }
    for score, values in expected.items():
        if values is None:
            values = 1 - np.maximum(mean, 1 - mean).prod(axis=-1)
        else:
            values = values.sum(axis=-1)
        model = VariancePropagation.from_model(base, "binary", score=score)
        np.testing.assert_allclose(
            uncertainty(model, x), values, atol=0.04, err_msg=score
        )


def test_several_outputs_binary_and_operations():
    task = {"kind": "classification", "size": "regression"}
    model = VariancePropagation.from_model(toys.two_outputs(), task)
    out = uncertainty(model, toys.features())
    assert (out["kind"] > 0).all() and (out["size"] > 0).all()
    for activation in (None, "sigmoid"):
        base = toys.mlp(2, activation)
        model = VariancePropagation.from_model(base, "binary", layers=2)
        out = uncertainty(model, toys.features())
        assert np.isfinite(out).all()
    inputs = keras.Input((6,))
    x = layers.Dropout(0.5)(inputs)
    x = keras.ops.relu(x + inputs) * 2.0
    x = layers.Dense(1)(keras.ops.reshape(x, (-1, 2, 3))[:, 0])
    model = VariancePropagation.from_model(keras.Model(inputs, x), "regression")
    out = uncertainty(model, np.ones((2, 6), "float32"))
    assert (out > 0).all()


def test_a_masked_sequence_and_layers_of_any_kind_before_the_noise():
    inputs = keras.Input((5,), dtype="int32")
    x = layers.Embedding(7, 4, mask_zero=True)(inputs)
    x = layers.Dropout(0.5)(layers.GRU(3, return_sequences=True)(x))
    x = layers.Dense(1)(layers.GlobalAveragePooling1D()(x))
    base = toys.randomise(keras.Model(inputs, x))
    model = VariancePropagation.from_model(base, "regression")
    long, short = np.array([[1, 2, 0, 0, 0]]), np.array([[1, 2]])
    out = model.predict(long, verbose=0)
    states = keras.Model(base.input, base.layers[-3].output)
    hidden = np.asarray(states.predict(long, verbose=0))[:, : short.shape[1]]
    kernel = toys.weights_of(base)[-2]
    expected = ((hidden / 2) ** 2).sum(1) @ kernel**2
    np.testing.assert_allclose(
        out["uncertainty"], np.sqrt(expected)[:, 0], rtol=1e-4
    )
    np.testing.assert_allclose(
        out["prediction"], base.predict(long, verbose=0), rtol=1e-5
    )


class Swap(layers.Layer):
    def call(self, inputs):
        return keras.ops.flip(inputs, axis=1)


@pytest.mark.parametrize(
    "unknown",
    [
        lambda: Swap(name="odd"),
        lambda: layers.UnitNormalization(name="odd"),
        lambda: layers.Dense(4, keras.activations.sparsemax, name="odd"),
    ],
)
def test_a_layer_without_a_rule_is_named(unknown):
    layer = unknown()
    base = keras.Sequential(
        [keras.Input((4,)), layers.Dropout(0.2), layer, layers.Dense(1)]
    )
    with pytest.raises(ValueError, match=f"'odd' .*{type(layer).__name__}"):
        VariancePropagation.from_model(base, "regression")
    model = VariancePropagation.from_model(base, "regression", noise=[])
    out = uncertainty(model, toys.features())
    assert (out >= 0).all() and out.max() > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "rate=0.0"),
        ({"rate": 1}, "rate=1"),
        ({"layers": 3}, "layers=3"),
        ({"layers": 0}, "layers=0"),
        ({"score": "predictive_entropy"}, "score='predictive_entropy'"),
        ({"passes": 5}, "passes"),
        ({"noise": "dropout"}, "noise='dropout'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        VariancePropagation.from_model(
            toys.mlp(1, None), "regression", **options
        )


def test_networks_without_noise():
    with pytest.raises(ValueError, match="No noise reaches.*dense"):
        VariancePropagation(toys.mlp(1, None), "regression")
    base = keras.Sequential([keras.Input((4,)), layers.ReLU(name="end")])
    with pytest.raises(ValueError, match="no layer of noise"):
        VariancePropagation.from_model(base, "regression")
    task = {"kind": "classification", "size": "regression"}
    with pytest.raises(ValueError, match="No noise reaches"):
        VariancePropagation.from_model(toys.two_outputs(), task, layers=1)
    with pytest.raises(ValueError, match="unbuilt"):
        VariancePropagation.from_model(
            keras.Sequential([layers.Dense(2)]), "binary"
        )
