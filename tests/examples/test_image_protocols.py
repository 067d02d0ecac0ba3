"""The protocols of images in folders, on folders of a few small ones."""

from dataclasses import replace

import keras
import numpy as np
import pytest

from keras_zigzag.benchmark.recipes import Recipe
from keras_zigzag.benchmark.scoring import metrics_of, scores_of
from keras_zigzag.benchmark.training import EpochBackup, train
from tests.examples.protocol_files import assert_all_methods, load_file

pytestmark = pytest.mark.backend("tensorflow")
SIZE = 32
NUM_CLASSES = 3
SOME_METHODS = (
    "MCDropout",
    "DeepEnsemble",
    "AutoencoderError",
    "OrthonormalCertificates",
    "SNGP",
)


def slow(name):
    return pytest.param(name, marks=pytest.mark.slow)


def save_images(folder, names, seed=0):
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(seed)
    for name in names:
        noise = generator.uniform(0, 255, (SIZE, SIZE, 3))
        keras.utils.save_img(folder / name, noise, scale=False)


def run(protocol, name, folder):
    """What a method is worth that is trained for a few epochs."""
    data, training = protocol.load(0), protocol.training
    recipe = Recipe(protocol, protocol.all_variants()[name])
    trainee = recipe.trainee(data)
    backup = EpochBackup(folder / "backup.npz", "")
    train(trainee, data.train, training, 0, backup)
    model = recipe.finished(trainee, data)
    scores = scores_of(model, data, protocol.task, batch_size=8)
    return metrics_of(scores, protocol.task)


