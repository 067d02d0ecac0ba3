import keras
import numpy as np
import pytest
from keras import ops
from scipy import integrate, special, stats

import keras_zigzag as kz
from keras_zigzag.baselines import EvidentialModel, dirichlet
from keras_zigzag.baselines import normal_inverse_gamma as nig
from keras_zigzag.baselines.gamma_functions import (
    digamma_rest,
    log_gamma_rest,
)
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers
HUGE = 1e4
BOTH = {"kind": "classification", "size": "regression"}


def array(tensor):
    return ops.convert_to_numpy(tensor)


def alphas(size=6, num_classes=3, seed=0):
    generator = np.random.default_rng(seed)
    return (1 + generator.gamma(1.0, 4.0, (size, num_classes))).astype(
        "float32"
    )


def outputs_of(alpha, weight):
    """Parameters and weight of the divergence, as the loss takes them."""
    return np.insert(alpha, alpha.shape[-1], weight, axis=-1)


def gradient(function, values):
    """Of the sum of a function, on whichever backend it is."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        return array(jax.grad(lambda x: ops.sum(function(x)))(values))
    if backend == "torch":
        import torch

        x = torch.tensor(values, requires_grad=True)
        ops.sum(function(x)).backward()
        return x.grad.numpy()
    import tensorflow as tf

    x = tf.constant(values)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = ops.sum(function(x))
    return tape.gradient(total, x).numpy()


# Values against oracles.


@pytest.mark.slow_but_on("tensorflow", "torch")
def test_values_and_gradients_are_finite_at_extreme_logits():
    logits = np.array(
        [[HUGE, -HUGE, 0.0], [-HUGE, HUGE, 0.0], [-HUGE] * 3, [HUGE] * 3],
        "float32",
    )
    labels = np.zeros(4, "int32")
    for evidence in dirichlet.EVIDENCE:
        layer = dirichlet.Dirichlet(evidence)
        for objective in dirichlet.OBJECTIVES:
            loss = dirichlet.DirichletLoss(objective, reduction="none")

            def of_classes(x, layer=layer, loss=loss):
                alpha = layer(x)
                weight = ops.ones_like(alpha[..., :1])
                joined = ops.concatenate([alpha, weight], axis=-1)
                return loss(labels, joined)

            assert np.isfinite(array(of_classes(logits))).all()
            assert np.isfinite(gradient(of_classes, logits)).all()
        for from_logits in (False, True):
            mean = dirichlet.DirichletMean(from_logits)
            assert np.isfinite(array(mean(layer(logits)))).all()
    heads = np.array([-HUGE, 0.0, HUGE], "float32")
    heads = np.stack(np.meshgrid(heads, heads, heads, heads), -1).reshape(-1, 4)
    layer, loss = nig.NormalInverseGamma(), nig.NormalInverseGammaLoss()

    def of_values(x):
        parameters = layer([x[:, 1], x[:, 2], x[:, 3]])
        joined = ops.concatenate([x[:, :1], parameters], axis=-1)
        return loss(np.ones((len(heads), 1), "float32"), joined[:, None])

    assert np.isfinite(array(of_values(heads))).all()
    assert np.isfinite(gradient(of_values, heads)).all()
    parameters = layer([heads[:, 1], heads[:, 2], heads[:, 3]])
    for score in nig.SCORES.values():
        assert np.isfinite(array(score(parameters))).all()


def test_what_is_left_of_the_gamma_functions():
    x = np.geomspace(1.0, 1e5, 60, dtype="float32").astype("float64")
    stirling = (x - 0.5) * np.log(x) - x + 0.5 * np.log(2 * np.pi)
    for found, expected in (
        (log_gamma_rest, special.gammaln(x) - stirling),
        (digamma_rest, np.log(x) - special.digamma(x)),
    ):
        values = found(ops.convert_to_tensor(x.astype("float32")))
        np.testing.assert_allclose(array(values), expected, 3e-6, 1e-8)
    slope = gradient(digamma_rest, x.astype("float32"))
    expected = 1 / x - special.polygamma(1, x)
    np.testing.assert_allclose(slope, expected, 1e-5, 1e-8)


def integral(function, first, second):
    """Of a function of the probability of the first of two classes."""
    density = stats.beta(first, second).pdf
    return integrate.quad(lambda p: function(p) * density(p), 0, 1)[0]


@pytest.mark.parametrize(
    ("objective", "error"),
    [
        ("mse", lambda p: 2 * (1 - p) ** 2),
        ("digamma", lambda p: -np.log(p)),
        ("log", None),
    ],
)
def test_objectives_are_the_integrals_that_they_stand_for(objective, error):
    loss = dirichlet.DirichletLoss(objective, reduction="none")
    alpha = alphas(num_classes=2)
    found = array(loss(np.zeros(len(alpha)), outputs_of(alpha, 0.0)))
    for value, (first, second) in zip(found, alpha, strict=True):
        expected = (
            integral(error, first, second)
            if error
            else -np.log(integral(lambda p: p, first, second))
        )
        assert value == pytest.approx(expected, rel=1e-4)


def test_objectives_against_monte_carlo():
    (alpha,) = alphas(1)
    p = stats.dirichlet(alpha).rvs(200000, random_state=0)
    target = np.eye(3)[1]
    for objective, errors in (
        ("mse", ((target - p) ** 2).sum(-1)),
        ("digamma", -np.log(p[:, 1])),
    ):
        loss = dirichlet.DirichletLoss(objective)
        found = array(loss(target[None], outputs_of(alpha[None], 0.0)))
        assert found == pytest.approx(errors.mean(), rel=0.01)
    found = dirichlet.mutual_information(
        ops.convert_to_tensor(alpha[None]), None
    )
    mean_entropy = stats.entropy(p, axis=-1).mean()
    expected = stats.entropy(alpha / alpha.sum()) - mean_entropy
    assert array(found)[0] == pytest.approx(expected, rel=0.02)


def test_divergence_from_the_uniform_distribution():
    alpha = np.concatenate([alphas(), [[1, 1, 1], [1, 2e4, 1], [9e3] * 3]])
    alpha = alpha.astype("float32")
    found = array(
        dirichlet.divergence_from_uniform(ops.convert_to_tensor(alpha))
    )
    alpha = alpha.astype("float64")
    total = alpha.sum(-1, keepdims=True)
    expected = (
        special.gammaln(total[:, 0])
        - special.gammaln(3)
        - special.gammaln(alpha).sum(-1)
        + (
            (alpha - 1.0) * (special.digamma(alpha) - special.digamma(total))
        ).sum(-1)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    one = stats.dirichlet(alpha[0])
    p = one.rvs(100000, random_state=0)
    sampled = one.logpdf(p.T) - stats.dirichlet([1, 1, 1]).logpdf(p.T)
    assert found[0] == pytest.approx(sampled.mean(), rel=0.02)


def test_only_misleading_evidence_is_regularised():
    alpha = np.array([[50.0, 3.0, 1.0]], "float32")
    loss = dirichlet.DirichletLoss("log", reduction="none")
    without = array(loss([0], outputs_of(alpha, 0.0)))
    found = array(loss([0], outputs_of(alpha, 0.5))) - without
    misleading = np.array([[1.0, 3.0, 1.0]], "float32")
    expected = 0.5 * array(
        dirichlet.divergence_from_uniform(ops.convert_to_tensor(misleading))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_likelihood_of_values_is_that_of_student():
    generator = np.random.default_rng(0)
    y, gamma = generator.normal(size=(2, 8, 2)).astype("float32")
    nu, alpha, beta = generator.gamma(2.0, 2.0, (3, 8, 2)).astype("float32")
    alpha += 1
    scale = np.sqrt(beta * (1 + nu) / (nu * alpha))
    nll = -stats.t(2 * alpha, gamma, scale).logpdf(y)
    misleading = np.abs(y - gamma) * (2 * nu + alpha)
    outputs = np.stack([gamma, nu, alpha, beta], -1)
    loss = nig.NormalInverseGammaLoss(0.3, reduction="none")(y, outputs)
    expected = (nll + 0.3 * misleading).mean(-1)
    np.testing.assert_allclose(array(loss), expected, rtol=1e-4)


def evidence_by_hand(base, x):
    """Parameters, from a base model of logits."""
    return np.logaddexp(0, base.predict(x, verbose=0)) + 1


@pytest.mark.parametrize(
    "nested", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_prediction_and_scores_by_hand(nested):
    base, x = toys.randomise(toys.mlp(activation=None)), toys.features()
    alpha = evidence_by_hand(base, x)
    p = alpha / alpha.sum(-1, keepdims=True)
    ends = {False: base}
    if nested:
        inputs = keras.Input((4,))
        base = keras.Model(inputs, base(inputs))
        ends = {False: base, True: keras.Sequential([base, layers.Softmax()])}
    expected = {
        "vacuity": 3 / alpha.sum(-1),
        "entropy": stats.entropy(p, axis=-1),
        "max_probability": 1 - p.max(-1),
        "mutual_information": stats.entropy(p, axis=-1)
        - (
            p
            * (
                special.digamma(alpha.sum(-1, keepdims=True) + 1)
                - special.digamma(alpha + 1)
            )
        ).sum(-1),
    }
    for has_softmax, end in ends.items():
        for score, value in expected.items():
            model = EvidentialModel.from_model(
                end, "classification", score=score
            )
            out = model.predict(x, verbose=0)
            answer = out["prediction"]
            answer = answer if has_softmax else np.exp(answer)
            np.testing.assert_allclose(answer, p, rtol=1e-4)
            np.testing.assert_allclose(
                out["uncertainty"], value, rtol=1e-3, atol=1e-5
            )


def test_variances_of_values_by_hand():
    base, x = toys.randomise(toys.mlp(2, None)), toys.features()
    model = EvidentialModel.from_model(base, "regression")
    before = model.network.predict(x, verbose=0)[1][0]
    # All heads start at zero.
    np.testing.assert_allclose(before[..., 0], np.log(2), rtol=1e-4)
    toys.randomise(model)
    prediction, (parameters,) = model.network.predict(x, verbose=0)
    nu, alpha, beta = np.moveaxis(parameters, -1, 0)
    aleatoric, epistemic = beta / (alpha - 1), beta / (nu * (alpha - 1))
    for score, expected in (
        ("epistemic_variance", epistemic),
        ("aleatoric_variance", aleatoric),
        ("variance", aleatoric + epistemic),
    ):
        scored = EvidentialModel(model.network, "regression", score=score)
        out = scored.predict(x, verbose=0)
        np.testing.assert_allclose(out["prediction"], prediction, rtol=1e-5)
        np.testing.assert_allclose(
            out["uncertainty"], expected.sum(-1), rtol=1e-4
        )


@pytest.mark.slow
def test_it_recovers_the_noise_of_values():
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (512, 1)).astype("float32")
    deviation = np.where(x < 0, 0.1, 0.4)
    y = (2 * x + deviation * generator.normal(size=x.shape)).astype("float32")
    inputs = keras.Input((1,))
    hidden = layers.Dense(16, activation="tanh")(inputs)
    base = keras.Model(inputs, layers.Dense(1)(hidden))
    model = EvidentialModel.from_model(
        base, "regression", score="aleatoric_variance"
    )
    model.compile(keras.optimizers.Adam(0.03))
    model.fit(x, y, epochs=40, batch_size=64, verbose=0)
    points = np.array([[-0.7], [0.7]], "float32")
    found = np.sqrt(model.predict(points, verbose=0)["uncertainty"])
    np.testing.assert_allclose(found, [0.1, 0.4], rtol=0.35)


@pytest.mark.slow
def test_evidence_is_found_where_the_data_are():
    generator = np.random.default_rng(0)
    y = np.arange(120) % 3
    x = generator.normal(0, 0.3, (120, 4)) + 2 * np.eye(4)[y]
    model = EvidentialModel.from_model(toys.mlp(hidden=16), "classification")
    model.compile(keras.optimizers.Adam(0.03), metrics=["accuracy"])
    logs = model.fit(x, y, epochs=20, verbose=0).history
    assert logs["accuracy"][-1] > 0.95
    between = np.ones((1, 4)) @ np.diag([1, 1, 1, 0]) * 0.7
    vacuity = [
        model.predict(one, verbose=0)["uncertainty"].mean()
        for one in (x, between)
    ]
    assert vacuity[0] < vacuity[1]


# The weight of the divergence.


class Epochs(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_epoch_begin(self, epoch, logs=None):
        self.seen.append(float(array(self.model.epoch)))


def unmoved(annealing_epochs=2):
    """A model that learns nothing, so that its loss is known."""
    base = toys.randomise(toys.mlp(activation=None))
    model = EvidentialModel.from_model(
        base, "classification", annealing_epochs=annealing_epochs
    )
    # PyTorch runs out of data where the steps are not a multiple.
    steps = 1 if keras.backend.backend() == "torch" else 2
    model.compile(keras.optimizers.SGD(0.0), steps_per_execution=steps)
    x, y = toys.features(), toys.labels()
    alpha = evidence_by_hand(base, x).astype("float32")
    expected = [
        float(array(dirichlet.DirichletLoss()(y, outputs_of(alpha, weight))))
        for weight in (0.0, 0.5, 1.0, 1.0)
    ]
    return model, x, y, expected


def test_weight_follows_the_epochs(tmp_path):
    model, x, y, expected = unmoved()
    epochs = Epochs()
    options = {"batch_size": 6, "verbose": 0, "validation_data": (x, y)}
    logs = model.fit(x, y, epochs=2, callbacks=epochs, **options).history
    np.testing.assert_allclose(logs["loss"], expected[:2], rtol=1e-5)
    np.testing.assert_allclose(logs["val_loss"], expected[:2], rtol=1e-5)
    found = model.evaluate(x, y, verbose=0)
    assert found == pytest.approx(expected[1], rel=1e-5)
    # It goes on where it stopped, also once it was saved.
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for one in (model, loaded):
        logs = one.fit(x, y, epochs=2, callbacks=[epochs], **options).history
        np.testing.assert_allclose(logs["loss"], expected[2:], rtol=1e-5)
    assert epochs.seen == [0, 1, 2, 3, 2, 3]


@pytest.mark.slow
def test_weight_starts_at_the_initial_epoch():
    model, x, y, expected = unmoved()
    assert model.evaluate(x, y, verbose=0) == pytest.approx(expected[0], 1e-5)
    callbacks = keras.callbacks.CallbackList(model=model, add_history=True)
    for epoch in (1, 2):
        # By position, as `fit(x, y, batch_size, epochs, verbose, callbacks)`.
        model.fit(x, y, 6, epoch + 1, 0, callbacks, initial_epoch=epoch)
        loss = callbacks._history.history["loss"][-1]
        assert loss == pytest.approx(expected[epoch], rel=1e-5)
    assert len(callbacks.callbacks) == 2
    model, x, y, expected = unmoved(annealing_epochs=0)
    assert model.evaluate(x, y, verbose=0) == pytest.approx(expected[2], 1e-5)


# The contract.


def test_one_hot_labels_weights_and_classes():
    alpha, labels = outputs_of(alphas(), 1.0), np.arange(6) % 3
    loss = [
        array(dirichlet.DirichletLoss()(targets, alpha))
        for targets in (labels, labels[:, None], np.eye(3)[labels])
    ]
    np.testing.assert_allclose(loss, loss[0], rtol=1e-5)
    model, x, y, _ = unmoved()
    weight = np.linspace(0, 2, len(y)).astype("float32")
    weighted = model.evaluate(x, y, sample_weight=weight, verbose=0)
    of_each = [model.test_on_batch(x[[i]], y[[i]]) for i in range(24)]
    assert weighted == pytest.approx(np.mean(of_each * weight), rel=1e-4)
    classes = {0: 0.5, 1: 2.0, 2: 1.0}
    logs = model.fit(x, y, class_weight=classes, verbose=0).history
    expected = np.mean(of_each * np.vectorize(classes.get)(y))
    assert logs["loss"][0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "task",
    ["classification", pytest.param("regression", marks=pytest.mark.slow)],
)
def test_what_is_masked_takes_no_part(task):
    base = keras.Sequential(
        [
            keras.Input((None, 3)),
            layers.Masking(),
            layers.Dense(4, "relu"),
            layers.Dense(2),
        ]
    )
    model = EvidentialModel.from_model(base, task)
    x = np.ones((4, 5, 3), "float32")
    x[:, 3:] = 0
    y = np.zeros((4, 5, 2) if task == "regression" else (4, 5), "float32")
    model.compile("sgd")
    loss = model.evaluate(x, y, verbose=0)
    y[:, 3:] = 1
    assert model.evaluate(x, y, verbose=0) == pytest.approx(loss, rel=1e-5)
    assert model.fit(x, y, verbose=0).history["loss"][0] == pytest.approx(
        loss, rel=1e-5
    )
    assert model.predict(x, verbose=0)["uncertainty"].shape == (4, 5)


@pytest.mark.slow
def test_several_outputs_keep_their_names():
    base = toys.two_outputs()
    out = EvidentialModel.from_model(base, BOTH).predict(
        toys.features(), verbose=0
    )
    assert {one.shape for one in out["uncertainty"].values()} == {(24,)}
    as_list = keras.Model(base.input, list(base.output.values()))
    model = EvidentialModel.from_model(as_list, list(BOTH.values()))
    model.compile("adam", metrics={"kind": "accuracy", "size": "mse"})
    x, y = toys.features(), [toys.labels(), toys.values()]
    logs = model.fit(x, y, verbose=0).history
    assert {"kind_accuracy", "size_mse", "kind_loss"} <= set(logs)
    assert np.isfinite(logs["loss"]).all()


@pytest.mark.slow
def test_half_precision_and_a_trained_base():
    base = toys.randomise(toys.mlp(dtype="mixed_float16"))
    before = toys.weights_of(base)
    model = EvidentialModel.from_model(base, "classification", evidence="exp")
    model.compile("adam")
    x, y = toys.features(), toys.labels()
    assert model.predict(x, verbose=0)["prediction"].dtype == np.float16
    for left, right in zip(toys.weights_of(model.network), before, strict=True):
        np.testing.assert_array_equal(left, right)
    logs = model.fit(x, y, verbose=0).history
    assert np.isfinite(logs["loss"]).all()
    toys.assert_same(toys.weights_of(base), before)


def test_report_knows_the_task():
    model = EvidentialModel.from_model(toys.mlp(), "classification")
    report = kz.evaluate_uncertainty(model, (toys.features(), toys.labels()))
    assert "accuracy" in report or "raulc" in report


# Bad input.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "binary"}, "task='binary'"),
        ({"objective": "crossentropy"}, "objective='crossentropy'"),
        ({"evidence": "sigmoid"}, "evidence='sigmoid'"),
        ({"score": "variance"}, "score='variance'"),
        ({"task": "regression", "score": "vacuity"}, "score='vacuity'"),
        ({"task": "regression", "evidence": "sigmoid"}, "evidence='sigmoid'"),
        ({"annealing_epochs": -1}, "annealing_epochs=-1"),
        ({"coefficient": float("nan")}, "coefficient=nan"),
        ({"loss": "mse"}, "loss"),
    ],
)
def test_bad_options(options, message):
    options = {"task": "classification"} | options
    with pytest.raises(ValueError, match=message):
        EvidentialModel.from_model(toys.mlp(), **options)


@pytest.mark.parametrize("end", ["log_softmax", "sigmoid", "relu"])
def test_bad_ends(end):
    with pytest.raises(ValueError, match="logits|log-softmax"):
        EvidentialModel.from_model(toys.mlp(3, end), "classification")


def test_bad_networks():
    inputs = keras.Input((4,))
    scaled = layers.Rescaling(1.0)(layers.Dense(3, "softmax")(inputs))
    scaled = keras.Model(inputs, scaled)
    for task in BOTH.values():
        with pytest.raises(ValueError, match="ends in 'rescaling"):
            EvidentialModel.from_model(scaled, task)
    with pytest.raises(ValueError, match="Make the model of an ordinary"):
        EvidentialModel(toys.mlp(), "classification")


@pytest.mark.parametrize(
    ("task", "loss"),
    [
        ("classification", "sparse_categorical_crossentropy"),
        ("classification", keras.losses.CategoricalCrossentropy(True)),
        ("classification", nig.NormalInverseGammaLoss()),
        ("regression", "mse"),
    ],
)
def test_bad_losses(task, loss):
    model = EvidentialModel.from_model(toys.mlp(3, None), task)
    with pytest.raises(ValueError, match="loss of its own"):
        model.compile("adam", loss)
    model.compile("adam", "evidential")


def test_bad_targets():
    model = EvidentialModel.from_model(toys.mlp(), "classification")
    model.compile("adam")
    with pytest.raises(ValueError, match="label 3"):
        model.fit(toys.features(), toys.labels() + 1, verbose=0)
    with pytest.raises(ValueError, match="y=None"):
        model.fit(toys.features(), verbose=0)


EVIDENCE = {
    "softplus": lambda z: np.logaddexp(0, z),
    "relu": lambda z: np.maximum(z, 0),
    "exp": np.exp,
}


@pytest.mark.parametrize("objective", ["mse", "digamma", "log"])
@pytest.mark.parametrize("evidence", EVIDENCE)
def test_the_loss_of_its_own_options(objective, evidence):
    """Sensoy et al., 2018, equations 3 to 5 and the divergence, by hand."""
    base = toys.randomise(toys.mlp(activation=None))
    x, y = toys.features(), toys.labels()
    model = EvidentialModel.from_model(
        base, "classification", objective, evidence, annealing_epochs=0
    )
    model.compile("sgd")
    logits = base.predict(x, verbose=0).astype("float64")
    alpha, one_hot = 1 + EVIDENCE[evidence](logits), np.eye(3)[y]
    total, of_label = alpha.sum(axis=-1), (alpha * one_hot).sum(axis=-1)
    p = alpha / total[:, None]
    variance = p * (1 - p) / (total[:, None] + 1)
    error = {
        "mse": ((one_hot - p) ** 2 + variance).sum(axis=-1),
        "digamma": special.digamma(total) - special.digamma(of_label),
        "log": np.log(total) - np.log(of_label),
    }[objective]
    wrong = one_hot + (1 - one_hot) * alpha
    sums = wrong.sum(axis=-1)
    terms = (wrong - 1) * (
        special.digamma(wrong) - special.digamma(sums)[:, None]
    )
    divergence = (
        special.gammaln(sums)
        - special.gammaln(3)
        - special.gammaln(wrong).sum(axis=-1)
        + terms.sum(axis=-1)
    )
    expected = (error + divergence).mean()
    found = model.evaluate(x, y, verbose=0)
    assert found == pytest.approx(expected, rel=1e-4)


def test_values_are_learnt_with_the_coefficient():
    """Amini et al., 2020, equations 8 to 10, by hand."""
    x, y = toys.features(), toys.values(num_values=2)
    model = EvidentialModel.from_model(
        toys.mlp(2, None), "regression", coefficient=0.7
    )
    toys.randomise(model)
    model.compile("sgd")
    mean, (parameters,) = model.network.predict(x, verbose=0)
    nu, alpha, beta = np.moveaxis(parameters.astype("float64"), -1, 0)
    scale = np.sqrt(beta * (1 + nu) / (nu * alpha))
    nll = -stats.t(2 * alpha, mean, scale).logpdf(y)
    expected = nll + 0.7 * np.abs(y - mean) * (2 * nu + alpha)
    found = model.evaluate(x, y, verbose=0)
    assert found == pytest.approx(expected.mean(), rel=1e-4)
