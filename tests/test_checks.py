import keras
import numpy as np
import pytest
from keras import ops

from keras_zigzag.checks import (
    batches_of,
    check_not_empty,
    checked_data,
    checked_validation,
    is_array,
    is_data,
    is_scalar,
)

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6)


class Column:
    """What a table's column offers: `__array__` and a shape."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        rows = slice(2 * index, 2 * index + 2)
        return X[rows], Y[rows]


def seen_by(x, y=None):
    seen = []
    data = checked_data(seen.append, x, y)
    return seen, data


@pytest.mark.parametrize("make", [np.asarray, ops.convert_to_tensor, Column])
def test_arrays_are_checked_whole(make):
    seen, data = seen_by(X, make(Y))
    assert data is X
    np.testing.assert_array_equal(seen, [Y])


@pytest.mark.parametrize(
    "y", [[Y, Y], (Y, Column(Y)), {"a": Y, "b": Y}, [[0, 1], [2, 3]]]
)
def test_structures_of_arrays(y):
    (seen,), _ = seen_by(X, y)
    if isinstance(y, dict):
        assert list(seen) == ["a", "b"]
    elif isinstance(y[0], list):
        assert seen.shape == (2, 2)
    else:
        assert [type(one) for one in seen] == [np.ndarray] * 2


def test_no_targets():
    for x in (X, [X, X], iter_of([X]), iter_of([(X,)]), iter_of([(X, None)])):
        seen, _ = seen_by(x)
        assert seen == [None]


def iter_of(batches):
    yield from batches


def test_first_batch_of_a_data_set():
    (seen,), data = seen_by(Batches())
    np.testing.assert_array_equal(seen, Y[:2])
    assert isinstance(data, Batches)
    assert len(list(batches_of(data))) == 3


def test_nothing_of_a_generator_is_lost():
    drawn = []

    def generate():
        for index in range(3):
            drawn.append(index)
            yield X[index : index + 1], Y[index : index + 1]

    (seen,), data = seen_by(generate())
    assert seen == Y[0] and drawn == [0]
    assert [int(y[0]) for _, y in data] == [0, 1, 2]


def test_first_batch_of_tf_data():
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensor_slices((X, Y, Y)).batch(4)
    (seen,), same = seen_by(data)
    np.testing.assert_array_equal(seen, Y[:4])
    assert same is data


def test_first_batch_of_a_data_loader():
    torch = pytest.importorskip("torch")
    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y)), 4
    )
    (seen,), _ = seen_by(data)
    np.testing.assert_array_equal(seen, Y[:4])


def test_batches_that_are_not_ours_to_read():
    class PerReplica:
        pass

    seen, _ = seen_by(iter_of([(X, PerReplica())]))
    assert seen == []


@pytest.mark.parametrize("x", [None, 3, [1.0, 2.0], object()])
def test_what_keras_does_not_take_is_left_to_it(x):
    assert seen_by(x) == ([], x)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((0, 3)),
        [np.zeros((0, 3)), np.zeros((0, 3))],
        {"a": np.zeros((0, 3))},
        Column(np.zeros((0, 3))),
    ],
)
def test_empty_arrays(x):
    with pytest.raises(ValueError, match=r"no samples. Received: .*\(0, 3\)"):
        check_not_empty(x)
    with pytest.raises(ValueError, match="no samples"):
        checked_data(print, x, Y)


def test_empty_data_sets():
    for x in (iter_of([]), EmptyBatches()):
        with pytest.raises(ValueError, match="Received: a data set without"):
            seen_by(x)


class EmptyBatches(Batches):
    def __len__(self):
        return 0


def test_validation_data():
    def refuse(targets):
        raise ValueError(f"Received: {targets}")

    assert checked_validation(refuse, None) is None
    for data in ((X, Y), [X, Y], (X, Y, Y), Batches(), (X,)):
        with pytest.raises(ValueError, match="In `validation_data`: Received"):
            checked_validation(refuse, data)
        checked_validation(lambda targets: None, data)


def test_is_data():
    assert is_data(X) and is_data([X, X]) and is_data({"a": Column(Y)})
    assert not is_data(Batches()) and not is_data([]) and not is_data([1.0])


def test_a_number_is_no_array():
    for one in (np.int64(3), np.float32(0.5), np.bool_(True), 2, 0.5):
        assert is_scalar(one) and not is_array(one)
    assert not is_data(list(Y)) and is_data([X, Y])
    # A list of NumPy's numbers, as `list(y)` gives it.
    seen, _ = seen_by(X, list(Y))
    np.testing.assert_array_equal(seen[0], Y)
