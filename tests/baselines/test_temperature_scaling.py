import keras
import numpy as np
import pytest
from scipy import optimize, special

import keras_zigzag as kz
from keras_zigzag import metrics
from keras_zigzag.baselines import TemperatureScaling
from keras_zigzag.baselines.temperature_fit import best_temperature
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"


def drawn(logits, temperature, seed=3):
    """Labels as the logits divided by a temperature say."""
    generator = np.random.default_rng(seed)
    p = special.softmax(np.float64(logits) / temperature, axis=-1)
    u = generator.random((*p.shape[:-1], 1))
    return np.minimum((p.cumsum(-1) < u).sum(-1), p.shape[-1] - 1)


def nll(logits, one_hot, temperature, weights=1.0):
    log_p = special.log_softmax(np.float64(logits) / temperature, axis=-1)
    return -np.sum(weights * np.sum(one_hot * log_p, axis=-1))


def by_scipy(logits, one_hot, weights=1.0):
    found = optimize.minimize_scalar(
        lambda log_t: nll(logits, one_hot, np.exp(log_t), weights),
        bounds=(-8, 8),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return np.exp(found.x)


def overconfident(x, activation="softmax", outputs=3, seed=1):
    """A network with large logits, and labels that ask for a larger T."""
    base = toys.randomise(toys.mlp(outputs, activation), seed)
    base.layers[-1].kernel.assign(base.layers[-1].kernel * 6.0)
    probe = toys.mlp(outputs, None)
    probe.set_weights(base.get_weights())
    logits = probe.predict(x, verbose=0)
    return base, logits


@pytest.mark.parametrize("activation", ["softmax", None])
def test_calibrated_and_nothing_else(activation):
    x = toys.features(300)
    base, logits = overconfident(x, activation)
    y = drawn(logits, 2.5)
    model = TemperatureScaling.from_model(base, "classification")
    before = base.predict(x, verbose=0)
    found = model.predict(x, verbose=0)
    np.testing.assert_allclose(found["prediction"], before, rtol=1e-5)
    temperature = model.calibrate(x, y)
    assert temperature == model.temperature
    assert temperature == pytest.approx(by_scipy(logits, np.eye(3)[y]), 1e-5)
    out = model.predict(x, verbose=0)
    p = special.softmax(logits / temperature, axis=-1)
    expected = p if activation else logits / temperature
    np.testing.assert_allclose(
        out["prediction"], expected, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        out["uncertainty"], -np.sum(special.xlogy(p, p), -1), atol=1e-4
    )
    np.testing.assert_array_equal(
        out["prediction"].argmax(-1), before.argmax(-1)
    )
    toys.assert_same(toys.weights_of(base), toys.weights_of(model.network))
    old = special.softmax(logits, axis=-1)
    for metric in (
        metrics.negative_log_likelihood,
        metrics.expected_calibration_error,
    ):
        assert metric(y, p) < metric(y, old)


@pytest.mark.parametrize("end", ["sigmoid", None, "layer"])
def test_binary_labels(end):
    x = toys.features(200)
    base, logits = overconfident(x, None if end == "layer" else end, outputs=2)
    if end == "layer":
        base = keras.Sequential([base, layers.Activation("sigmoid")])
    y = toys.labels(400, 2).reshape(200, 2)
    pairs = np.stack([logits, 0 * logits], -1).reshape(-1, 2)
    y[:150] = 1 - drawn(pairs, 3.0).reshape(-1, 2)[:150]
    model = TemperatureScaling.from_model(base, "binary", "max_probability")
    weight = np.linspace(0.0, 2.0, 200)
    temperature = model.calibrate(x, y, weight)
    one_hot = np.stack([y, 1 - y], -1).reshape(-1, 2)
    expected = by_scipy(pairs, one_hot, np.repeat(weight, 2))
    assert temperature == pytest.approx(expected, 1e-4)
    out = model.predict(x, verbose=0)
    p = special.expit(logits / temperature)
    expected = p if end else logits / temperature
    np.testing.assert_allclose(
        out["prediction"], expected, rtol=1e-4, atol=1e-6
    )
    surest = np.maximum(p, 1 - p).prod(-1)
    np.testing.assert_allclose(out["uncertainty"], 1 - surest, atol=1e-5)


def test_energy_at_the_temperature():
    x = toys.features()
    base, logits = overconfident(x)
    model = TemperatureScaling.from_model(base, "classification", "energy")
    model.temperatures.assign([2.0])
    expected = -2.0 * special.logsumexp(logits / 2.0, axis=-1)
    found = model.predict(x, verbose=0)["uncertainty"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_optimum_is_exact(scale):
    generator = np.random.default_rng(0)
    logits = generator.normal(0.0, scale, (500, 4))
    one_hot = np.eye(4)[drawn(logits / scale, 0.7)]
    found = best_temperature(logits, one_hot)
    assert found == pytest.approx(scale * by_scipy(logits / scale, one_hot))
    step = 1e-4 * found
    lowest = nll(logits, one_hot, found)
    assert lowest < nll(logits, one_hot, found - step)
    assert lowest < nll(logits, one_hot, found + step)


def test_weights_are_numbers_of_samples():
    logits = np.random.default_rng(0).normal(0.0, 3.0, (60, 3))
    one_hot = np.eye(3)[drawn(logits, 2.0)]
    weights = np.arange(60) % 4
    found = best_temperature(logits, one_hot, weights)
    again = best_temperature(
        np.repeat(logits, weights, 0), np.repeat(one_hot, weights, 0)
    )
    assert found == pytest.approx(again, 1e-12)
    assert found != pytest.approx(best_temperature(logits, one_hot), 1e-3)


def test_soft_labels():
    logits = np.random.default_rng(0).normal(0.0, 3.0, (60, 3))
    wanted = special.softmax(logits / 1.7, axis=-1)
    assert best_temperature(logits, wanted) == pytest.approx(1.7, 1e-10)


class Batches(keras.utils.PyDataset):
    def __init__(self, *arrays):
        super().__init__()
        self.arrays = arrays

    @property
    def num_batches(self):
        return 4

    def __getitem__(self, index):
        return tuple(one[index * 10 : index * 10 + 10] for one in self.arrays)


def test_fit_calibrates_on_validation_data():
    x = toys.features(40)
    base, logits = overconfident(x)
    y, weight = drawn(logits, 2.5), np.linspace(0.5, 1.5, 40)
    expected = best_temperature(logits, np.eye(3)[y], weight)

    def fitted(fit=None, **options):
        model = TemperatureScaling.from_model(base, "classification")
        # A learning rate of zero leaves the network as it is.
        model.compile(keras.optimizers.SGD(0.0), CROSSENTROPY)
        fit = fit or (x[:20], y[:20])
        model.fit(*fit, verbose=0, **options)
        return model.temperature

    assert fitted() == 1.0
    everything = (x, y, weight)
    found = fitted(validation_data=everything)
    assert found == pytest.approx(expected, 1e-4)
    found = fitted(validation_data=Batches(*everything))
    assert found == pytest.approx(expected, 1e-4)
    found = fitted(fit=(x, y), validation_split=0.5)
    expected = best_temperature(logits[20:], np.eye(3)[y[20:]])
    assert found == pytest.approx(expected, 1e-4)
    with pytest.warns(UserWarning, match="stays 1.0.*all the same"):
        fitted(validation_data=(x, 0 * y))


@pytest.mark.backend("tensorflow")
def test_tf_data():
    import tensorflow as tf

    x = toys.features(40)
    base, logits = overconfident(x)
    y = drawn(logits, 2.5)
    model = TemperatureScaling.from_model(base, "classification")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(15)
    expected = best_temperature(logits, np.eye(3)[y])
    assert model.calibrate(data) == pytest.approx(expected, 1e-4)
    expected = best_temperature(logits[:15], np.eye(3)[y[:15]])
    found = model.calibrate(data.repeat(), steps=1)
    assert found == pytest.approx(expected, 1e-4)
    with pytest.raises(ValueError, match="without end"):
        model.calibrate(data.repeat())


def test_trains_as_the_base_model_does():
    x, y = toys.features(), toys.labels()
    base = toys.randomise(toys.mlp())
    model = TemperatureScaling.from_model(base, "classification")
    model.temperatures.assign([3.0])
    for one in (base, model):
        one.compile(keras.optimizers.SGD(0.1), CROSSENTROPY)
        one.fit(x, y, epochs=2, shuffle=False, verbose=0)
    for one, other in zip(base.weights, model.network.weights, strict=True):
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(one),
            keras.ops.convert_to_numpy(other),
            rtol=1e-5,
            atol=1e-6,
        )
    assert model.temperature == 3.0


@pytest.mark.parametrize(
    "kind, options",
    [
        (TemperatureScaling, {}),
        (kz.baselines.SingleModel, {"score": "energy"}),
        (kz.baselines.EvidentialModel, {}),
    ],
)
def test_a_penalty_of_probabilities_is_none_of_logits(kind, options):
    penalty = keras.regularizers.L2(1.0)
    base = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(3, "softmax", activity_regularizer=penalty),
        ]
    )
    x = toys.features()
    model = kind.from_model(toys.randomise(base), "classification", **options)
    probabilities = keras.ops.convert_to_numpy(model(x, training=True))
    (found,) = map(keras.ops.convert_to_numpy, model.losses)
    expected = np.sum(probabilities**2) / len(x)
    assert found == pytest.approx(expected, rel=1e-4)


