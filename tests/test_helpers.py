import keras
import numpy as np
import pytest

from tests.helpers import (
    assert_config_round_trip,
    assert_saved_in_fresh_process,
)


@keras.saving.register_keras_serializable("tests")
class Forgetful(keras.layers.Layer):
    def __init__(self, units=1, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def get_config(self):
        return {"name": self.name}


def test_config_round_trip_of_a_layer():
    layer = keras.layers.Dense(3, activation="relu", name="dense")
    assert assert_config_round_trip(layer).units == 3


def test_config_round_trip_finds_a_forgotten_argument():
    with pytest.raises(AssertionError, match="leaves out .'units'."):
        assert_config_round_trip(Forgetful(3))


def test_saved_in_fresh_process():
    left, right = keras.Input((4,), name="left"), keras.Input((4,))
    x = keras.layers.Concatenate()([left, right])
    outputs = {"a": keras.layers.Dense(2)(x), "b": keras.layers.Dense(1)(x)}
    model = keras.Model([left, right], outputs)
    inputs = [np.random.rand(5, 4).astype("float32") for _ in range(2)]
    loaded = assert_saved_in_fresh_process(model, inputs)
    assert loaded["a"].shape == (5, 2)


def test_saved_in_fresh_process_needs_registration():
    @keras.saving.register_keras_serializable("only_in_this_process")
    class Unknown(keras.layers.Layer):
        def call(self, inputs):
            return inputs

    model = keras.Sequential([keras.Input((4,)), Unknown()])
    with pytest.raises(AssertionError, match="Could not locate class"):
        assert_saved_in_fresh_process(model, np.zeros((2, 4), "float32"))
