import keras
import numpy as np
import pytest

from tests.examples.protocol_files import assert_all_methods, load_file

pytestmark = pytest.mark.backend("tensorflow")


def ids(images):
    """One number for each image, by which it can be found again."""
    return {hash(image.tobytes()) for image in images}


@pytest.mark.parametrize(
    "name",
    ["mnist"]
    + [
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("mnist_split", "cifar10")
    ],
)
def test_all_methods_of_a_base(name):
    assert_all_methods(load_file(name).protocols(quick=True)[0])


@pytest.mark.slow
def test_all_methods_of_the_dla():
    assert_all_methods(load_file("cifar10").protocols(quick=False)[0])


def test_mnist_settings():
    module = load_file("mnist")
    appendix, notebook = module.protocols(quick=False)
    assert [appendix.name, notebook.name] == ["mnist", "mnist-notebook"]
    assert appendix.training.epochs == 3
    assert float(appendix.training.optimizer().learning_rate) == pytest.approx(
        1e-2
    )
    assert notebook.training.epochs == 5
    assert notebook.training.batch_size == 64
    assert float(notebook.training.optimizer().learning_rate) == pytest.approx(
        1e-3
    )
    assert not notebook.settings["quick"]
    assert module.protocols(quick=True)[0].settings["quick"]


def test_mnist_grey():
    images = np.zeros((2, 32, 32, 3), "uint8")
    images[1, 2:30, 2:30] = (10, 20, 30)
    grey = load_file("mnist").to_grey(images)
    assert grey.shape == (2, 28, 28, 1) and grey.dtype == "float32"
    assert not grey[0].any()
    np.testing.assert_allclose(grey[1], 18.15, rtol=1e-6)


@pytest.mark.slow
def test_mnist_data(tfds_data_dir):
    protocol = load_file("mnist").protocols(quick=True)[0]
    data, again, other = (protocol.load(seed) for seed in (0, 0, 1))
    assert data.train[0].shape == (10_000, 28, 28, 1)
    assert data.validation[0].shape == (5_000, 28, 28, 1)
    assert data.test[0].shape == (5_000, 28, 28, 1)
    assert set(data.ood) <= {"fashion_mnist", "svhn"}
    for images in data.ood.values():
        assert images.shape == (5_000, 28, 28, 1)
        assert images.min() >= 0 and 100 < images.max() <= 255
    assert not ids(data.train[0]) & ids(data.validation[0])
    np.testing.assert_array_equal(data.train[0], again.train[0])
    assert ids(data.validation[0]) != ids(other.validation[0])
    np.testing.assert_array_equal(data.test[0], other.test[0])


@pytest.mark.slow
def test_mnist_is_normalised(tfds_data_dir):
    protocol = load_file("mnist").protocols(quick=True)[0]
    normalise = protocol.build().layers[0]
    x = np.asarray(normalise(protocol.load(0).train[0]))
    assert x.mean() == pytest.approx(0, abs=0.02)
    assert x.std() == pytest.approx(1, abs=0.02)


def test_split_digits():
    module = load_file("mnist_split")
    y = np.array([9, 0, 4, 5, 2])
    (x, known), (x_ood, unknown) = module.split_digits(np.arange(5), y)
    assert list(x) == [1, 2, 4] and list(known) == [0, 4, 2]
    assert list(x_ood) == [0, 3] and list(unknown) == [9, 5]


@pytest.mark.slow
def test_mnist_split_data(tfds_data_dir):
    protocol = load_file("mnist_split").protocols(quick=True)[0]
    data = protocol.load(0)
    assert data.train[0].shape == (10_000, 28, 28, 1)
    assert data.validation[0].shape == (5_000, 28, 28, 1)
    assert len(data.test[0]) == len(data.ood["digits_5_9"]) == 2_500
    for _, y in (data.train, data.validation, data.test):
        assert set(y) == set(range(5))
    assert not ids(data.train[0]) & ids(data.validation[0])
    x = np.asarray(protocol.build().layers[0](data.train[0]))
    assert x.mean() == pytest.approx(0, abs=0.02)
    assert x.std() == pytest.approx(1, abs=0.02)


def test_cifar10_settings():
    (protocol,) = load_file("cifar10").protocols(quick=False)
    training = protocol.training
    assert training.epochs == 30
    assert training.learning_rates == [1e-1] * 20 + [1e-2] * 10
    assert training.optimizer().momentum == 0.9


@pytest.mark.parametrize("quick", [True, False])
def test_cifar10_normalises_and_augments(quick):
    module = load_file("cifar10")
    base = module.protocols(quick)[0].build()
    assert base.output_shape == (None, 10)
    normalised = keras.Model(base.input, base.layers[3].output)
    x = np.random.default_rng(0).integers(1, 256, (16, 32, 32, 3))
    x = x.astype("float32")
    expected = (x / 255 - module.MEAN) / module.STD
    found = normalised.predict(x, verbose=0)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    augmented = keras.Model(base.input, base.layers[2].output)
    shifted = np.asarray(augmented(x, training=True))
    assert set(np.unique(shifted)) <= set(range(256))
    rows = (shifted == 0).all(axis=(2, 3)).sum(axis=1)
    assert rows.max() == 4 and len(set(rows)) > 2


def test_dla_is_the_simple_variant():
    base = load_file("cifar10").protocols(quick=False)[0].build()
    # As of the network that is known as SimpleDLA.
    trainable = sum(weight.numpy().size for weight in base.trainable_weights)
    assert trainable == 15_142_970


@pytest.mark.slow
def test_cifar10_data(tfds_data_dir):
    (protocol,) = load_file("cifar10").protocols(quick=True)
    data = protocol.load(0)
    assert data.train[0].shape == (18_000, 32, 32, 3)
    assert data.validation[0].shape == (2_000, 32, 32, 3)
    assert len(data.test[0]) == len(data.ood["svhn"]) == 5_000
    for x in (data.train[0], data.ood["svhn"]):
        assert x.min() == 0 and x.max() == 255
