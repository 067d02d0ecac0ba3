import itertools

import keras
import numpy as np
import pytest

from keras_zigzag.baselines import Masksembles
from keras_zigzag.baselines.masks import (
    FeatureMasks,
    Masks,
    generate_masks,
)
from tests.baselines import toys
from tests.helpers import assert_config_round_trip

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


def masks_of(model):
    return [
        keras.ops.convert_to_numpy(layer.masks)
        for layer in model._flatten_layers()
        if isinstance(layer, FeatureMasks)
    ]


def overlaps(masks):
    """Intersection over union of each pair."""
    return [
        np.sum(one * other) / np.sum(np.maximum(one, other))
        for one, other in itertools.combinations(masks, 2)
    ]


@pytest.mark.parametrize("scale", [1.3, 2.0, 3.0, 6.0])
@pytest.mark.parametrize("num_masks", [2, 4, 8])
def test_masks_overlap_as_the_paper_says(scale, num_masks):
    drawn = [generate_masks(256, num_masks, scale, seed) for seed in range(10)]
    found = np.mean([overlaps(masks) for masks in drawn])
    assert found == pytest.approx(1 / (2 * scale - 1), abs=0.02)


@pytest.mark.parametrize("scale", [1.1, 2.0, 5.5])
@pytest.mark.parametrize("num_features", [16, 37, 64, 513])
def test_shapes_of_masks(scale, num_features):
    few = num_features < 20
    for num_masks, seed in ((2, 0), (4, 1), (5, 2)):
        masks = generate_masks(num_features, num_masks, scale, seed)
        assert masks.shape == (num_masks, num_features)
        assert set(np.unique(masks)) == {0.0, 1.0}
        # Each has as many ones, and no feature is lost.
        used = scale * (1 - (1 - 1 / scale) ** num_masks)
        (ones,) = set(masks.sum(1))
        assert ones - int(num_features / used) in ((0, 1) if few else (0,))
        assert masks.any(0).all()
        same = generate_masks(num_features, num_masks, scale, seed)
        np.testing.assert_array_equal(masks, same)


def test_expected_number_of_features():
    # The formula of the supplementary material, by Monte Carlo.
    generator, ones, scale, size = np.random.default_rng(0), 50, 2.0, 4
    counts = []
    for _ in range(300):
        kept = {
            int(one)
            for _ in range(size)
            for one in generator.choice(int(ones * scale), ones, replace=False)
        }
        counts.append(len(kept))
    expected = ones * scale * (1 - (1 - 1 / scale) ** size)
    assert np.mean(counts) == pytest.approx(expected, rel=0.005)
    masks = generate_masks(round(expected), size, scale, 0)
    assert masks.sum(1).tolist() == [ones] * size


