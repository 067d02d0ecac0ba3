import functools

import keras
import numpy as np
import pytest
from scipy import special, stats

import keras_zigzag as kz
from keras_zigzag.baselines import GaussianNLL, SingleModel
from tests.baselines import toys

pytestmark = pytest.mark.first_quick_on("tensorflow", "jax", "torch")

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"


def scored(base, x, **options):
    model = SingleModel.from_model(base, **options)
    out = model.predict(x, verbose=0)
    np.testing.assert_allclose(
        out["prediction"], base.predict(x, verbose=0), rtol=1e-5, atol=1e-6
    )
    return out["uncertainty"]


# Values against oracles.


@pytest.mark.parametrize("activation", ["softmax", None])
def test_entropy_is_that_of_scipy(activation):
    base, x = toys.randomise(toys.mlp(activation=activation)), toys.features()
    answer = base.predict(x, verbose=0)
    p = answer if activation else special.softmax(answer, -1)
    np.testing.assert_allclose(
        scored(base, x, task="classification"),
        stats.entropy(p, axis=-1),
        rtol=1e-4,
        atol=1e-5,
    )
    np.testing.assert_allclose(
        scored(base, x, task="classification", score="max_probability"),
        1 - p.max(-1),
        atol=1e-5,
    )


def ends():
    """Networks that end in the same softmax in different ways."""
    inputs = keras.Input((4,))
    logits = layers.Dense(3)(inputs)
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3, "softmax")])
    return {
        "dense": toys.mlp(),
        "softmax": keras.Model(inputs, layers.Softmax()(logits)),
        "activation": keras.Model(inputs, layers.Activation("softmax")(logits)),
        "nested": keras.Sequential([keras.Input((4,)), inner]),
    }


