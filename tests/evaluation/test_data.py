import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag.evaluation.data import Batches
from tests.evaluation.arrays.data import classification
from tests.evaluation.models import compiled_classifier, sets

pytestmark = pytest.mark.first_quick_on("jax", "torch")


class Sequence(keras.utils.PyDataset):
    def __init__(self, arrays, size=32, **kwargs):
        super().__init__(**kwargs)
        self.arrays, self.size = arrays, size

    def __len__(self):
        return -(-len(self.arrays[0]) // self.size)

    def __getitem__(self, index):
        part = slice(index * self.size, (index + 1) * self.size)
        return tuple(array[part] for array in self.arrays)


def generated(arrays):
    dataset = Sequence(arrays)
    return (dataset[index] for index in range(len(dataset)))


def tensors(arrays):
    tf = pytest.importorskip("tensorflow")
    return tf.data.Dataset.from_tensor_slices(arrays).batch(32)


def loader(arrays):
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(
        *(torch.as_tensor(array) for array in arrays)
    )
    return torch.utils.data.DataLoader(data, batch_size=32)


@pytest.mark.parametrize("source", [Sequence, generated, tensors, loader])
def test_every_source_gives_the_same_report(source):
    x, y, ood = sets(70)
    weight = np.linspace(1, 2, len(x)).astype("float32")
    model = compiled_classifier()
    expected = kz.evaluate_uncertainty(
        model, (x, y, weight), {"a": ood, "b": (ood, None)}
    )
    report = kz.evaluate_uncertainty(
        model,
        source((x, y, weight)),
        {"a": source((ood,)), "b": source((ood, ood))},
    )
    assert dict(report) == pytest.approx(dict(expected), abs=1e-6)


def test_backend_tensors_and_lists():
    x, y, ood = sets()
    model = compiled_classifier()
    expected = kz.evaluate_uncertainty(model, (x, y), ood)
    report = kz.evaluate_uncertainty(
        model,
        [keras.ops.convert_to_tensor(x), y.tolist()],
        keras.ops.convert_to_tensor(ood),
    )
    assert dict(report) == pytest.approx(dict(expected), abs=1e-6)


def test_scores_may_be_backend_tensors():
    arrays = classification()
    expected = kz.evaluate_scores(*arrays)
    report = kz.evaluate_scores(*map(keras.ops.convert_to_tensor, arrays))
    assert dict(report) == pytest.approx(dict(expected), abs=1e-6)


def test_a_generator_can_be_read_again():
    x, y, _ = sets()
    batches = Batches(generated((x, y)), "the set")
    first, again = list(batches), list(batches)
    assert len(first) == len(again) == len(batches) == 2
    np.testing.assert_array_equal(first[1][0], again[1][0])


@pytest.mark.parametrize(
    "data, message",
    [
        (np.ones((3, 4)), "inputs without targets"),
        ((np.ones((3, 4)),), "inputs without targets"),
        ((np.ones((3, 4)), np.ones(2)), r"\[3, 2\] samples"),
        ((np.ones((0, 4)), np.ones(0)), "no samples in the ID set"),
        ([np.ones((3, 4)), None], "inputs without targets"),
        (iter([]), "no samples in the ID set"),
        (iter([np.ones((3, 4))]), "batches of inputs only"),
        ("path", "an object of type str"),
        (None, "an object of type NoneType"),
    ],
)
def test_bad_id_data(data, message):
    with pytest.raises(ValueError, match=message):
        kz.evaluate_uncertainty(compiled_classifier(), data)


@pytest.mark.parametrize(
    "data, message",
    [
        ({"far": np.ones((0, 4))}, "no samples in the OOD set 'far'"),
        ({"far": iter([])}, "no samples in the OOD set 'far'"),
        ({3: np.ones((2, 4))}, "named by strings"),
        ({"far": 7}, "the OOD set 'far' must be arrays"),
    ],
)
def test_bad_ood_data(data, message):
    x, y, _ = sets()
    with pytest.raises(ValueError, match=message):
        kz.evaluate_uncertainty(compiled_classifier(), (x, y), data)


def test_samples_that_are_not_in_batches():
    tf = pytest.importorskip("tensorflow")
    x, y, _ = sets()
    alone = tf.data.Dataset.from_tensor_slices((x, y))
    model = compiled_classifier()
    with pytest.raises(ValueError, match=r"Batch it, as with `.batch\(32\)`"):
        kz.evaluate_uncertainty(model, alone)
    with pytest.raises(ValueError, match=r"Batch it, as with `.batch\(32\)`"):
        model.fit(alone)


def test_data_without_end():
    tf = pytest.importorskip("tensorflow")
    endless = tf.data.Dataset.from_tensors(np.ones((2, 4))).repeat()
    with pytest.raises(ValueError, match="without end"):
        Batches(endless, "the set")

    class Endless(Sequence):
        def __len__(self):
            raise NotImplementedError

        @property
        def num_batches(self):
            return None

    with pytest.raises(ValueError, match="without end"):
        Batches(Endless((np.ones((2, 4)),)), "the set")
