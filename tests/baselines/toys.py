"""Tiny models, data and checks that the tests of all methods share."""

import keras
import numpy as np

layers = keras.layers


def mlp(outputs=3, activation="softmax", hidden=8, dtype=None):
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(hidden, activation="relu", dtype=dtype),
            layers.Dense(outputs, activation=activation, dtype=dtype),
        ],
        name="mlp",
    )


def cnn(outputs=3, activation="softmax"):
    """A nested backbone with normalisation, augmentation and dropout."""
    backbone = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            layers.RandomFlip("horizontal"),
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.SpatialDropout2D(0.2),
            layers.Flatten(),
        ],
        name="backbone",
    )
    inputs = keras.Input((6, 6, 1), name="image")
    x = layers.Dropout(0.3)(backbone(inputs))
    head = keras.Sequential(
        [keras.Input((64,)), layers.Dense(outputs, activation)], name="head"
    )
    return keras.Model(inputs, head(x), name="cnn")


def two_outputs():
    inputs = keras.Input((4,), name="features")
    x = layers.Dense(8, activation="relu")(inputs)
    outputs = {
        "kind": layers.Dense(3, activation="softmax", name="kind")(x),
        "size": layers.Dense(1, name="size")(x),
    }
    return keras.Model(inputs, outputs, name="two")


def tagger():
    """One label for each step, of which some are masked."""
    return keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            layers.Embedding(10, 12, mask_zero=True),
            layers.Dense(12, activation="relu"),
            layers.Dropout(0.1),
            layers.Dense(3, activation="softmax"),
        ],
        name="tagger",
    )


def tokens():
    """Sequences of steps, 0 where there is none."""
    sequences = [[1, 2, 3, 0, 0], [4, 5, 0, 0, 0], [6, 7, 8, 9, 1], [2] * 5]
    return np.array(sequences, "int32")


def features(size=24, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((size, 4)).astype("float32")


def images(size=24, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((size, 6, 6, 1)).astype("float32")


def labels(size=24, high=3, seed=1):
    return np.random.default_rng(seed).integers(0, high, size)


def values(size=24, num_values=1, seed=2):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((size, num_values)).astype("float32")


def weights_of(model):
    return [keras.ops.convert_to_numpy(weight) for weight in model.weights]


def assert_same(one, two):
    for left, right in zip(one, two, strict=True):
        np.testing.assert_array_equal(left, right)


def randomise(model, seed=0):
    generator = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(generator.normal(0.0, 0.5, weight.shape))
    return model


def check_loaded(model, x, y, folder):
    """Checks that a compiled model goes on after loading."""
    model.save(folder / "model.keras")
    loaded = keras.saving.load_model(folder / "model.keras", safe_mode=True)
    assert loaded.get_compile_config() == model.get_compile_config()
    expected, found = model.predict(x, verbose=0), loaded.predict(x, verbose=0)
    for name in ("prediction", "uncertainty"):
        np.testing.assert_allclose(
            found[name], expected[name], rtol=1e-5, atol=1e-6
        )
    loaded.fit(x, y, verbose=0)


def fit(model, x, y):
    """Trains a compiled model, on batches of which the last is not full.

    Returns:
        The logs.
    """
    weight = np.linspace(0.5, 1.5, len(x)).astype("float32")
    return model.fit(
        x,
        y,
        batch_size=7,
        sample_weight=weight,
        validation_data=(x, y),
        verbose=0,
    ).history


def check_prediction(out, x, base):
    """Checks the dictionary of a model of one output per sample."""
    assert set(out) == {"prediction", "uncertainty"}
    assert out["prediction"].shape == (len(x), *base.output_shape[1:])
    assert out["uncertainty"].shape == (len(x),)
    assert out["uncertainty"].dtype == np.float32
    assert np.isfinite(out["uncertainty"]).all()
    assert np.ptp(out["uncertainty"]) > 0
