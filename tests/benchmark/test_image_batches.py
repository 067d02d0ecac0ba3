import keras
import numpy as np
import pytest

from keras_zigzag.benchmark import Training, image_batches
from keras_zigzag.benchmark.image_batches import ImageBatches
from keras_zigzag.benchmark.training import EpochBackup, train

VARIABLE = "SOME_DIR"


def save(path, value, shape=(6, 6, 3)):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = np.full(shape, value, "float32")
    keras.utils.save_img(path, image, scale=False)
    return path


@pytest.fixture
def paths(tmp_path):
    return [save(tmp_path / f"{index}.png", 10 * index) for index in range(7)]


def values(batches):
    return [
        int(image[0, 0, 0])
        for index in range(len(batches))
        for image in batches[index][0]
    ]


def test_images_in_order(paths):
    batches = ImageBatches(paths, image_size=4, batch_size=3)
    assert len(batches) == 3
    assert values(batches) == [0, 10, 20, 30, 40, 50, 60]
    (x,) = batches[2]
    assert x.shape == (1, 4, 4, 3) and x.dtype == "float32"


def test_targets_stay_with_their_images(paths):
    ages = np.arange(7.0) * 10
    batches = ImageBatches(
        paths, ages, image_size=4, batch_size=3, shuffle_seed=3
    )
    for index in range(3):
        x, y = batches[index]
        np.testing.assert_array_equal(x[:, 0, 0, 0], y)


def test_the_order_depends_on_seed_and_epoch_alone(paths):
    options = {"image_size": 4, "batch_size": 3}
    batches = ImageBatches(paths, shuffle_seed=3, **options)
    orders = []
    for epoch in (0, 1, 0):
        batches.begin_epoch(epoch)
        orders.append(values(batches))
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    batches.on_epoch_end()
    assert values(batches) == orders[1]
    other = ImageBatches(paths, shuffle_seed=4, **options)
    assert values(other) != orders[0]


def test_training_that_goes_on_has_the_same_orders(paths, tmp_path):
    def trained(epochs, name):
        keras.utils.set_random_seed(0)
        layers = [keras.layers.Flatten(), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((4, 4, 3)), *layers])
        model.compile(keras.optimizers.SGD(1e-6), "mse")
        training = Training(epochs, 3, keras.optimizers.SGD, "mse")
        data = ImageBatches(
            paths,
            np.arange(7, dtype="float32"),
            image_size=4,
            batch_size=3,
            shuffle_seed=0,
        )
        backup = EpochBackup(tmp_path / f"{name}.npz", "")
        train(model, data, training, 0, backup)
        return model.layers[-1].kernel.numpy()

    at_once = trained(4, "at_once")
    assert not np.array_equal(trained(2, "twice"), at_once)
    np.testing.assert_array_equal(trained(4, "twice"), at_once)


def test_aspect_ratio_is_kept(tmp_path):
    path = save(tmp_path / "wide.png", 0, (4, 12, 3))
    image = np.zeros((4, 12, 3), "float32")
    image[:, 4:8] = 200
    keras.utils.save_img(path, image, scale=False)
    (x,) = ImageBatches([path], image_size=4, batch_size=1)[0]
    np.testing.assert_array_equal(x, np.full((1, 4, 4, 3), 200))


def test_a_model_is_trained_on_them(paths):
    model = keras.Sequential(
        [keras.Input((4, 4, 3)), keras.layers.Flatten(), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mae", run_eagerly=True)
    ages = np.zeros(7)
    model.fit(
        ImageBatches(paths, ages, image_size=4, batch_size=4, shuffle_seed=3),
        verbose=0,
    )
    assert np.isfinite(model.layers[-1].kernel.numpy()).all()


def test_bad_input(paths):
    options = {"image_size": 4, "batch_size": 2}
    with pytest.raises(ValueError, match="Received: 7 images and 3 targets"):
        ImageBatches(paths, np.arange(3), **options)
    with pytest.raises(ValueError, match="Received: 0 images"):
        ImageBatches([], **options)
    with pytest.raises(ValueError, match="Received: batch_size=0"):
        ImageBatches(paths, image_size=4, batch_size=0)


def test_class_folders(tmp_path):
    for name in ("a/1.png", "a/2.JPEG", "b/deep/1.jpg"):
        save(tmp_path / name, 0)
    (tmp_path / "b" / "note.txt").touch()
    paths, labels = image_batches.class_folders(tmp_path, 2, VARIABLE)
    assert [path.name for path in paths] == ["1.png", "2.JPEG", "1.jpg"]
    assert list(labels) == [0, 0, 1]
    with pytest.raises(ValueError, match="each of 3 classes.*Received: 2"):
        image_batches.class_folders(tmp_path, 3, VARIABLE)


def test_missing_folders(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="SOME_DIR") as error:
        image_batches.image_paths(tmp_path / "val", VARIABLE)
    assert str(tmp_path / "val") in str(error.value)
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match="holds train, val"):
        image_batches.folder_of(VARIABLE, ["train", "val"])
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert image_batches.folder_of(VARIABLE, []) == tmp_path