@pytest.fixture
def imagenet(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_ZIGZAG_IMAGENET_DIR", str(tmp_path))
    for part, count in (("train", 8), ("val", 3)):
        for index, name in enumerate(("n01", "n02", "n03")):
            names = [f"{name}_{number}.png" for number in range(count)]
            save_images(tmp_path / part / name, names, index)
    save_images(tmp_path / "imagenet-o" / "n99", ["a.png", "b.png"], 9)
    module = load_file("imagenet")
    monkeypatch.setattr(module, "NUM_CLASSES", NUM_CLASSES)
    monkeypatch.setattr(module, "BATCH_SIZE", 8)
    monkeypatch.setattr(module, "VALIDATION_PERCENT", 25)
    for name in ("IMAGE_SIZE", "QUICK_SIZE"):
        monkeypatch.setattr(module, name, SIZE)
    return module


def test_imagenet_data(imagenet):
    (protocol,) = imagenet.protocols(quick=True)
    data, other = protocol.load(0), protocol.load(1)
    sizes = [len(one.paths) for one in (data.train, data.validation, data.test)]
    assert sizes == [18, 6, 9]
    assert [data.train.shuffle_seed, other.train.shuffle_seed] == [0, 1]
    assert data.validation.shuffle_seed is data.test.shuffle_seed is None
    assert not set(data.train.paths) & set(data.validation.paths)
    assert set(data.validation.paths) != set(other.validation.paths)
    assert len(data.ood["imagenet_o"].paths) == 2
    classes = [path.parent.name for path in data.train.paths]
    expected = [["n01", "n02", "n03"].index(name) for name in classes]
    assert list(data.train.targets) == expected


def test_imagenet_settings():
    (protocol,) = load_file("imagenet").protocols(quick=False)
    assert protocol.training.epochs == 90
    assert protocol.settings["image_size"] == 224


@pytest.mark.slow
def test_imagenet_quick_all_methods(imagenet):
    assert_all_methods(imagenet.protocols(quick=True)[0])


@pytest.mark.parametrize(
    "name", ["ZigZagModel", slow("TemperatureScaling"), slow("BatchEnsemble")]
)
def test_imagenet_quick_runs_from_end_to_end(imagenet, name, tmp_path):
    report = run(imagenet.protocols(quick=True)[0], name, tmp_path)
    assert 0 <= report["accuracy"] <= 1
    assert 0 <= report["imagenet_o_roc_auc"] <= 1


@pytest.mark.slow
def test_imagenet_resnet50_runs_from_end_to_end(imagenet, tmp_path):
    (protocol,) = imagenet.protocols(quick=False)
    protocol = replace(
        protocol,
        training=replace(protocol.training, epochs=1, learning_rates=None),
    )
    base = protocol.build()
    assert any(layer.name == "conv5_block3_out" for layer in base.layers)
    report = run(protocol, "SingleModel", tmp_path)
    assert 0 <= report["imagenet_o_roc_auc"] <= 1


def test_imagenet_missing(tmp_path, monkeypatch):
    module = load_file("imagenet")
    monkeypatch.delenv("KERAS_ZIGZAG_IMAGENET_DIR", raising=False)
    with pytest.raises(FileNotFoundError, match="train, val, imagenet-o"):
        module.protocols(quick=True)[0].load(0)
    monkeypatch.setenv("KERAS_ZIGZAG_IMAGENET_DIR", str(tmp_path))
    (tmp_path / "train").mkdir()
    with pytest.raises(FileNotFoundError, match="no images in"):
        module.protocols(quick=True)[0].load(0)


def test_imagenet_of_prepared_data(tmp_path, monkeypatch):
    asked = []
    module = load_file("imagenet")
    monkeypatch.setenv("KERAS_ZIGZAG_IMAGENET_DIR", str(tmp_path))
    save_images(tmp_path / "imagenet-o", ["a.png"])
    monkeypatch.setattr(
        module,
        "tfds_batches",
        lambda _, split, shuffle_seed=None, **sizes: asked.append(
            (split, shuffle_seed)
        ),
    )
    module.protocols(quick=False)[0].load(5)
    assert asked == [
        ("train[:98%]", 5),
        ("train[98%:]", None),
        ("validation", None),
    ]


@pytest.fixture
def age(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_ZIGZAG_AGE_DIR", str(tmp_path))
    names = [f"{n}_{n % 2}_{n % 5}_2017010915.jpg" for n in range(1, 25)]
    names[0] += ".chip.jpg"
    save_images(tmp_path / "utkface" / "part1", names)
    save_images(tmp_path / "icartoonface" / "someone", ["1.png", "2.png"], 9)
    module = load_file("age")
    monkeypatch.setattr(module, "BATCH_SIZE", 8)
    for name in ("IMAGE_SIZE", "QUICK_SIZE"):
        monkeypatch.setattr(module, name, SIZE)
    return module


def test_age_data(age):
    (protocol,) = age.protocols(quick=True)
    data, again, other = (protocol.load(seed) for seed in (0, 0, 1))
    sets = data.train, data.validation, data.test
    assert [len(one.paths) for one in sets] == [17, 2, 5]
    assert len({path for one in sets for path in one.paths}) == 24
    for one in sets:
        assert one.targets.shape == (len(one.paths), 1)
        for path, years in zip(one.paths, one.targets[:, 0], strict=True):
            assert int(path.name.split("_")[0]) == years
    assert list(data.test.paths) == list(again.test.paths)
    assert list(data.test.paths) != list(other.test.paths)
    assert len(data.ood["icartoonface"].paths) == 2


def test_broken_names_are_reported_once_and_left_out(age, tmp_path):
    broken = ["61_1_20170109.jpg", "x.jpg", "1_2_0_20170109.jpg"]
    save_images(tmp_path / "utkface", broken)
    with pytest.warns(UserWarning, match="3 of 27 images") as caught:
        data = age.protocols(quick=True)[0].load(0)
    assert len(caught) == 1
    kept = [
        path.name
        for one in (data.train, data.validation, data.test)
        for path in one.paths
    ]
    assert len(kept) == 24 and not set(broken) & set(kept)


@pytest.mark.slow
def test_age_quick_all_methods(age):
    assert_all_methods(age.protocols(quick=True)[0])


@pytest.mark.parametrize(
    "name",
    ["ZigZagModel", *map(slow, SOME_METHODS)],
)
def test_age_quick_runs_from_end_to_end(age, name, tmp_path):
    report = run(age.protocols(quick=True)[0], name, tmp_path)
    assert report["mae"] > 0
    assert 0 <= report["icartoonface_roc_auc"] <= 1


@pytest.mark.slow
def test_age_network_of_the_appendix(age):
    base = age.protocols(quick=False)[0].build()
    dense = [x for x in base.layers if isinstance(x, keras.layers.Dense)]
    assert [layer.units for layer in dense] == [512, 256, 128, 64, 1]
    assert any(layer.name == "conv4_block36_out" for layer in base.layers)


def test_age_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_ZIGZAG_AGE_DIR", str(tmp_path))
    (protocol,) = load_file("age").protocols(quick=True)
    with pytest.raises(FileNotFoundError, match="utkface"):
        protocol.load(0)