def test_several_outputs_and_ignored_places(tmp_path):
    inputs = keras.Input((5, 5, 1))
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    outputs = {
        "map": layers.Conv2D(3, 1, activation="softmax", name="map")(x),
        "yes": layers.Dense(1, name="yes")(layers.GlobalMaxPooling2D()(x)),
    }
    base = toys.randomise(keras.Model(inputs, outputs))
    task = {"map": "classification", "yes": "binary"}
    model = TemperatureScaling.from_model(base, task)
    loss = {
        "map": keras.losses.SparseCategoricalCrossentropy(ignore_class=0),
        "yes": keras.losses.BinaryCrossentropy(from_logits=True),
    }
    model.compile("adam", loss)
    images = np.random.default_rng(0).normal(size=(30, 5, 5, 1))
    answers = base.predict(images, verbose=0)
    logits = np.log(answers["map"])
    pair = np.concatenate([0 * answers["yes"], 4 * answers["yes"]], -1)
    y = {"map": drawn(logits, 1.4), "yes": drawn(pair, 1.0)}
    found = model.calibrate(images, y)
    assert sorted(found) == ["map", "yes"]
    kept = y["map"] != 0
    expected = by_scipy(logits[kept], np.eye(3)[y["map"][kept]])
    assert found["map"] == pytest.approx(expected, 1e-3)
    out = model.predict(images, verbose=0)["uncertainty"]
    assert out["map"].shape == (30, 5, 5) and out["yes"].shape == (30,)
    # Not compiled, since it was not trained either.
    model = TemperatureScaling.from_model(base, task)
    model.temperatures.assign([found["map"], found["yes"]])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.temperature == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda logits, y: (logits, y * 0), "two classes"),
        (lambda logits, y: (logits, logits.argmax(-1)), "single mistake"),
        (lambda logits, y: (logits, logits.argmin(-1)), "better than chance"),
        (lambda logits, y: (logits * 0, y), "better than chance"),
        (lambda logits, y: (logits * np.nan, y), "finite"),
    ],
)
def test_no_optimum(change, message):
    logits = np.random.default_rng(0).normal(0.0, 3.0, (60, 3))
    logits, y = change(logits, drawn(logits, 2.0))
    with pytest.raises(ValueError, match=message):
        best_temperature(logits, np.eye(3)[y])


