import random

import keras
import numpy as np
import pytest

from keras_zigzag.benchmark import image_batches
from keras_zigzag.benchmark.image_batches import ImageBatches

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
        paths, ages, image_size=4, batch_size=3, shuffle=True
    )
    for index in range(3):
        x, y = batches[index]
        np.testing.assert_array_equal(x[:, 0, 0, 0], y)


def test_each_epoch_has_an_order_that_follows_the_seed(paths):
    batches = ImageBatches(paths, image_size=4, batch_size=7, shuffle=True)
    orders = []
    for seed in (3, 4, 3):
        random.seed(seed)
        batches.on_epoch_begin()
        orders.append(values(batches))
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])


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
        ImageBatches(paths, ages, image_size=4, batch_size=4, shuffle=True),
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
