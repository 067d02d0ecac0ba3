import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests.helpers import (
    assert_config_round_trip,
    assert_saved_in_fresh_process,
)
from tests.zigzag.test_losses import NAMED, two_outputs, two_targets
from tests.zigzag.toys import (
    assert_same_weights,
    class_data,
    classifier,
    differ,
    linear,
    randomise,
    value_data,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")


@keras.saving.register_keras_serializable("tests")
def half_l1(first, second):
    return ops.sum(ops.abs(first - second), axis=-1) / 2


@keras.saving.register_keras_serializable("tests")
class ScaledL1:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, first, second):
        return self.scale * ops.sum(ops.abs(first - second), axis=-1)

    def get_config(self):
        return {"scale": self.scale}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable("tests")
class Renamed(kz.ZigZagModel):
    """A subclass with an argument of its own."""

    def __init__(self, *args, factor=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.factor = factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


def saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model.keras")
    return keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"passes": "sampled", "seed": 3},
        {"distance": "kl", "num_passes": 3},
        {"distance": half_l1},
        {"distance": ScaledL1(0.5)},
        {"name": "digits"},
    ],
)
def test_config_round_trip(options):
    restored = assert_config_round_trip(classifier(**options))
    assert restored.distance is not None
    for name in ("passes", "seed", "num_passes", "name"):
        if name in options:
            assert getattr(restored, name) == options[name]


def test_training_goes_on_after_loading(tmp_path):
    x, y = class_data(16)
    model = randomise(classifier())
    model.compile(
        keras.optimizers.Adam(0.01),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        weighted_metrics=["sparse_categorical_crossentropy"],
    )
    settings = {"batch_size": 8, "shuffle": False, "verbose": 0}
    model.fit(x, y, **settings)
    loaded = saved_and_loaded(model, tmp_path)
    assert type(loaded) is kz.ZigZagModel
    assert loaded.get_compile_config() == model.get_compile_config()
    assert_same_weights(loaded, model)
    for one, two in zip(
        loaded.optimizer.variables, model.optimizer.variables, strict=True
    ):
        np.testing.assert_array_equal(
            ops.convert_to_numpy(one), ops.convert_to_numpy(two)
        )
    logs = [m.fit(x, y, epochs=2, **settings).history for m in (model, loaded)]
    assert_same_weights(loaded, model, rtol=1e-5, atol=1e-6)
    for name in logs[0]:
        np.testing.assert_allclose(logs[0][name], logs[1][name], rtol=1e-5)


def test_saved_between_compile_and_fit(tmp_path):
    model = classifier()
    model.compile("adam", "sparse_categorical_crossentropy")
    # A warning of Keras about the optimizer would be an error here.
    loaded = saved_and_loaded(model, tmp_path)
    assert not loaded.optimizer.built
    loaded.fit(*class_data(8), verbose=0)


def test_weights_are_stored_once():
    model = linear()
    names = [weight.path for weight in model.weights]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("distance", [half_l1, ScaledL1(0.5)])
def test_a_registered_distance(tmp_path, distance):
    model = randomise(classifier(distance=distance))
    x, _ = class_data()
    loaded = saved_and_loaded(model, tmp_path)
    np.testing.assert_allclose(
        loaded.predict(x, verbose=0)["uncertainty"],
        model.predict(x, verbose=0)["uncertainty"],
        rtol=1e-6,
    )


def test_a_registered_subclass(tmp_path):
    model = linear()
    model = randomise(Renamed(model.network, model.prior, factor=2.0))
    loaded = saved_and_loaded(model, tmp_path)
    assert type(loaded) is Renamed
    assert loaded.factor == 2.0
    assert_same_weights(loaded, model)


def test_several_outputs(tmp_path):
    model = randomise(two_outputs(dict))
    model.compile("adam", loss=NAMED, loss_weights={"kind": 1.0, "size": 2.0})
    x, y = two_targets(dict)
    model.fit(x, y, verbose=0)
    loaded = saved_and_loaded(model, tmp_path)
    loaded.fit(x, y, verbose=0, shuffle=False)
    model.fit(x, y, verbose=0, shuffle=False)
    assert not differ(model, loaded)


def test_what_adapt_learnt(tmp_path):
    base = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model = randomise(kz.ZigZagModel.from_model(base, task="regression"))
    x, y = value_data()
    model.adapt(100 * y + 7)
    loaded = saved_and_loaded(model, tmp_path)
    for name in ("mean", "variance", "count"):
        np.testing.assert_allclose(
            ops.convert_to_numpy(getattr(loaded.prior, name)),
            ops.convert_to_numpy(getattr(model.prior, name)),
        )
    loaded.compile("sgd", "mse")
    loaded.fit(x, y, verbose=0)


def test_fresh_process():
    model = randomise(classifier(passes="sampled", distance="l1", num_passes=3))
    model.compile("adam", "sparse_categorical_crossentropy")
    x, y = class_data()
    model.fit(x, y, verbose=0)
    assert_saved_in_fresh_process(model, x)


def test_clone_by_config_has_its_own_weights():
    model = randomise(classifier())
    other = kz.ZigZagModel.from_config(model.get_config())
    assert differ(model, other)
    other.set_weights(model.get_weights())
    assert not differ(model, other)