def test_bad_data():
    x, y = toys.features(), toys.labels()
    model = TemperatureScaling.from_model(toys.mlp(), "classification")
    with pytest.raises(ValueError, match="calibrate\\(x, y\\)"):
        model.calibrate(x)
    with pytest.raises(ValueError, match="weight is above zero"):
        model.calibrate(x, y, 0.0 * y)
    with pytest.raises(ValueError, match="the label 6"):
        model.calibrate(x, y + 5)
    with pytest.raises(ValueError, match="no samples"):
        model.calibrate(iter(()))
    assert model.temperature == 1.0


def test_masked_steps():
    base = toys.tagger()
    model = TemperatureScaling.from_model(base, "classification")
    model.compile("sgd", "sparse_categorical_crossentropy")
    x = toys.tokens()
    model.fit(x, np.zeros(x.shape, "int32"), epochs=1, verbose=0)
    out = model.predict(x, verbose=0)
    assert out["prediction"].shape == (4, 5, 3)
    np.testing.assert_array_equal(np.isfinite(out["uncertainty"]), x != 0)


def test_bad_options():
    with pytest.raises(ValueError, match="task='regression'"):
        TemperatureScaling.from_model(toys.mlp(1, None), "regression")
    with pytest.raises(ValueError, match="score='variance'"):
        TemperatureScaling.from_model(
            toys.mlp(), "classification", score="variance"
        )
    with pytest.raises(ValueError, match="score='energy'"):
        TemperatureScaling.from_model(
            toys.mlp(1, "sigmoid"), "binary", score="energy"
        )
    with pytest.raises(ValueError, match="logits.*activation='sigmoid'"):
        TemperatureScaling.from_model(toys.mlp(1, "tanh"), "binary")
    with pytest.raises(ValueError, match="unbuilt"):
        TemperatureScaling.from_model(
            keras.Sequential([layers.Dense(2)]), "classification"
        )


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_the_temperature_is_not_rounded_in_half_precision(policy):
    keras.config.set_dtype_policy(policy)
    try:
        inputs = keras.Input((4,))
        x = layers.Dense(8, activation="relu")(inputs)
        answer = layers.Dense(3, activation="softmax", dtype="float32")
        base = keras.Model(inputs, answer(x))
        model = TemperatureScaling.from_model(base, "classification")
    finally:
        keras.config.set_dtype_policy("float32")
    toys.randomise(model)
    x, y = toys.features(), toys.labels()
    model.compile("adam", CROSSENTROPY)
    model.fit(x, y, validation_data=(x, y), verbose=0)
    logits = model._logits.predict(x, verbose=0).astype("float64")
    model.temperatures.assign([1.2368])
    found = model.predict(x, verbose=0)["uncertainty"]
    p = special.softmax(logits / 1.2368, axis=-1)
    np.testing.assert_allclose(found, special.entr(p).sum(-1), rtol=1e-5)


