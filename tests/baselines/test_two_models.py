import keras
import numpy as np
import pytest
from scipy import stats

import keras_zigzag as kz
from keras_zigzag.baselines import GaussianNLL, TwoModels
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


def regularised(num_values=1):
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(8, "tanh", kernel_regularizer="l2"),
            layers.BatchNormalization(),
            layers.Dense(num_values),
        ],
        name="regularised",
    )


def test_first_network_learns_as_it_would_alone():
    base, x, y = regularised(), toys.features(), toys.values()
    weight = np.linspace(0, 2, len(x)).astype("float32")
    model = TwoModels.from_model(base, seed=1)
    alone = keras.models.clone_model(base)
    alone.set_weights(base.get_weights())
    options = {"batch_size": 7, "epochs": 2, "shuffle": False, "verbose": 0}
    for one in (model, alone):
        one.compile(keras.optimizers.Adam(0.05), "mae", metrics=["mse"])
        one.fit(x, y, sample_weight=weight, **options)
    for left, right in zip(
        toys.weights_of(model.network), toys.weights_of(alone), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        model.predict(x, verbose=0)["prediction"],
        alone.predict(x, verbose=0),
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.slow
def test_second_network_learns_from_what_the_first_leaves():
    """As an ordinary network, of the targets less the prediction."""
    base, x = toys.randomise(toys.mlp(1, None)), toys.features()
    y = toys.values()
    model = TwoModels.from_model(base, train_base=False, seed=3)
    second = model.variance_network
    alone = keras.models.clone_model(second)
    alone.set_weights(second.get_weights())
    square = (y - base.predict(x, verbose=0)) ** 2

    def likelihood(squares, outputs):
        nll = outputs + squares * keras.ops.exp(-outputs)
        return keras.ops.mean(0.5 * nll, axis=-1)

    options = {"batch_size": 7, "epochs": 3, "shuffle": False, "verbose": 0}
    model.compile(keras.optimizers.SGD(0.1))
    before = toys.weights_of(model.network)
    model.fit(x, y, **options)
    toys.assert_same(toys.weights_of(model.network), before)
    alone.compile(keras.optimizers.SGD(0.1), likelihood)
    alone.fit(x, square, **options)
    for left, right in zip(
        toys.weights_of(second), toys.weights_of(alone), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


def test_logs_and_scores_by_hand():
    base, x = regularised(2), toys.features()
    y = toys.values(num_values=2)
    weight = np.linspace(0, 2, len(x)).astype("float32")
    model = toys.randomise(TwoModels.from_model(base))
    mean = model.network.predict(x, verbose=0)
    s = np.reshape(model.variance_network.predict(x, verbose=0), (24, 2))
    model.compile(keras.optimizers.SGD(0.0), weighted_metrics=["mse"])
    logs = model.evaluate(
        x, y, sample_weight=weight, verbose=0, return_dict=True
    )
    nll = -stats.norm(mean, np.exp(s / 2)).logpdf(y).mean(-1)
    expected = np.sum(nll * weight) / weight.sum()
    assert logs["variance_loss"] == pytest.approx(expected, rel=1e-4)
    # Each term of the regularisation once.
    penalty = sum(
        0.01 * np.sum(np.square(kernel))
        for kernel in (
            toys.weights_of(model.network)[0],
            toys.weights_of(model.variance_network)[0],
        )
    )
    expected = penalty + np.mean(((mean - y) ** 2).mean(-1) * weight)
    assert logs["loss"] == pytest.approx(expected, rel=1e-4)
    for score, expected in (
        (None, np.sqrt(np.exp(s).sum(-1))),
        ("variance", np.exp(s).sum(-1)),
    ):
        scored = TwoModels(model.network, model.variance_network, score=score)
        found = scored.predict(x, verbose=0)["uncertainty"]
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("together", [True, False])
def test_it_recovers_the_noise(together):
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (512, 1)).astype("float32")
    deviation = np.where(x < 0, 0.1, 0.4)
    y = (2 * x + deviation * generator.normal(size=x.shape)).astype("float32")
    inputs = keras.Input((1,))
    hidden = layers.Dense(16, activation="tanh")(inputs)
    base = keras.Model(inputs, layers.Dense(1)(hidden))
    if not together:
        base.compile(keras.optimizers.Adam(0.03), "mse")
        base.fit(x, y, epochs=20, batch_size=64, verbose=0)
    model = TwoModels.from_model(base, train_base=together)
    model.compile(keras.optimizers.Adam(0.03))
    logs = model.fit(x, y, epochs=40, batch_size=64, verbose=0).history
    assert logs["variance_loss"][-1] < logs["variance_loss"][0]
    points = np.array([[-0.7], [0.7]], "float32")
    out = model.predict(points, verbose=0)
    np.testing.assert_allclose(out["uncertainty"], [0.1, 0.4], rtol=0.3)
    np.testing.assert_allclose(out["prediction"], 2 * points, atol=0.15)


def test_a_frozen_base_predicts_as_at_inference():
    base = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(8, "relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            layers.Dense(1),
        ]
    )
    x, y = toys.features(), toys.values()
    model = TwoModels.from_model(toys.randomise(base), train_base=False)
    before = toys.weights_of(model.network)
    model.compile("adam", metrics=["mse"])
    logs = model.fit(x, y, epochs=2, verbose=0).history
    expected = np.mean((base.predict(x, verbose=0) - y) ** 2)
    for name in ("loss", "mse"):
        np.testing.assert_allclose(logs[name], [expected] * 2, rtol=1e-4)
    toys.assert_same(toys.weights_of(model.network), before)
    assert base.trainable


