import functools

import keras
import numpy as np
import pytest

from keras_zigzag.of_keras import is_of_keras


class OwnLayer(keras.layers.Dense):
    def call(self, inputs):
        return super().call(inputs)


class Renamed(keras.layers.Dense):
    pass


def own_function(x):
    return x


@pytest.mark.parametrize(
    "thing",
    [
        keras.layers.Dense,
        keras.layers.Dense(1),
        keras.layers.Dense(1).call,
        Renamed.call,
        keras.losses.mean_squared_error,
        keras.losses.Huber(),
        keras.activations.relu,
        functools.partial(
            functools.partial(keras.losses.binary_crossentropy, axis=-1)
        ),
    ],
)
def test_what_keras_wrote(thing):
    assert is_of_keras(thing)


@pytest.mark.parametrize(
    "thing",
    [
        OwnLayer,
        OwnLayer(1),
        OwnLayer.call,
        Renamed,
        own_function,
        functools.partial(own_function, 1),
        lambda x: x,
        np.tanh,
        len,
        "mse",
        None,
    ],
)
def test_what_others_wrote(thing):
    assert not is_of_keras(thing)
