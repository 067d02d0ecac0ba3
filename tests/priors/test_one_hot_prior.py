import keras
import numpy as np
import pytest
from keras import ops

from keras_zigzag.priors import OneHotPrior
from tests.helpers import assert_config_round_trip

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def numpy(tensor):
    return ops.convert_to_numpy(tensor)


def built(shape=(None, 3), **kwargs):
    prior = OneHotPrior(**kwargs)
    prior.build(shape)
    return prior


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32"])
@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_encodes_sparse_labels(dtype, shape):
    labels = np.array([0, 2, 1, 2])
    encoded = built().encode_targets(labels.reshape(shape).astype(dtype))
    expected = np.hstack([np.eye(3)[labels], np.ones((4, 1))])
    np.testing.assert_array_equal(numpy(encoded), expected)
    assert keras.backend.standardize_dtype(encoded.dtype) == "float32"


def test_encodes_one_hot_and_smoothed_labels():
    one_hot = np.eye(3)[[0, 2]]
    smoothed = one_hot * 0.9 + 0.1 / 3
    for targets in (one_hot, one_hot.astype(bool), smoothed):
        encoded = numpy(built().encode_targets(targets))
        np.testing.assert_allclose(encoded[:, :3], targets, rtol=1e-6)
        np.testing.assert_array_equal(encoded[:, 3], 1.0)


@pytest.mark.parametrize("spatial", [(4, 5), (6,), (2, 3, 2)])
@pytest.mark.parametrize("kind", ["sparse", "channel", "one_hot"])
def test_encodes_maps(spatial, kind):
    labels = np.random.randint(0, 3, (2, *spatial))
    targets = {
        "sparse": labels,
        "channel": labels[..., None],
        "one_hot": np.eye(3)[labels],
    }[kind]
    prior = built((None, *spatial, 3))
    prior.check_targets(targets)
    encoded = numpy(prior.encode_targets(targets))
    np.testing.assert_array_equal(encoded[..., :3], np.eye(3)[labels])
    np.testing.assert_array_equal(encoded[..., 3], 1.0)
    assert numpy(prior.encode_blank(2)).shape == encoded.shape


def test_map_as_wide_as_there_are_classes_is_sparse():
    labels = np.random.randint(0, 3, (2, 4, 3))
    encoded = numpy(built((None, 4, 3, 3)).encode_targets(labels))
    np.testing.assert_array_equal(encoded[..., :3], np.eye(3)[labels])


def test_map_with_open_size():
    prior = built((None, None, None, 3))
    labels = np.random.randint(0, 3, (2, 4, 5))
    prior.check_targets(labels)
    assert numpy(prior.encode_targets(labels)).shape == (2, 4, 5, 4)
    assert numpy(prior.encode_blank(2)).shape == (2, 1, 1, 4)


@pytest.mark.parametrize("presence", [True, False])
@pytest.mark.parametrize("blank", [0.0, -1.5])
def test_blank(presence, blank):
    prior = built(presence=presence, blank=blank)
    expected = [[blank] * 3 + [0.0] * presence] * 2
    np.testing.assert_array_equal(numpy(prior.encode_blank(2)), expected)
    assert prior.num_channels == 3 + presence


def test_ignored_label_is_blank():
    prior = built((None, 2, 2, 3), blank=-1.0)
    encoded = numpy(prior.encode_targets(np.array([[[0, 255], [1, 255]]])))
    blank = numpy(prior.encode_blank(1))[0, 0, 0]
    np.testing.assert_array_equal(encoded[0, 0, 1], blank)
    np.testing.assert_array_equal(encoded[0, 1, 1], blank)
    np.testing.assert_array_equal(encoded[0, 0, 0], [1, 0, 0, 1])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("from_logits", [True, False])
def test_hard_feedback_takes_the_first_of_equals(dtype, from_logits):
    scores = np.array([[0.2, 0.4, 0.4], [1, 1, 1], [0, 0, 1]], dtype)
    prior = built(from_logits=from_logits)
    encoded = numpy(prior.encode_prediction(ops.convert_to_tensor(scores)))
    expected = np.hstack([np.eye(3)[[1, 0, 2]], np.ones((3, 1))])
    np.testing.assert_array_equal(encoded, expected)
    assert encoded.dtype == "float32"


def test_hard_feedback_of_scores_of_any_size():
    scores = np.array([[-np.inf, -5.0, -4.0], [1e30, 0.0, -1e30]], "float32")
    encoded = numpy(built(presence=False).encode_prediction(scores))
    np.testing.assert_array_equal(encoded, np.eye(3)[[2, 0]])


