import keras
import numpy as np
import pytest
from keras import ops

from keras_zigzag.priors import ValuePrior
from tests.helpers import assert_config_round_trip

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def numpy(tensor):
    return ops.convert_to_numpy(tensor)


def built(shape=(None, 1), **kwargs):
    prior = ValuePrior(**kwargs)
    prior.build(shape)
    return prior


class Batches(keras.utils.PyDataset):
    def __init__(self, y, size):
        super().__init__()
        self.y, self.size = y, size

    def __len__(self):
        return -(-len(self.y) // self.size)

    def __getitem__(self, index):
        rows = slice(index * self.size, (index + 1) * self.size)
        return np.zeros((len(self.y[rows]), 2)), self.y[rows]


def assert_adapted(prior, y):
    rows = np.asarray(y, "float64").reshape(-1, prior.num_outputs)
    np.testing.assert_allclose(numpy(prior.mean), rows.mean(0), rtol=1e-6)
    np.testing.assert_allclose(numpy(prior.variance), rows.var(0), rtol=1e-6)
    assert prior.is_ready


@pytest.mark.parametrize(
    "shape, output",
    [
        ((20,), (None, 1)),
        ((20, 1), (None, 1)),
        ((20,), (None,)),
        ((20, 3), (None, 3)),
        ((20, 4, 5, 2), (None, 4, 5, 2)),
        ((20, 4, 5), (None, 4, 5, 1)),
        ((20, 7, 2), (None, None, 2)),
    ],
)
def test_adapts_to_arrays(shape, output):
    y = np.random.randn(*shape) * 3 + 5
    prior = built(output)
    prior.adapt(y)
    assert_adapted(prior, y)
    prior.adapt(ops.convert_to_tensor(y.astype("float32")))
    assert_adapted(prior, y.astype("float32"))
    prior.adapt([y + 1])
    assert_adapted(prior, y + 1)


def test_adapts_to_batches():
    y = np.random.randn(23, 2)
    prior = built((None, 2))
    prior.adapt(Batches(y, 5))
    assert_adapted(prior, y)
    prior.adapt(y[start : start + 5] for start in range(0, 23, 5))
    assert_adapted(prior, y)
    prior.adapt((None, y[start : start + 5]) for start in range(0, 23, 5))
    assert_adapted(prior, y)


def test_adapts_to_tf_data():
    tf = pytest.importorskip("tensorflow")
    y = np.random.randn(23)
    both = tf.data.Dataset.from_tensor_slices((np.zeros((23, 2)), y))
    prior = built()
    for data in (both.batch(5), both.batch(5).map(lambda x, y: y)):
        prior.adapt(data)
        assert_adapted(prior, y)
    with pytest.raises(ValueError, match="must have an end. Received"):
        prior.adapt(both.repeat().batch(5))


def test_adapts_to_a_data_loader():
    torch = pytest.importorskip("torch")
    y = np.random.randn(23)
    data = torch.utils.data.TensorDataset(torch.zeros(23, 2), torch.tensor(y))
    prior = built()
    prior.adapt(torch.utils.data.DataLoader(data, batch_size=5))
    assert_adapted(prior, y)


def test_adapts_before_it_is_built():
    prior = ValuePrior()
    prior.adapt([1.0, 3.0])
    prior.fit_to((None, 1))
    np.testing.assert_array_equal(
        numpy(prior.encode_targets([[3.0], [1.0]])), [[1, 1], [-1, 1]]
    )
    assert numpy(prior.encode_prediction(np.array([[3.0]]))).shape == (1, 2)


def test_adapting_again_starts_anew():
    prior = built()
    prior.adapt(np.arange(5.0))
    prior.adapt(np.arange(5.0) * 10 + 3)
    assert_adapted(prior, np.arange(5.0) * 10 + 3)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_large_offset(offset):
    y = np.random.randn(1000) + offset
    prior = built()
    prior.adapt((None, y[start : start + 7]) for start in range(0, 1000, 7))
    assert_adapted(prior, y)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e-20, -7.7, 1e9])
def test_constant_targets_keep_their_scale(value):
    y = np.stack([np.full(103, value), np.arange(103.0)], axis=1)
    prior = built((None, 2))
    prior.adapt((None, y[start : start + 10]) for start in range(0, 103, 10))
    np.testing.assert_allclose(
        numpy(prior.variance), [1.0, y[:, 1].var()], rtol=1e-6
    )
    assert np.abs(numpy(prior.encode_targets(y))[:, 0]).max() < 1e-3