@pytest.mark.first_quick_on("jax", "torch")
@pytest.mark.parametrize("end", ["nested", "dense", "softmax", "activation"])
def test_energy_is_that_of_the_logits(end):
    base, x = toys.randomise(ends()[end]), toys.features()
    weights = toys.weights_of(base)
    found = scored(base, x, task="classification", score="energy")
    last = weights[-2:]
    hidden = x
    if len(weights) > 2:
        hidden = np.maximum(x @ weights[0] + weights[1], 0)
    logits = hidden @ last[0] + last[1]
    expected = -special.logsumexp(logits, axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    toys.assert_same(toys.weights_of(base), weights)
    assert base.predict(x, verbose=0).sum(-1) == pytest.approx(1.0, abs=1e-5)


def test_energy_of_logits_that_are_the_prediction():
    base, x = toys.randomise(toys.mlp(activation=None)), toys.features()
    expected = -special.logsumexp(base.predict(x, verbose=0), axis=-1)
    found = scored(base, x, task="classification", score="energy")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("activation", ["sigmoid", None])
def test_binary_labels_are_independent(activation):
    base, x = toys.randomise(toys.mlp(2, activation)), toys.features()
    answer = base.predict(x, verbose=0)
    p = answer if activation else special.expit(answer)
    expected = sum(stats.entropy([p[:, i], 1 - p[:, i]]) for i in range(2))
    found = scored(base, x, task="binary")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    found = scored(base, x, task="binary", score="max_probability")
    expected = 1 - np.maximum(p, 1 - p).prod(-1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_extreme_logits_have_a_finite_score():
    base = toys.mlp(activation=None)
    base.layers[-1].bias.assign([1e4, -1e4, 0.0])
    for score in ("entropy", "max_probability", "energy"):
        found = scored(
            base, toys.features(), task="classification", score=score
        )
        assert np.isfinite(found).all()


def test_nll_by_hand():
    generator = np.random.default_rng(0)
    y, mean, s = generator.normal(size=(3, 5, 2)).astype("float32")
    loss = GaussianNLL(reduction="none")(y, np.stack([mean, s], -1))
    expected = -stats.norm(mean, np.exp(s / 2)).logpdf(y).mean(-1)
    loss = keras.ops.convert_to_numpy(loss)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    assert kz.metrics.gaussian_nll(y, mean, np.exp(s / 2)) == pytest.approx(
        expected.mean(), rel=1e-5
    )
    extreme = np.stack([mean, 1e4 * np.sign(s)], -1).astype("float32")
    assert np.isfinite(keras.ops.convert_to_numpy(GaussianNLL()(y, extreme)))


def test_it_recovers_the_noise():
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (512, 1)).astype("float32")
    deviation = np.where(x < 0, 0.1, 0.4)
    y = (2 * x + deviation * generator.normal(size=x.shape)).astype("float32")
    inputs = keras.Input((1,))
    hidden = layers.Dense(16, activation="tanh")(inputs)
    base = keras.Model(inputs, layers.Dense(1)(hidden))
    model = SingleModel.from_model(base, task="regression")
    model.compile(keras.optimizers.Adam(0.03))
    model.fit(x, y, epochs=30, batch_size=64, verbose=0)
    points = np.array([[-0.7], [0.7]], "float32")
    found = model.predict(points, verbose=0)["uncertainty"]
    np.testing.assert_allclose(found, [0.1, 0.4], rtol=0.3)


def test_loss_of_evaluate_is_the_nll_and_metrics_see_the_mean():
    x, y = toys.features(), toys.values(num_values=2)
    model = SingleModel.from_model(toys.mlp(2, None), task="regression")
    toys.randomise(model)
    model.compile("sgd", "gaussian_nll", metrics=["mse"])
    logs = model.evaluate(x, y, verbose=0, return_dict=True)
    mean, (s,) = model.network.predict(x, verbose=0)
    expected = -stats.norm(mean, np.exp(s / 2)).logpdf(y).mean()
    assert logs["loss"] == pytest.approx(expected, rel=1e-4)
    mse = [value for name, value in logs.items() if name != "loss"]
    assert mse == [pytest.approx(np.mean((mean - y) ** 2), rel=1e-4)]
    out = model.predict(x, verbose=0)
    deviation = np.sqrt(np.exp(s).sum(-1))
    np.testing.assert_allclose(out["uncertainty"], deviation, rtol=1e-4)


@pytest.mark.parametrize(
    "loss",
    [
        "mse",
        keras.losses.MeanAbsoluteError(),
        functools.partial(keras.losses.mean_squared_error),
    ],
)
def test_a_loss_that_would_leave_the_variance_untrained(loss):
    model = SingleModel.from_model(toys.mlp(1, None), task="regression")
    with pytest.raises(ValueError, match="leave untrained"):
        model.compile("sgd", loss)


def test_a_loss_of_the_users_own_may_read_the_variance():
    def nll(y, outputs):
        mean, s = outputs[..., 0], outputs[..., 1]
        return (s + (y - mean) ** 2 * keras.ops.exp(-s)) / 2

    model = SingleModel.from_model(toys.mlp(1, None), task="regression")
    model.compile("sgd", functools.partial(nll))
    logs = model.evaluate(toys.features(), toys.values(), verbose=0)
    assert np.isfinite(logs).all()


# The contract.


def test_several_outputs():
    task = {"kind": "classification", "size": "regression"}
    model = SingleModel.from_model(
        toys.two_outputs(), task=task, score={"kind": "energy", "size": None}
    )
    model.compile("adam", {"kind": CROSSENTROPY}, metrics={"size": "mse"})
    x, y = toys.features(), {"kind": toys.labels(), "size": toys.values()}
    logs = model.fit(x, y, validation_data=(x, y), verbose=0).history
    assert np.isfinite(logs["val_loss"]).all()
    out = model.predict(x, verbose=0)
    assert out["uncertainty"]["kind"].shape == (24,)
    assert out["uncertainty"]["size"].shape == (24,)


def test_one_number_per_place():
    base = keras.Sequential(
        [
            keras.Input((None, 3)),
            layers.Masking(),
            layers.Dense(4, "relu"),
            layers.Dense(2),
        ]
    )
    model = SingleModel.from_model(base, task="regression")
    x = np.ones((4, 5, 3), "float32")
    x[:, 3:] = 0
    y = np.zeros((4, 5, 2), "float32")
    y[:, 3:] = 1e3
    model.compile("adam")
    # What is masked takes no part in the loss.
    assert model.fit(x, y, verbose=0).history["loss"][0] < 10
    assert model.predict(x, verbose=0)["uncertainty"].shape == (4, 5)


def test_report_knows_the_task():
    model = SingleModel.from_model(toys.mlp(1, None), task="regression")
    x, y = toys.features(), toys.values()
    report = kz.evaluate_uncertainty(toys.randomise(model), (x, y))
    assert "mae" in report


def test_the_energy_of_masked_steps():
    base = toys.tagger()
    energy = SingleModel.from_model(base, "classification", score="energy")
    out = energy.predict(toys.tokens(), verbose=0)
    np.testing.assert_allclose(
        out["prediction"], base.predict(toys.tokens(), verbose=0), rtol=1e-5
    )
    assert out["uncertainty"].shape == (4, 5)


# Bad input.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": None}, "task=None"),
        ({"task": "ranking"}, "task='ranking'"),
        ({"task": "classification", "score": "ood"}, "score='ood'"),
        ({"task": "binary", "score": "energy"}, "score='energy'"),
        ({"task": "classification", "score": ["entropy"] * 2}, "score="),
        ({"task": "classification", "rate": 1}, "rate"),
    ],
)
def test_bad_options(options, message):
    end = "sigmoid" if options["task"] == "binary" else "softmax"
    with pytest.raises(ValueError, match=message):
        SingleModel.from_model(toys.mlp(3, end), **options)


