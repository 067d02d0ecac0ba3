import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag.priors import (
    BinaryPrior,
    IndexPrior,
    JointPrior,
    OneHotPrior,
    ValuePrior,
)
from tests.helpers import (
    assert_config_round_trip,
    assert_saved_in_fresh_process,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")

LABELS = np.array([0, 2, 1, 2])
VALUES = np.array([1.0, 3.0, 1.0, 3.0])
EXPECTED = np.hstack(
    [np.eye(3)[LABELS], np.ones((4, 1)), VALUES[:, None] - 2, np.ones((4, 1))]
)
NAMED_EXPECTED = np.hstack([EXPECTED[:, 4:], EXPECTED[:, :4]])
CLASSES = np.eye(3)[LABELS] * 0.9
VALUE = VALUES[:, None]


def numpy(tensor):
    return ops.convert_to_numpy(tensor)


def listed():
    prior = JointPrior([OneHotPrior(), ValuePrior()], ["digit", "angle"])
    prior.build([(None, 3), (None, 1)])
    return prior


def named():
    # The channels follow the alphabet, as Keras flattens dictionaries.
    prior = JointPrior({"digit": OneHotPrior(), "angle": ValuePrior()})
    prior.build({"angle": (None, 1), "digit": (None, 3)})
    return prior


NAMED_TARGETS = {"angle": VALUES, "digit": LABELS}


@pytest.mark.parametrize(
    "make, targets",
    [
        (listed, [LABELS, VALUES]),
        (listed, (LABELS, VALUES)),
        (listed, NAMED_TARGETS),
        (named, NAMED_TARGETS),
    ],
)
def test_targets_in_every_structure(make, targets):
    prior = make()
    prior.adapt(targets)
    prior.check_targets(targets)
    assert prior.num_channels == 6 and prior.is_ready
    expected = EXPECTED if make is listed else NAMED_EXPECTED
    np.testing.assert_allclose(numpy(prior.encode_targets(targets)), expected)


def test_predictions_and_blank():
    for make, prediction in (
        (listed, [CLASSES, VALUE]),
        (named, {"digit": CLASSES, "angle": VALUE}),
    ):
        prior = make()
        prior.adapt([LABELS, VALUES] if make is listed else NAMED_TARGETS)
        encoded = numpy(prior.encode_prediction(prediction))
        expected = EXPECTED if make is listed else NAMED_EXPECTED
        np.testing.assert_allclose(encoded, expected)
        np.testing.assert_array_equal(numpy(prior.encode_blank(4)), 0.0)
        answer = prior.answer(prediction)
        keras.tree.assert_same_structure(answer, prediction)


def test_adapts_to_a_data_set():
    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            rows = slice(2 * index, 2 * index + 2)
            return np.zeros((2, 5)), (LABELS[rows], VALUES[rows])

    prior = listed()
    prior.adapt(Batches())
    np.testing.assert_allclose(numpy(prior.priors[1].mean), [2.0])
    prior = named()
    prior.adapt((None, NAMED_TARGETS) for _ in range(2))
    np.testing.assert_allclose(numpy(prior.priors["angle"].mean), [2.0])


def test_a_vector_lies_on_a_map():
    prior = JointPrior([OneHotPrior(), ValuePrior(mean=0.0, variance=1.0)])
    prior.build([(None, 4, 5, 3), (None, 1)])
    assert prior.spatial_shape == (4, 5)
    labels = np.random.randint(0, 3, (2, 4, 5))
    encoded = numpy(prior.encode_targets([labels, np.array([1.5, -1.5])]))
    np.testing.assert_array_equal(encoded[..., :3], np.eye(3)[labels])
    np.testing.assert_array_equal(encoded[0, ..., 4], 1.5)
    assert numpy(prior.encode_blank(2)).shape == encoded.shape


def test_a_coarse_map_lies_on_a_fine_one():
    values = ValuePrior(mean=0.0, variance=1.0)
    prior = JointPrior([values, OneHotPrior()])
    prior.build([(None, 2, 2, 1), (None, 4, 4, 3)])
    depth = np.arange(4.0).reshape(1, 2, 2)
    labels = np.zeros((1, 4, 4), int)
    encoded = numpy(prior.encode_targets([depth, labels]))
    fine = depth.repeat(2, axis=1).repeat(2, axis=2)
    np.testing.assert_array_equal(encoded[..., 0], fine)
    assert numpy(prior.encode_blank(1)).shape == (1, 4, 4, 6)


@pytest.mark.parametrize(
    "make, targets, message",
    [
        (listed, [LABELS], "has 2 outputs. Received: 1 entries"),
        (listed, [LABELS] * 3, "Received: 3 entries"),
        (listed, np.zeros((2, 4)), "Received: one of type `ndarray`"),
        (listed, {"digit": LABELS}, r"\['angle', 'digit'\].*Received: \['dig"),
        (named, [LABELS, VALUES], "Received: list. Give a dict"),
        (named, NAMED_TARGETS | {"x": VALUES}, "Received: .*'x'"),
        (named, NAMED_TARGETS | {"digit": LABELS + 1}, "the label 3"),
    ],
)
def test_bad_targets(make, targets, message):
    with pytest.raises(ValueError, match=message):
        prior = make()
        prior.adapt([LABELS, VALUES] if make is listed else NAMED_TARGETS)
        prior.check_targets(targets)


def test_bad_arguments():
    one = OneHotPrior()
    with pytest.raises(ValueError, match="prior of its own.*Received"):
        JointPrior([one, one])
    with pytest.raises(TypeError, match="presence"):
        JointPrior([one], presence=False)
    prior = JointPrior([OneHotPrior(), OneHotPrior()])
    with pytest.raises(ValueError, match="number of axes.*Received"):
        prior.build([(None, 4, 3), (None, 4, 4, 3)])


def test_config_round_trip():
    assert_config_round_trip(JointPrior([OneHotPrior(), ValuePrior()]))
    restored = assert_config_round_trip(listed())
    assert restored.num_channels == 6
    restored = assert_config_round_trip(named())
    restored.adapt(NAMED_TARGETS)
    np.testing.assert_allclose(
        numpy(restored.encode_targets(NAMED_TARGETS)), NAMED_EXPECTED
    )


@pytest.mark.slow_but_on("tensorflow", "torch")
def test_fits_predicts_and_saves_every_prior():
    inputs = keras.Input((5,))
    x = keras.layers.Dense(8, activation="relu")(inputs)
    sizes = {"values": 2, "labels": 3, "index": 4, "classes": 5}
    outputs = {n: keras.layers.Dense(k, name=n)(x) for n, k in sizes.items()}
    priors = {
        "values": ValuePrior(),
        "labels": BinaryPrior(from_logits=True, feedback="soft"),
        "index": IndexPrior(from_logits=True),
        "classes": OneHotPrior(from_logits=True, presence=False),
    }
    model = kz.ZigZagModel.from_model(
        keras.Model(inputs, outputs), prior=priors
    )
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    binary = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(
        "adam",
        loss={
            "values": "mse",
            "labels": binary,
            "index": sparse,
            "classes": sparse,
        },
    )
    x = np.random.randn(16, 5).astype("float32")
    y = {
        "values": np.random.randn(16, 2) * 3 + 20,
        "labels": np.random.randint(0, 2, (16, 3)),
        "index": np.random.randint(0, 4, 16),
        "classes": np.random.randint(0, 5, 16),
    }
    model.adapt(y)
    history = model.fit(x, y, epochs=2, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    out = assert_saved_in_fresh_process(model, x)
    assert {n: a.shape for n, a in out["uncertainty"].items()} == {
        name: (16,) for name in sizes
    }
    assert out["prediction"]["values"].shape == (16, 2)


@pytest.mark.parametrize("make", [listed, named])
def test_adapt_needs_only_what_it_learns_from(make):
    prior = make()
    prior.adapt({"angle": VALUES})
    assert prior.is_ready
    with pytest.raises(ValueError, match="Received: .*digit"):
        make().adapt({"digit": LABELS})


@pytest.mark.parametrize("weighted", [False, True])
def test_adapts_to_batches_of_sequences_of_any_length(weighted):
    prior = JointPrior(
        {"a": ValuePrior(), "b": ValuePrior(), "c": OneHotPrior()}
    )
    prior.build({"a": (None, None, 1), "b": (None, 1), "c": (None, None, 3)})
    ys = [
        {
            "a": np.full((2, length, 1), float(length)),
            "b": np.full((2, 1), float(length)),
            "c": np.zeros((2, length)),
        }
        for length in (2, 6)
    ]
    weight = {"a": np.ones(2), "b": np.array([1, 0])}
    extra = [weight] if weighted else []
    prior.adapt((None, y, *extra) for y in ys)
    np.testing.assert_allclose(numpy(prior.priors["a"].mean), [5.0])
    np.testing.assert_allclose(numpy(prior.priors["b"].mean), [4.0])
    count = int(numpy(prior.priors["b"].count))
    assert count == (2 if weighted else 4)


def test_batches_may_leave_out_what_is_not_learnt():
    prior = named()
    prior.adapt((None, {"angle": VALUES}) for _ in range(2))
    np.testing.assert_allclose(numpy(prior.priors["angle"].mean), [2.0])
    with pytest.raises(ValueError, match="at least one target.*Received"):
        prior.adapt(iter([]))


@keras.saving.register_keras_serializable("tests")
class Largest(ValuePrior):
    """Learns something else, from all targets at once."""

    def adapt(self, targets, sample_weight=None):
        self.largest = np.max(targets)


def test_a_prior_of_ones_own_learns_from_all_batches():
    prior = JointPrior([OneHotPrior(), Largest()], ["digit", "angle"])
    prior.build([(None, 3), (None, 1)])
    prior.adapt((None, [LABELS, VALUES + step]) for step in range(3))
    assert prior.priors[1].largest == 5.0
