import keras
import numpy as np
import pytest
from scipy import stats

from keras_zigzag.baselines import (
    Masksembles,
    MCDropout,
    VariancePropagation,
)
from tests.baselines import toys

pytestmark = [
    pytest.mark.first_quick_on("tensorflow", "torch"),
    pytest.mark.one_quick_on("jax"),
]

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"


def passes_by_hand(weights, x, rate, size, seed=5):
    """Dropout in front of the last layer of the MLP, `(size, N, C)`."""
    generator = np.random.default_rng(seed)
    hidden = np.maximum(x @ weights[0] + weights[1], 0)
    kept = generator.random((size, *hidden.shape)) >= rate
    return (hidden * kept / (1 - rate)) @ weights[2] + weights[3]


@pytest.mark.slow
def test_moments_are_those_of_a_long_monte_carlo():
    base, x = toys.randomise(toys.mlp(1, None)), toys.features(8)
    before = toys.weights_of(base)
    model = MCDropout.from_model(base, "regression", 4000, rate=0.3, seed=0)
    out = model.predict(x, verbose=0)
    answers = passes_by_hand(before, x, 0.3, 20000)
    deviation = answers.std(0)
    np.testing.assert_allclose(
        out["prediction"], answers.mean(0), atol=5 * deviation.max() / 4000**0.5
    )
    np.testing.assert_allclose(
        out["uncertainty"], deviation[:, 0], rtol=0.1, atol=1e-3
    )
    toys.assert_same(toys.weights_of(base), before)


def test_entropy_of_the_mean_of_the_passes():
    base, x = toys.randomise(toys.mlp()), toys.features(8)
    model = MCDropout.from_model(base, "classification", 400, seed=0)
    out = model.predict(x, verbose=0)
    logits = passes_by_hand(toys.weights_of(base), x, 0.2, 10000)
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    np.testing.assert_allclose(out["prediction"], p.mean(0), atol=0.05)
    expected = stats.entropy(p.mean(0), axis=-1)
    np.testing.assert_allclose(out["uncertainty"], expected, atol=0.06)


def test_only_dropout_is_random_and_nothing_changes():
    model = MCDropout.from_model(toys.cnn(), "classification", 4, seed=1)
    toys.randomise(model)
    before, x = toys.weights_of(model.network), toys.images()
    out = model.predict(x, verbose=0)
    toys.assert_same(toys.weights_of(model.network), before)
    # Whatever the batch, and again.
    for size in (5, 24):
        again = model.predict(x, batch_size=size, verbose=0)
        np.testing.assert_allclose(
            again["uncertainty"], out["uncertainty"], rtol=1e-4, atol=1e-5
        )


def test_the_base_models_own_dropout_is_sampled():
    def rates(model):
        return [
            (layer.rate, layer.shared_axes)
            for layer in model._flatten_layers()
            if type(layer).__name__ == "SampledDropout"
        ]

    model = MCDropout.from_model(toys.cnn(), "classification")
    assert sorted(rates(model)) == [(0.2, (1, 2)), (0.3, ())]
    model = MCDropout.from_model(toys.cnn(), "classification", layers=2)
    assert len(rates(model)) == 4
    model = MCDropout.from_model(toys.mlp(), "classification", rate=0.1)
    assert rates(model) == [(0.1, ())]


def test_a_seed_gives_the_same_passes():
    base, x = toys.mlp(), toys.features()
    one, same, other = (
        MCDropout.from_model(base, "classification", seed=seed).predict(
            x, verbose=0
        )["uncertainty"]
        for seed in (1, 1, 2)
    )
    np.testing.assert_allclose(one, same, rtol=1e-6)
    assert not np.allclose(one, other)


def test_several_outputs_and_logits():
    task = {"kind": "classification", "size": "regression"}
    model = MCDropout.from_model(toys.two_outputs(), task, layers=2)
    out = model.predict(toys.features(), verbose=0)["uncertainty"]
    assert out["kind"].shape == out["size"].shape == (24,)
    model = MCDropout.from_model(toys.mlp(2, None), "binary", seed=3)
    out = model.predict(toys.features(), verbose=0)
    assert np.isfinite(out["prediction"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_samples": 1}, "two of them"),
        ({"num_samples": 0}, "num_samples=0"),
        ({"rate": 0.0}, "rate=0.0"),
        ({"rate": 1}, "rate=1"),
        ({"layers": 3}, "layers=3"),
        ({"layers": 0}, "layers=0"),
        ({"score": "entropy"}, "score='entropy'"),
        ({"passes": 5}, "passes"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        MCDropout.from_model(toys.mlp(1, None), "regression", **options)


def test_bad_networks():
    with pytest.raises(ValueError, match="unbuilt"):
        MCDropout.from_model(keras.Sequential([layers.Dense(2)]), "binary")


@pytest.mark.parametrize("kind", [MCDropout, Masksembles, VariancePropagation])
def test_a_trained_model_that_is_frozen(kind):
    base, x = toys.randomise(toys.mlp()), toys.features(8)
    base.trainable = False
    model = kind.from_model(base, "classification", layers=2)
    out = model.call_with_uncertainty(x)["uncertainty"]
    assert np.ptp(keras.ops.convert_to_numpy(out)) > 0
    assert not model.network.trainable_weights
    with pytest.raises(ValueError, match="has 2 layers with a kernel"):
        kind.from_model(base, "classification", layers=3)


def test_numbers_of_words_are_no_features():
    base = keras.Sequential(
        [
            keras.Input((20,)),
            layers.Embedding(1000, 16),
            layers.GlobalAveragePooling1D(),
            layers.Dense(16, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    for kind in (MCDropout, Masksembles, VariancePropagation):
        with pytest.raises(ValueError, match="has 2 layers with a kernel"):
            kind.from_model(base, "binary", layers=3)
    model = MCDropout.from_model(base, "binary", layers=2)
    assert model.network.layers[1].name == "embedding"


def test_dropout_is_on_in_training_anew_for_each_sample():
    inputs = keras.Input((400,))
    mean = keras.initializers.Constant(1 / 400)
    outputs = layers.Dense(1, use_bias=False, kernel_initializer=mean)(inputs)
    model = MCDropout.from_model(
        keras.Model(inputs, outputs), "regression", rate=0.3, seed=0
    )
    x = np.ones((500, 400), "float32")
    one, two = (
        keras.ops.convert_to_numpy(model.network(x, training=True))
        for _ in range(2)
    )
    assert one.shape == (500, 1)
    assert one.mean() == pytest.approx(1.0, abs=0.01)
    # Of a mean over 400 features, each 0 or 1 / 0.7.
    assert one.std() == pytest.approx(np.sqrt(0.3 / 0.7 / 400), rel=0.15)
    assert not np.allclose(one, two)