def test_encodes_in_standard_units():
    prior = built(mean=10.0, variance=4.0)
    expected = [[1.0, 1.0], [-2.0, 1.0]]
    for dtype in ("int32", "uint8", "float64", "float32"):
        for y in (np.array([12, 6], dtype), np.array([[12], [6]], dtype)):
            prior.check_targets(y)
            np.testing.assert_allclose(numpy(prior.encode_targets(y)), expected)
    encoded = prior.encode_prediction(
        ops.convert_to_tensor(np.array([[12.0], [6.0]], "float16"))
    )
    np.testing.assert_allclose(numpy(encoded), expected)
    np.testing.assert_array_equal(numpy(prior.encode_blank(1)), [[0.0, 0.0]])


def test_toy_notebook():
    prior = built(mean=0.0, variance=1.0, blank=-100.0, presence=False)
    np.testing.assert_array_equal(numpy(prior.encode_targets([3.5])), [[3.5]])
    np.testing.assert_array_equal(numpy(prior.encode_blank(1)), [[-100.0]])


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "float64"])
def test_adapts_to_numbers_of_any_kind(dtype):
    y = np.array([0, 100, 200, 250], dtype)
    prior = built()
    prior.adapt(y)
    assert_adapted(prior, y)


@pytest.mark.parametrize(
    "y, message",
    [
        (np.zeros((3, 2)), r"\(N, 1\).*Received: y of shape .3, 2."),
        (np.array([1.0, np.nan]), r"Received: y\[1\] contains nan"),
        (np.array(["1", "2"]), "must be numbers.*Received: y with dtype=<U1"),
        (np.zeros((0, 1)), "at least one target.*Received: y without samples"),
        ([], "at least one target"),
        (np.array([1e-30, 2e-30]), "float32.*Received: .*other units"),
        (np.array([1e30, 2e30]), "float32.*Received: .*other units"),
    ],
)
def test_bad_targets_to_adapt_to(y, message):
    with pytest.raises(ValueError, match=message):
        built().adapt(y)


def test_bad_targets():
    prior = built((None, 2), mean=0.0, variance=1.0)
    prior.check_targets(np.zeros((3, 2)))
    for y in (np.zeros(3), np.zeros((3, 1)), np.zeros((3, 2, 1))):
        with pytest.raises(ValueError, match=r"\(N, 2\).*Received: y of sh"):
            prior.check_targets(y)
    with pytest.raises(ValueError, match="`model.adapt.*Received"):
        built().check_targets(np.zeros((3, 1)))


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"mean": 1.0}, "go together.*Received: mean=1.0, variance=None"),
        ({"variance": 1.0}, "go together"),
        ({"mean": 0.0, "variance": 0.0}, "positive. Received: variance=0.0"),
        ({"mean": 0.0, "variance": [1.0, -1.0]}, "positive"),
        ({"num_values": 3}, "one output per value"),
        ({"mean": [0.0, 1.0, 2.0], "variance": 1.0}, "mean.*Received"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        built((None, 2), **kwargs)


def test_other_outputs_than_it_was_adapted_to():
    prior = ValuePrior()
    prior.adapt(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="other outputs. Received: .*Value"):
        prior.fit_to((None, 2))


def test_config_round_trip():
    assert_config_round_trip(ValuePrior())
    assert_config_round_trip(built((None, 4, 5, 2), blank=-100.0))
    moments = {"mean": np.array([1.0, 2.0]), "variance": [3.0, 4.0]}
    restored = assert_config_round_trip(built((None, 2), **moments))
    np.testing.assert_allclose(numpy(restored.mean), [1.0, 2.0])
    assert restored.is_ready


def test_adapts_to_targets_by_name():
    y = np.arange(6.0).reshape(3, 2)
    prior = built((None, 2))
    prior.adapt({"answer": y})
    assert_adapted(prior, y)
    prior.adapt({"answer": y}, {"answer": np.array([1, 1, 0])})
    assert_adapted(prior, y[:2])
    prior.adapt((None, {"answer": y + step}) for step in (1, 1))
    assert_adapted(prior, y + 1)
    with pytest.raises(ValueError, match="one output. Received: a dict of 2"):
        prior.adapt({"answer": y, "other": y})