def test_bad_networks():
    inputs = keras.Input((4,))
    hidden = layers.Dense(3, "softmax")(inputs)
    pooled = keras.Model(inputs, layers.Rescaling(1.0)(hidden))
    with pytest.raises(ValueError, match="logits.*'rescaling"):
        SingleModel.from_model(pooled, "classification", score="energy")
    with pytest.raises(ValueError, match="ends in 'rescaling"):
        SingleModel.from_model(pooled, "regression")
    with pytest.raises(ValueError, match="Make the model of an ordinary"):
        SingleModel(toys.mlp(1, None), "regression")
    with pytest.raises(ValueError, match="unbuilt"):
        SingleModel.from_model(keras.Sequential([layers.Dense(2)]), "binary")


def test_bad_losses_and_targets():
    model = SingleModel.from_model(toys.mlp(1, None), task="regression")
    with pytest.raises(ValueError, match="loss='mse'"):
        model.compile("adam", "mse")
    model.compile("adam")
    with pytest.raises(ValueError, match="shape"):
        model.fit(toys.features(), toys.values(num_values=2), verbose=0)
    with pytest.raises(ValueError, match="y=None"):
        model.fit(toys.features(), verbose=0)
    model = SingleModel.from_model(toys.mlp(), task="classification")
    with pytest.raises(ValueError, match="from_logits"):
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))


def test_likelihood_takes_targets_of_any_precision():
    outputs = np.array([[[0.5, 0.1]]], "float32")
    for dtype in ("float64", "float32", "int32"):
        y = np.array([[2.0]], dtype)
        nll = 0.5 * (np.log(2 * np.pi) + 0.1 + 1.5**2 * np.exp(-0.1))
        # As a metric calls it, without a cast before.
        found = kz.baselines.GaussianNLL().call(y, outputs)
        np.testing.assert_allclose(found, [nll], rtol=1e-6)


@pytest.mark.parametrize("method", ["SingleModel", "DeepEnsemble", "TwoModels"])
def test_an_infinite_log_variance_is_not_certain(method):
    kind = getattr(kz.baselines, method)
    model = kind.from_model(toys.mlp(1, None), task="regression")
    for weight in model.weights:
        if "log_variance" in weight.path and "kernel" in weight.path:
            weight.assign(np.full(weight.shape, -1e30))
        elif weight.shape == (8, 1):
            weight.assign(np.zeros(weight.shape))
    x = np.abs(toys.features(8))
    far = model.predict(x * np.float32(1e12), verbose=0)
    assert np.isfinite(far["prediction"]).all()
    assert np.isnan(far["uncertainty"]).any()
    assert not (far["uncertainty"] < 1e-3).any()


@pytest.mark.parametrize(
    "name, outputs", [("SingleModel", 1), ("BatchEnsemble", 3)]
)
def test_a_list_of_one_output(name, outputs):
    """All methods: `test_contract`, among the slow ones."""
    is_value = outputs == 1
    base = toys.mlp(outputs, None if is_value else "softmax")
    base = keras.Model(base.inputs[0], [base.outputs[0]])
    kind = getattr(kz.baselines, name)
    model = kind.from_model(
        base, "regression" if is_value else "classification"
    )
    x, y = toys.features(), toys.values() if is_value else toys.labels()
    model.compile("adam", None if is_value else CROSSENTROPY)
    model.fit(x, y, verbose=0)
    toys.check_prediction(model.predict(x, verbose=0), x, base)
    assert "raulc" in kz.evaluate_uncertainty(model, (x, y))