def test_second_network_is_a_linear_one_of_its_own():
    inputs = keras.Input((4,))
    hidden = layers.Dense(8, "relu", name="hidden")(inputs)
    positive = layers.Dense(1, "softplus", name="positive")(hidden)
    base = toys.randomise(keras.Model(inputs, positive))
    one, same, other = (
        TwoModels.from_model(base, seed=seed).variance_network
        for seed in (0, 0, 1)
    )
    toys.assert_same(toys.weights_of(one), toys.weights_of(same))
    hidden, *_ = toys.weights_of(one)
    assert not np.allclose(hidden, toys.weights_of(other)[0])
    assert not np.allclose(hidden, toys.weights_of(base)[0])
    assert one.layers[-1].activation is keras.activations.linear
    # The variance is 1 to start with.
    found = np.reshape(one.predict(toys.features(), verbose=0), -1)
    np.testing.assert_array_equal(found, np.zeros(24))


@pytest.mark.parametrize("train_base", [True, False])
def test_other_options_do_not_train_another_part(train_base):
    model = TwoModels.from_model(toys.mlp(1, None), train_base=train_base)
    with pytest.raises(ValueError, match=f"train_base={not train_base}, for"):
        model.with_options(train_base=not train_base)
    assert model.network.trainable is train_base
    again = model.with_options(train_base=train_base, score="variance")
    assert again.train_base is train_base and again.score == "variance"


def two_values(as_dict):
    inputs = keras.Input((4,))
    hidden = layers.Dense(8, "relu")(inputs)
    outputs = {
        name: layers.Dense(size, name=name)(hidden)
        for name, size in (("place", 2), ("size", 1))
    }
    outputs = outputs if as_dict else list(outputs.values())
    return keras.Model(inputs, outputs)


@pytest.mark.parametrize(
    "as_dict", [True, pytest.param(False, marks=pytest.mark.slow)]
)
def test_several_outputs(as_dict):
    model = TwoModels.from_model(two_values(as_dict))
    x, y = toys.features(), [toys.values(num_values=2), toys.values()]
    weight = [np.linspace(0, 1, 24), np.ones(24)]
    if as_dict:
        y = dict(zip(("place", "size"), y, strict=True))
        weight = dict(zip(y, weight, strict=True))
    model.compile("adam", metrics={"place": "mse"})
    logs = model.fit(x, y, sample_weight=weight, verbose=0).history
    assert {"place_variance_loss", "size_variance_loss"} <= set(logs)
    assert {"place_mse", "size_loss"} <= set(logs)
    out = keras.tree.flatten(model.predict(x, verbose=0)["uncertainty"])
    assert [one.shape for one in out] == [(24,), (24,)]


def test_what_is_masked_takes_no_part():
    base = keras.Sequential(
        [keras.Input((None, 3)), layers.Masking(), layers.Dense(2)]
    )
    model = TwoModels.from_model(base)
    x = np.ones((4, 5, 3), "float32")
    x[:, 3:] = 0
    y = np.zeros((4, 5, 2), "float32")
    model.compile(keras.optimizers.SGD(0.0))
    expected = model.fit(x, y, verbose=0).history
    y[:, 3:] = 1e3
    found = model.fit(x, y, verbose=0).history
    for name in ("loss", "variance_loss"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)
    assert model.predict(x, verbose=0)["uncertainty"].shape == (4, 5)


def test_report_knows_the_task():
    model = toys.randomise(TwoModels.from_model(toys.mlp(1, None)))
    report = kz.evaluate_uncertainty(model, (toys.features(), toys.values()))
    assert "mae" in report


# Bad input.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "classification"}, "task='classification'"),
        ({"task": None}, "task=None"),
        ({"score": "entropy"}, "score='entropy'"),
        ({"rate": 0.1}, "rate"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        TwoModels.from_model(toys.mlp(1, None), **options)


def test_bad_networks():
    inputs = keras.Input((4,))
    scaled = layers.Rescaling(2.0)(layers.Dense(1)(inputs))
    with pytest.raises(ValueError, match="ends in 'rescaling"):
        TwoModels.from_model(keras.Model(inputs, scaled))
    with pytest.raises(ValueError, match="one output for each"):
        TwoModels(toys.mlp(1, None), toys.mlp(2, None))
    with pytest.raises(ValueError, match="unbuilt"):
        TwoModels.from_model(keras.Sequential([layers.Dense(2)]))


@pytest.mark.parametrize("loss", ["gaussian_nll", GaussianNLL()])
def test_bad_losses(loss):
    model = TwoModels.from_model(toys.mlp(1, None))
    with pytest.raises(ValueError, match="that of the first one"):
        model.compile("adam", loss)


def test_bad_optimizers_and_targets():
    model = TwoModels.from_model(toys.mlp(1, None))
    with pytest.raises(ValueError, match="global_clipnorm=1.0"):
        model.compile(keras.optimizers.Adam(global_clipnorm=1.0), "mse")
    model.compile("adam")
    with pytest.raises(ValueError, match="shape"):
        model.fit(toys.features(), toys.values(num_values=2), verbose=0)
