import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests.helpers import assert_config_round_trip
from tests.zigzag.toys import class_data, differ, fit_once, randomise

pytestmark = pytest.mark.first_quick_on("jax", "torch")


@keras.saving.register_keras_serializable("tests")
class TwoInputs(keras.Model):
    """A subclassed network that takes the prior late."""

    def __init__(self, units=8, num_classes=3, **kwargs):
        super().__init__(**kwargs)
        self.units, self.num_classes = units, num_classes
        self.hidden = keras.layers.Dense(units, activation="relu")
        self.outer = keras.layers.Dense(num_classes, activation="softmax")

    def call(self, inputs, training=None):
        x, prior = inputs
        return self.outer(ops.concatenate([self.hidden(x), prior], axis=-1))

    def get_config(self):
        config = super().get_config()
        return {**config, "units": self.units, "num_classes": self.num_classes}


def subclassed(passes="both"):
    prior = kz.priors.OneHotPrior(num_classes=3)
    return kz.ZigZagModel(TwoInputs(), prior, passes=passes)


def functional(passes="both"):
    x, prior = keras.Input((4,)), keras.Input((4,))
    hidden = keras.layers.Dense(8, activation="relu")(x)
    hidden = keras.layers.Concatenate()([hidden, prior])
    outputs = keras.layers.Dense(3, activation="softmax")(hidden)
    return kz.ZigZagModel(
        keras.Model([x, prior], outputs), "one_hot", passes=passes
    )


@pytest.mark.first_quick_on("tensorflow", "jax", "torch")
@pytest.mark.parametrize("make", [subclassed, functional])
@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_networks_with_two_inputs(make, passes, tmp_path):
    model, (x, y) = make(passes), class_data(16)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["acc"])
    losses = model.fit(x, y, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    out = model.predict(x, verbose=0)
    assert out["prediction"].shape == (16, 3)
    assert out["uncertainty"].shape == (16,)
    assert out["uncertainty"].min() > 0
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    again = loaded.predict(x, verbose=0)
    for name in out:
        np.testing.assert_allclose(out[name], again[name], rtol=1e-5)
    settings = {"batch_size": 16, "shuffle": False, "verbose": 0}
    for each in (model, loaded):
        each.fit(x, y, **settings)
    if passes == "both":
        assert not differ(model, loaded)


def test_a_subclassed_network_is_built_by_its_first_batch():
    model = subclassed()
    x, _ = class_data()
    assert model.predict(x, verbose=0)["uncertainty"].shape == (20,)
    assert len(model.trainable_weights) == 4


def test_config_of_a_subclassed_network():
    restored = assert_config_round_trip(subclassed())
    assert type(restored.network) is TwoInputs


def test_a_prior_that_cannot_know_the_output():
    with pytest.raises(ValueError, match=r"Received: prior=.*prior\.build"):
        kz.ZigZagModel(TwoInputs(), kz.priors.OneHotPrior())


def masked_base():
    """One class per step of a sequence padded with zeros."""
    return keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            keras.layers.Embedding(7, 6, mask_zero=True),
            keras.layers.LSTM(6, return_sequences=True),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )


def masked_data():
    generator = np.random.default_rng(0)
    x = generator.integers(1, 7, (8, 5))
    x[:4, 3:] = 0
    return x, generator.integers(0, 3, (8, 5))


@pytest.mark.backend("tensorflow", "torch")
@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_masks_reach_loss_and_metrics(passes):
    x, y = masked_data()
    base = masked_base()
    model = kz.ZigZagModel.from_model(
        base, task="classification", passes=passes, seed=0
    )
    logs = []
    for each in (base, model):
        # Untrained, the model answers as the base does whatever the prior.
        each.compile(
            keras.optimizers.SGD(0.0),
            "sparse_categorical_crossentropy",
            metrics=["sparse_categorical_crossentropy"],
        )
        logs.append(fit_once(each, x, y))
    assert logs[1]["loss"] == pytest.approx(logs[0]["loss"], rel=1e-4)
    if passes == "both":
        assert logs[1] == pytest.approx(logs[0], rel=1e-4)
    other = y.copy()
    other[:4, 3:] = (other[:4, 3:] + 1) % 3
    # What lies behind the mask has no part in the loss or in the metrics.
    again = fit_once(model_like(model, base, passes), x, other)
    assert again["loss"] == pytest.approx(logs[1]["loss"], rel=1e-5)
    if passes == "both":
        assert again == pytest.approx(logs[1], rel=1e-5)


def model_like(model, base, passes):
    other = kz.ZigZagModel.from_model(
        base, task="classification", passes=passes, seed=0
    )
    other.compile(
        keras.optimizers.SGD(0.0),
        "sparse_categorical_crossentropy",
        metrics=["sparse_categorical_crossentropy"],
    )
    return other


def test_steps_of_a_sequence_have_an_uncertainty_each():
    x, _ = masked_data()
    model = randomise(
        kz.ZigZagModel.from_model(masked_base(), task="classification")
    )
    assert model.predict(x, verbose=0)["uncertainty"].shape == (8, 5)


def test_second_input_of_another_width():
    inputs, answer = keras.Input((6,)), keras.Input((3,))
    x = keras.layers.Concatenate()([inputs, answer])
    network = keras.Model([inputs, answer], keras.layers.Dense(3)(x))
    prior = kz.priors.OneHotPrior(num_classes=3)
    with pytest.raises(
        ValueError, match=r"4 channels.*Received: .*\(None, 3\)"
    ):
        kz.ZigZagModel(network, prior)


def test_a_graph_without_a_prior_is_refused():
    inputs = [keras.Input((4,), name=name) for name in ("a", "b", "prior")]
    x = keras.layers.Concatenate()(inputs)
    flat = keras.Model(inputs, keras.layers.Dense(3, "softmax")(x))
    prior = kz.priors.OneHotPrior(num_classes=3)
    with pytest.raises(ValueError, match=r"\[\[a, b\], prior\]"):
        kz.ZigZagModel(flat, prior)
    nested = keras.Model([inputs[:2], inputs[2]], flat.output)
    assert kz.ZigZagModel(nested, prior).prior.num_classes == 3
    single = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="from_model"):
        kz.ZigZagModel(single, kz.priors.OneHotPrior(num_classes=3))


def test_an_export_of_a_subclassed_network_needs_a_signature(tmp_path):
    model, (x, y) = subclassed(), class_data(16)
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x, y, verbose=0)
    with pytest.raises(ValueError, match="`input_signature`"):
        model.export(tmp_path / "artifact")


@keras.saving.register_keras_serializable("tests")
class FourHeads(TwoInputs):
    """Of which nothing is known before it is called."""

    def call(self, inputs, training=None):
        one = super().call(inputs, training)
        return ops.stack([one] * 4, axis=1)


def test_a_subclassed_network_of_other_heads_is_refused():
    prior = kz.priors.OneHotPrior(num_classes=3)
    x, _ = class_data(16)
    wrong = kz.ZigZagModel(FourHeads(), prior, num_heads=2)
    with pytest.raises(ValueError, match="A network of 2 heads has them"):
        wrong.predict(x, verbose=0)
    right = kz.ZigZagModel(FourHeads(), prior, num_heads=4)
    assert right.predict(x, verbose=0)["prediction"].shape == (16, 3)
