import numpy as np
import pytest
from keras import ops

from keras_zigzag.priors import BinaryPrior
from tests.helpers import assert_config_round_trip

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def numpy(tensor):
    return ops.convert_to_numpy(tensor)


def built(shape=(None, 1), **kwargs):
    prior = BinaryPrior(**kwargs)
    prior.build(shape)
    return prior


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float64", "bool"])
@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_encodes_one_label(dtype, shape):
    targets = np.array([0, 1, 1]).reshape(shape).astype(dtype)
    prior = built()
    prior.check_targets(targets)
    np.testing.assert_array_equal(
        numpy(prior.encode_targets(targets)), [[0, 1], [1, 1], [1, 1]]
    )


def test_output_without_channels():
    prior = built((None,))
    targets = np.array([0, 1])
    prior.check_targets(targets)
    assert numpy(prior.encode_targets(targets)).shape == (2, 2)
    assert numpy(prior.encode_prediction(np.array([0.1, 0.9]))).shape == (2, 2)
    assert numpy(prior.answer(np.array([0.1, 0.9]))).shape == (2, 1)


def test_encodes_several_labels():
    targets = np.random.randint(0, 2, (5, 4))
    encoded = numpy(built((None, 4)).encode_targets(targets))
    np.testing.assert_array_equal(encoded[:, :4], targets)
    np.testing.assert_array_equal(encoded[:, 4], 1)


@pytest.mark.parametrize("with_channel", [True, False])
def test_encodes_maps(with_channel):
    targets = np.random.randint(0, 2, (2, 4, 5, 1))
    given = targets if with_channel else targets[..., 0]
    encoded = numpy(built((None, 4, 5, 1)).encode_targets(given))
    np.testing.assert_array_equal(encoded[..., :1], targets)


def test_blank():
    prior = built((None, 2), blank=-1.0)
    np.testing.assert_array_equal(numpy(prior.encode_blank(1)), [[-1, -1, 0]])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_hard_feedback(dtype):
    logits = ops.convert_to_tensor(np.array([[-3.0], [0.0], [2.0]], dtype))
    prior = built(from_logits=True)
    expected = [[0, 1], [0, 1], [1, 1]]
    np.testing.assert_array_equal(
        numpy(prior.encode_prediction(logits)), expected
    )
    probabilities = ops.convert_to_tensor(np.array([[0.1], [0.5], [0.9]]))
    np.testing.assert_array_equal(
        numpy(built().encode_prediction(probabilities)), expected
    )


def test_soft_feedback():
    logits = np.random.randn(4, 3).astype("float32")
    prior = built((None, 3), feedback="soft", from_logits=True)
    np.testing.assert_allclose(
        numpy(prior.encode_prediction(logits))[:, :3],
        1 / (1 + np.exp(-logits)),
        rtol=1e-5,
    )


def test_probabilities_of_both_outcomes():
    np.testing.assert_allclose(
        numpy(built().probabilities(np.array([[0.2]]))), [[0.2, 0.8]], rtol=1e-6
    )


@pytest.mark.parametrize(
    "targets, message",
    [
        (np.array([0, 2]), "0 or 1.*Received: .* 2.*task='classification'"),
        (np.array([-1, 0]), "Received: y with the label -1"),
        (np.zeros((2, 2)), r"\(N, 1\).*Received: y of shape .2, 2."),
        (np.array([np.nan, 1]), r"Received: y\[0\] contains nan"),
        (np.array(["yes"]), "Received: y with dtype"),
    ],
)
def test_bad_targets(targets, message):
    with pytest.raises(ValueError, match=message):
        built().check_targets(targets)


def test_bad_arguments():
    with pytest.raises(ValueError, match="Received: feedback='maybe'"):
        BinaryPrior(feedback="maybe")
    with pytest.raises(ValueError, match="one output per label"):
        built((None, 3), num_labels=2)


def test_config_round_trip():
    assert_config_round_trip(BinaryPrior())
    restored = assert_config_round_trip(
        built((None, 3), feedback="soft", from_logits=True, presence=False)
    )
    assert restored.num_labels == 3