def test_soft_feedback():
    logits = np.random.randn(5, 3).astype("float32")
    exp = np.exp(logits)
    probabilities = exp / exp.sum(-1, keepdims=True)
    prior = built(feedback="soft", from_logits=True)
    encoded = numpy(prior.encode_prediction(logits))
    np.testing.assert_allclose(encoded[:, :3], probabilities, rtol=1e-5)
    prior = built(feedback="soft")
    encoded = numpy(prior.encode_prediction(probabilities))
    np.testing.assert_allclose(encoded[:, :3], probabilities, rtol=1e-6)


def test_answer_is_probabilities():
    logits = np.array([[0.0, np.log(3.0)]], "float32")
    prior = built((None, 2), from_logits=True)
    np.testing.assert_allclose(
        numpy(prior.answer(logits)), [[0.25, 0.75]], rtol=1e-6
    )


@pytest.mark.parametrize(
    "targets, message",
    [
        (np.zeros((4, 2)), r"shape \(N,\) or .* \(N, 3\).*Received: y of sh"),
        (np.zeros((4, 3, 1)), "Received: y of shape .4, 3, 1."),
        (np.array([0, 3]), "lie in 0…2.*Received: y with the label 3"),
        (np.array([-1, 0]), "Received: y with the label -1"),
        (np.array([0.0, 0.5]), "whole numbers.*Received: .* 0.5"),
        (np.array([0.0, np.nan]), r"finite.*Received: y\[1\] contains nan"),
        (np.array([np.inf, 1.0]), r"Received: y\[0\] contains inf"),
        (np.array(["cat", "dog"]), "must be numbers.*Received: .*dtype=<U3"),
        (np.array([[0.0, -1.0, 2.0]]), "between 0 and 1.*Received: .* -1"),
        (
            np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]),
            "entries that sum to 2. .*`task='binary'`",
        ),
        ([np.zeros(2), np.zeros(2)], "one output.*Received: a list of 2"),
    ],
)
def test_bad_targets(targets, message):
    with pytest.raises(ValueError, match=message):
        built().check_targets(targets)


def test_bad_map_targets():
    prior = built((None, 4, 5, 3))
    for shape in [(2, 4, 6), (2, 4), (2, 4, 5, 2), (2, 5, 4, 3)]:
        with pytest.raises(ValueError, match=r"\(N, 4, 5\).*Received: y of"):
            prior.check_targets(np.zeros(shape))


@pytest.mark.parametrize(
    "kwargs, shape, message",
    [
        ({"feedback": "maybe"}, (None, 3), "Received: feedback='maybe'"),
        ({"num_classes": 4}, (None, 3), "one output per class.*Received: a pr"),
        ({}, (None, 1), "two at least.*Received: .*task='binary'"),
        ({}, (None,), "two at least"),
    ],
)
def test_bad_arguments(kwargs, shape, message):
    with pytest.raises(ValueError, match=message):
        built(shape, **kwargs)


@pytest.mark.parametrize("name", ["y", "anything"])
def test_targets_alone_in_a_structure(name):
    labels = np.array([2, 0])
    for targets in ([labels], {name: labels}):
        built().check_targets(targets)
        encoded = numpy(built().encode_targets(targets))
        np.testing.assert_array_equal(encoded[:, :3], np.eye(3)[labels])


def test_config_round_trip():
    options = dict(feedback="soft", from_logits=True, presence=False)
    assert_config_round_trip(OneHotPrior(**options))
    prior = built((None, 4, 5, 3), **options, blank=-1.0)
    restored = assert_config_round_trip(prior)
    assert restored.spatial_shape == (4, 5) and restored.num_classes == 3


def test_labels_that_are_not_quite_one():
    smoothed = np.full((2, 3), 0.1) + 0.7 * np.eye(3)[:2]
    built().check_targets(smoothed.astype("float16"))
    built().check_targets(np.zeros((2, 3)))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32"])
@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_what_the_loss_ignores_is_blank(dtype, shape):
    prior = built()
    labels = np.array([0, 1, 2], dtype).reshape(shape)
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=0)
    told = prior.without_ignored(labels, loss)
    expected = [[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]]
    np.testing.assert_array_equal(numpy(prior.encode_targets(told)), expected)
    for other in (None, "sparse_categorical_crossentropy"):
        assert prior.without_ignored(labels, other) is labels
    one_hot = np.eye(3)
    assert prior.without_ignored(one_hot, loss) is one_hot
