"""What several heads answer, by hand with NumPy and SciPy."""

import keras
import numpy as np
import pytest
from keras import ops
from scipy import special, stats

import keras_zigzag as kz
from tests.baselines import toys
from tests.zigzag.heads import NUM_HEADS, base_model, compiled, data, headed
from tests.zigzag.toys import fit_once

layers = keras.layers
pytestmark = pytest.mark.one_quick_on("jax", "torch")
READ = {
    "classification": lambda logits: special.softmax(logits, axis=-1),
    "binary": special.expit,
    "regression": lambda values: values,
}
UNCERTAINTIES = ("both", "distance", "disagreement", "entropy")


def raw(model, x, prior):
    """The outputs of all heads, before they are read."""
    return ops.convert_to_numpy(model.network([x, prior]))


@pytest.mark.parametrize("steps", [(), (5,)], ids=["flat", "dense"])
@pytest.mark.parametrize(
    ("task", "units", "uncertainty"),
    [
        (task, units, uncertainty)
        for task, units in [
            ("classification", 3),
            ("binary", 1),
            ("binary", 2),
            ("regression", 2),
        ]
        for uncertainty in UNCERTAINTIES
        if (task, uncertainty) != ("regression", "entropy")
    ],
)
def test_logits_and_values(task, units, uncertainty, steps):
    inputs, read = keras.Input((*steps, 4)), READ[task]
    x = layers.Dense(6, "tanh")(layers.Dense(6, "tanh")(inputs))
    base = keras.Model(inputs, layers.Dense(units)(x))
    model = kz.ZigZagModel.from_model(
        base, task, num_heads=3, prior_at="both", uncertainty=uncertainty
    )
    if task == "regression":
        ends = [np.full((*steps, units), value) for value in (10.0, 30.0)]
        model.adapt(np.stack(ends))  # Mean 20, standard deviation 10.
    toys.randomise(model.network)
    generator = np.random.default_rng(0)
    x = generator.normal(size=(12, *steps, 4)).astype("float32")
    first = raw(model, x, np.zeros((12, *steps, units + 1), "float32"))
    mean = read(first).mean(axis=1)
    fed = {
        "classification": lambda: np.eye(units)[mean.argmax(axis=-1)],
        "binary": lambda: mean > 0.5,
        "regression": lambda: (mean - 20) / 10,
    }[task]()
    presence = np.ones((12, *steps, 1))
    prior = np.concatenate([fed, presence], axis=-1).astype("float32")
    y0, y1 = read(first), read(raw(model, x, prior))
    moved = np.linalg.norm(y0 - y1, axis=-1)
    variance = y0.var(axis=1).sum(axis=-1)
    expected = {
        "both": np.sqrt((moved**2).mean(axis=1) + variance),
        "distance": moved.mean(axis=1),
        "disagreement": np.sqrt(variance),
        "entropy": entropy(task, mean),
    }[uncertainty]
    out = model.predict(x, verbose=0)
    found = read(out["prediction"])
    np.testing.assert_allclose(found, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        out["uncertainty"], expected, rtol=1e-3, atol=1e-5
    )


def entropy(task, p):
    if task == "regression":
        return None
    rest = special.entr(1 - p) if task == "binary" else 0
    return (special.entr(p) + rest).sum(axis=-1)


def test_two_outputs_and_the_metrics_of_one_with_logits():
    inputs = keras.Input((4,))
    x = layers.Dense(6, "tanh")(inputs)
    outputs = {
        "kind": layers.Dense(3, name="kind")(x),
        "size": layers.Dense(1, name="size")(x),
    }
    task = {"kind": "classification", "size": "regression"}
    model = kz.ZigZagModel.from_model(
        keras.Model(inputs, outputs), task, num_heads=3
    )
    x, y = toys.features(), {"kind": toys.labels(), "size": toys.values()}
    model.adapt(y)
    toys.randomise(model.network)
    blank = ops.convert_to_numpy(model.prior.encode_blank(24))
    first = model.network([x, blank])
    size = ops.convert_to_numpy(first["size"])
    logits = ops.convert_to_numpy(first["kind"])
    p = special.softmax(logits, axis=-1).mean(axis=1)
    out = model.predict(x, verbose=0)
    found = special.softmax(out["prediction"]["kind"], axis=-1)
    np.testing.assert_allclose(found, p, rtol=1e-4)
    np.testing.assert_allclose(
        out["prediction"]["size"], size.mean(axis=1), rtol=1e-4, atol=1e-6
    )
    other = model.with_options(uncertainty="disagreement")
    spread = other.predict(x, verbose=0)["uncertainty"]["size"]
    expected = size.std(axis=1)[:, 0]
    np.testing.assert_allclose(spread, expected, rtol=1e-4)
    model.compile(
        keras.optimizers.SGD(0.0),
        {
            "kind": keras.losses.SparseCategoricalCrossentropy(True),
            "size": "mse",
        },
        metrics={
            "kind": [
                keras.metrics.SparseCategoricalCrossentropy(
                    "nll", from_logits=True
                )
            ]
        },
        run_eagerly=keras.backend.backend() == "tensorflow",
    )
    nll = -np.log(p[np.arange(24), y["kind"]]).mean()
    assert fit_once(model, x, y)["kind_nll"] == pytest.approx(nll, rel=1e-4)