def test_a_scale_of_one_keeps_everything():
    np.testing.assert_array_equal(generate_masks(7, 3, 1, 0), np.ones((3, 7)))
    base, x = toys.randomise(toys.mlp()), toys.features()
    model = Masksembles.from_model(base, "classification", scale=1)
    np.testing.assert_allclose(
        model.predict(x, verbose=0)["prediction"],
        base.predict(x, verbose=0),
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.parametrize("size", [1, 3, 4, 7, 24])
def test_each_sample_of_a_training_batch_has_one_mask(size):
    layer = FeatureMasks(4, 2.0, seed=0)
    out = keras.ops.convert_to_numpy(layer(np.ones((size, 16), "float32")))
    masks = keras.ops.convert_to_numpy(layer.masks)
    which = [one for row in out for one in np.where((masks == row).all(1))[0]]
    assert which == sorted(which) and len(which) == size
    counts = np.bincount(which, minlength=4)
    assert counts.max() - counts.min() <= 1
    assert_config_round_trip(layer)


def conv_base(channels_first=False):
    options = {"data_format": "channels_first"} if channels_first else {}
    shape = (1, 6, 6) if channels_first else (6, 6, 1)
    return keras.Sequential(
        [
            keras.Input(shape),
            layers.Conv2D(16, 3, activation="relu", **options),
            layers.Conv2D(12, 3, activation="relu", name="second", **options),
            layers.Flatten(),
            layers.Dense(3, name="last"),
        ]
    )


def test_it_equals_explicit_masked_networks():
    base, x = toys.randomise(conv_base()), toys.images(7)
    model = Masksembles.from_model(
        base, "classification", 3, layers=2, seed=1, score="mutual_information"
    )
    first, second = masks_of(model.network)
    assert first.shape == (3, 16) and second.shape == (3, 48)
    found = keras.ops.convert_to_numpy(model.samples(x))
    for index in range(3):
        member = keras.models.clone_model(base)
        member.set_weights(base.get_weights())
        for name, mask in (("second", first), ("last", second)):
            kernel = member.get_layer(name).kernel
            kernel.assign(
                keras.ops.convert_to_numpy(kernel) * mask[index][:, None]
            )
        np.testing.assert_allclose(
            found[index], member.predict(x, verbose=0), rtol=1e-3, atol=1e-5
        )


def test_channels_first():
    base = conv_base(channels_first=True)
    model = Masksembles.from_model(base, "classification", 3, layers=2)
    assert masks_of(model.network)[0].shape == (3, 16)


@pytest.mark.parametrize(
    ("data_format", "axis"), [("channels_first", 1), ("channels_last", -1)]
)
def test_masks_in_the_place_of_dropout_are_of_channels(data_format, axis):
    before = keras.config.image_data_format()
    keras.config.set_image_data_format(data_format)
    try:
        base = keras.Sequential(
            [keras.Input((16, 6, 16)), layers.Dropout(0.2), layers.Flatten()]
        )
        network = Masks(base, 4, 2.0, None, seed=0).into(base, "masks")
    finally:
        keras.config.set_image_data_format(before)
    (layer,) = (one for one in network.layers if hasattr(one, "masks"))
    # As it was built, whatever the setting is when it is loaded.
    restored = assert_config_round_trip(layer)
    assert layer.axis == restored.axis == axis
    x = np.ones((4, 16, 6, 16), "float32")
    out = keras.ops.convert_to_numpy(layer(x))
    masks = keras.ops.convert_to_numpy(layer.masks)
    shape = (4, 16, 1, 1) if axis == 1 else (4, 1, 1, 16)
    np.testing.assert_array_equal(out, x * masks.reshape(shape))


def test_masks_in_the_place_of_dropout_of_steps():
    layer = FeatureMasks(4, 2.0, seed=0)
    assert assert_config_round_trip(layer).axis is None
    before = keras.config.image_data_format()
    keras.config.set_image_data_format("channels_first")
    try:
        layer.build((None, 6, 16))
    finally:
        keras.config.set_image_data_format(before)
    assert layer.masks.shape == (4, 16)


def test_masks_take_the_place_of_dropout():
    model = Masksembles.from_model(toys.cnn(), "classification", seed=3)
    assert sorted(one.shape[1] for one in masks_of(model)) == [4, 64]
    names = [type(layer).__name__ for layer in model._flatten_layers()]
    assert not any("Dropout" in name for name in names)
    model = Masksembles.from_model(toys.cnn(), "classification", layers=1)
    assert [one.shape[1] for one in masks_of(model)] == [64]
    names = [type(layer).__name__ for layer in model._flatten_layers()]
    assert {"Dropout", "SpatialDropout2D"} <= set(names)


def test_loading_and_seeds_give_the_same_masks(tmp_path):
    base = toys.mlp(hidden=16)
    one, same, other = (
        Masksembles.from_model(base, "classification", seed=seed)
        for seed in (1, 1, 2)
    )
    toys.assert_same(masks_of(one), masks_of(same))
    assert not np.array_equal(masks_of(one)[0], masks_of(other)[0])
    random = Masksembles.from_model(base, "classification")
    # Not from the seed, but as they were.
    (layer,) = (
        one for one in random._flatten_layers() if hasattr(one, "masks")
    )
    layer.masks.assign(1 - masks_of(random)[0])
    random.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    toys.assert_same(masks_of(loaded), masks_of(random))


def test_several_outputs_and_binary_logits():
    task = {"kind": "classification", "size": "regression"}
    model = Masksembles.from_model(toys.two_outputs(), task, layers=2)
    model.compile(
        "sgd", {"kind": "sparse_categorical_crossentropy", "size": "mse"}
    )
    targets = {"kind": toys.labels(), "size": toys.values()}
    model.fit(toys.features(), targets, batch_size=5, verbose=0)
    out = model.predict(toys.features(), verbose=0)["uncertainty"]
    assert out["kind"].shape == out["size"].shape == (24,)
    model = Masksembles.from_model(toys.mlp(2, None), "binary", seed=3)
    out = model.predict(toys.features(), verbose=0)
    assert np.isfinite(out["prediction"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_masks": 1}, "two of them"),
        ({"num_masks": 0}, "num_masks=0"),
        ({"scale": 1}, "no spread.*scale=1"),
        ({"scale": 0.5}, "between 1.*scale=0.5"),
        ({"scale": 7.0}, "and 6.*scale=7.0"),
        ({"scale": "2"}, "scale='2'"),
        ({"layers": 3}, "layers=3"),
        ({"layers": 0}, "layers=0"),
        ({"layers": 2, "scale": 1.1}, "4 features"),
        ({"score": "entropy"}, "score='entropy'"),
        ({"masks": 5}, "masks"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        Masksembles.from_model(toys.mlp(1, None), "regression", **options)


def test_bad_networks():
    with pytest.raises(ValueError, match="unbuilt"):
        Masksembles.from_model(keras.Sequential([layers.Dense(2)]), "binary")
    nothing = keras.Sequential([keras.Input((4,)), layers.ReLU()])
    with pytest.raises(ValueError, match="layers=1"):
        Masksembles.from_model(nothing, "regression")
