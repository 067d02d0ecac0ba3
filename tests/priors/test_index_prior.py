import numpy as np
import pytest
from keras import ops

from keras_zigzag import priors
from keras_zigzag.priors import IndexPrior
from tests.helpers import assert_config_round_trip


def numpy(tensor):
    return ops.convert_to_numpy(tensor)


def test_mnist_notebook():
    prior = priors.get("index")
    prior.build((None, 10))
    labels = np.arange(10)
    encoded = numpy(prior.encode_targets(labels))
    np.testing.assert_array_equal(encoded, labels[:, None])
    np.testing.assert_array_equal(numpy(prior.encode_blank(2)), [[-20], [-20]])
    encoded = numpy(prior.encode_prediction(np.eye(10)[[3, 7]]))
    np.testing.assert_array_equal(encoded, [[3], [7]])
    assert prior.num_channels == 1


def test_cifar_notebook():
    prior = priors.get("scaled_index")
    prior.build((None, 10))
    labels = np.arange(10)
    encoded = numpy(prior.encode_targets(np.eye(10)[labels]))
    np.testing.assert_allclose(encoded[:, 0], (labels + 1) / 10, rtol=1e-6)
    np.testing.assert_array_equal(numpy(prior.encode_blank(1)), [[0.0]])


def test_soft_feedback_is_the_expected_index():
    prior = IndexPrior(feedback="soft", presence=True)
    prior.build((None, 3))
    encoded = numpy(prior.encode_prediction(np.array([[0.5, 0.0, 0.5]])))
    np.testing.assert_allclose(encoded, [[1.0, 1.0]])


def test_presence_tells_class_zero_from_blank():
    prior = IndexPrior(blank=0.0, presence=True)
    prior.build((None, 2, 3))
    encoded = numpy(prior.encode_targets(np.array([[0, 255]])))
    np.testing.assert_array_equal(encoded, [[[0, 1], [0, 0]]])


def test_maps():
    prior = IndexPrior()
    prior.build((None, 4, 5, 3))
    labels = np.random.randint(0, 3, (2, 4, 5))
    encoded = numpy(prior.encode_targets(labels))
    np.testing.assert_array_equal(encoded[..., 0], labels)


def test_bad_input():
    prior = IndexPrior()
    with pytest.raises(ValueError, match="one channel per class"):
        prior.build((None, 1))
    prior.build((None, 3))
    with pytest.raises(ValueError, match="Received: y with the label 3"):
        prior.check_targets(np.array([3]))


def test_config_round_trip():
    prior = IndexPrior(blank=0.0, scale=0.1, offset=1.0, from_logits=True)
    prior.build((None, 4))
    restored = assert_config_round_trip(prior)
    encoded = numpy(restored.encode_targets(np.array([1])))
    np.testing.assert_allclose(encoded, [[0.2]], rtol=1e-6)