def test_masked_places_have_no_labels():
    steps, there = 6, 3
    inputs, is_there = (
        keras.Input((steps, 4)),
        keras.Input((steps,), dtype=bool),
    )
    features = layers.Dense(8, activation="relu")(inputs)
    features = kz.MaskPlaces()([features, is_there])
    answer = layers.Dense(3, activation="softmax")
    base = keras.Model([inputs, is_there], answer(features))
    toys.randomise(base)
    x = np.random.default_rng(0).normal(size=(60, steps, 4)).astype("float32")
    mask = np.zeros((60, steps), bool)
    mask[:, :there] = True
    y = drawn(np.log(base.predict([x, mask], verbose=0)), 2.0)
    model = TemperatureScaling.from_model(base, "classification")
    model.compile("adam", CROSSENTROPY)
    expected = model.calibrate([x, mask], y, mask.astype("float32"))
    assert 1.3 < expected < 3.0
    for unseen in (0, 2):
        labels = np.where(mask, y, unseen)
        assert model.calibrate([x, mask], labels) == expected
    # Without a change of the network it is that of `fit`.
    model.compile(keras.optimizers.SGD(0.0), CROSSENTROPY)
    model.temperatures.assign([1.0])
    data = [x, mask], labels
    model.fit(*data, validation_data=data, verbose=0)
    assert model.temperature == pytest.approx(expected)


def test_losses_go_by_the_names_of_the_base_model():
    inputs = keras.Input((4,))
    x = layers.Dense(8)(inputs)
    outputs = [
        layers.Dense(3, activation="softmax", name="zeta")(x),
        layers.Dense(2, activation="softmax", name="alpha")(x),
    ]
    base = keras.Model(inputs, outputs)
    losses = {"zeta": CROSSENTROPY, "alpha": CROSSENTROPY}
    x, y = toys.features(), toys.labels()
    for kind, options in (
        (TemperatureScaling, {}),
        (kz.baselines.SingleModel, {"score": "energy"}),
    ):
        model = kind.from_model(base, "classification", **options)
        model.compile("adam", losses)
        logs = model.fit(x, {"zeta": y, "alpha": y % 2}, verbose=0).history
        assert set(logs) == {"loss", "zeta_loss", "alpha_loss"}
