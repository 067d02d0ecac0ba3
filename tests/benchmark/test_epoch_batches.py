"""Data sets that are made anew in the order of each epoch."""

import keras
import numpy as np
import pytest

from keras_zigzag.benchmark import Training
from keras_zigzag.benchmark.epoch_batches import EpochBatches
from keras_zigzag.benchmark.training import EpochBackup, train

NUM = 23


def _batches():
    tf = pytest.importorskip("tensorflow")
    x = np.random.default_rng(0).normal(size=(NUM, 2)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, np.arange(NUM)))
    return EpochBatches(
        lambda epoch: data.shuffle(NUM, seed=100 + epoch).batch(5)
    )


def _order(batches):
    return [int(y) for index in range(len(batches)) for y in batches[index][-1]]


def test_each_epoch_has_its_order():
    batches = _batches()
    assert len(batches) == 5
    orders = []
    for epoch in (0, 1, 0):
        batches.begin_epoch(epoch)
        orders.append(_order(batches))
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[1]) == list(range(NUM))
    batches.on_epoch_end()
    assert _order(batches) == orders[1]
    # From the start again, and from any other place.
    assert _order(batches) == orders[1]
    assert list(batches[3][-1]) == orders[1][15:20]
    assert list(batches[0][-1]) == orders[1][:5]


def test_training_that_goes_on_has_the_same_orders(tmp_path):
    def trained(epochs, name):
        keras.utils.set_random_seed(0)
        layers = [keras.Input((2,)), keras.layers.Dense(1)]
        model = keras.Sequential(layers)
        model.compile(keras.optimizers.SGD(1e-3), "mse")
        training = Training(epochs, 5, keras.optimizers.SGD, "mse")
        backup = EpochBackup(tmp_path / f"{name}.npz", "")
        train(model, _batches(), training, 0, backup)
        return np.array(model.layers[-1].kernel)

    at_once = trained(4, "at_once")
    assert not np.array_equal(trained(2, "twice"), at_once)
    np.testing.assert_array_equal(trained(4, "twice"), at_once)