@pytest.mark.parametrize("num_heads", [1, 3])
def test_a_trained_model_scored_otherwise(num_heads, tmp_path):
    model, (x, _) = headed(num_heads=num_heads), data()
    out = model.predict(x, verbose=0)
    by_entropy = model.with_options(uncertainty="entropy")
    expected = stats.entropy(out["prediction"], axis=-1)
    assert not np.allclose(out["uncertainty"], expected, rtol=0.01)
    by_entropy.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for one in (by_entropy, loaded):
        found = one.predict(x, verbose=0)["uncertainty"]
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    served = by_entropy.with_threshold(np.median(expected))
    accept = served.predict(x, verbose=0)["accept"]
    np.testing.assert_array_equal(accept, expected <= np.median(expected))
    again = model.predict(x, verbose=0)["uncertainty"]
    np.testing.assert_array_equal(again, out["uncertainty"])


@pytest.mark.parametrize("prior_at", ["heads", "both", ["hidden"]])
def test_one_head_keeps_what_the_base_has_learnt(prior_at, tmp_path):
    base, (x, _) = toys.randomise(base_model()), data()
    model = kz.ZigZagModel.from_model(base, "classification", prior_at=prior_at)
    np.testing.assert_allclose(
        model.predict(x, verbose=0)["prediction"],
        base.predict(x, verbose=0),
        rtol=1e-5,
    )
    if prior_at == "both":
        return
    # It is the model with the prior at a later layer, however it is named.
    late = kz.ZigZagModel.from_model(base, "classification", layer="hidden")
    toys.randomise(late.network)
    model.network.set_weights(late.network.get_weights())
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    found = loaded.predict(x, verbose=0)
    for key, value in late.predict(x, verbose=0).items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_passes", [2, 3])
@pytest.mark.parametrize("uncertainty", UNCERTAINTIES)
def test_no_more_passes_than_it_takes(uncertainty, num_passes, monkeypatch):
    model = headed("heads", uncertainty=uncertainty, num_passes=num_passes)
    seen = []

    def watch(part):
        call = getattr(model._split, part)

        def watched(*args, **kwargs):
            seen.append(part)
            return call(*args, **kwargs)

        monkeypatch.setattr(model._split, part, watched)

    watch("trunk")
    watch("head")
    model.call_with_uncertainty(data()[0])
    count = num_passes if uncertainty in ("both", "distance") else 1
    assert seen == ["trunk"] + ["head"] * count


@pytest.mark.parametrize("passes", ["both", "sampled"])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_metrics_do_not_see_the_label(passes, batch_size):
    """The network copies its prior: right if told, and else 1 / 3 for each."""
    base = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(3, use_bias=False, activation="softmax"),
        ]
    )
    model = kz.ZigZagModel.from_model(
        base, "classification", num_heads=3, passes=passes, seed=1
    )
    for kernel in model.network.trainable_weights:
        copy = np.zeros(kernel.shape)
        copy[4:7] = 20.0 * np.eye(3)
        kernel.assign(copy)
    x, y = data(30)
    compiled(
        model,
        keras.optimizers.SGD(0.0),
        metrics=["accuracy"],
        weighted_metrics=["sparse_categorical_crossentropy"],
    )
    # Where nothing is known the first class is the answer.
    y = np.maximum(y, 1)
    logs = model.fit(x, y, batch_size=batch_size, verbose=0).history
    assert logs["accuracy"] == [0.0]
    nll = logs["sparse_categorical_crossentropy"]
    np.testing.assert_allclose(nll, np.log(3), rtol=1e-5)
    assert 0.3 < logs["loss"][0] / np.log(3) < 0.7


def test_what_the_trunk_adds_to_the_loss_counts_whole():
    base = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(6, "tanh"),
            layers.ActivityRegularization(l2=1.0, name="on_trunk"),
            layers.Dense(5, "tanh", name="hidden"),
            layers.ActivityRegularization(l2=1.0),
            layers.Dense(1, name="answer"),
        ]
    )
    model = kz.ZigZagModel.from_model(
        base, task="regression", num_heads=NUM_HEADS
    )
    toys.randomise(model)
    x, y = toys.features(), toys.values()
    model.adapt(y)
    model.compile(keras.optimizers.SGD(0.0), "mse")
    hidden = [f"hidden_head_{index}" for index in range(NUM_HEADS)]
    inner = keras.Model(
        model.network.input,
        [
            *(model.network.get_layer(n).output for n in ["on_trunk", *hidden]),
            model.network.output,
        ],
    )
    priors = model.prior.encode_blank(24), model.prior.encode_targets(y)
    prior = np.concatenate([*map(ops.convert_to_numpy, priors)])
    trunk, *hidden, outputs = inner.predict(
        [np.concatenate([x, x]), prior], verbose=0
    )
    added = (trunk**2).sum() + np.mean([(one**2).sum() for one in hidden])
    errors = (outputs - np.concatenate([y, y])[:, None]) ** 2
    # Keras divides what activities add by the size of the batch.
    expected = errors.mean() + added / 48
    assert fit_once(model, x, y)["loss"] == pytest.approx(expected, rel=1e-4)
