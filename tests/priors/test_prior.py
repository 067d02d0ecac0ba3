import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag.priors import BinaryPrior, OneHotPrior, Prior, ValuePrior
from tests.helpers import assert_config_round_trip

pytestmark = pytest.mark.first_quick_on("jax", "torch")


@keras.saving.register_keras_serializable("tests")
class RankPrior(Prior):
    """A prior of a user's own: the value between 0 and 1."""

    def __init__(self, highest=1.0, **kwargs):
        super().__init__(**kwargs)
        self.highest = highest

    def target_values(self, targets):
        targets = ops.cast(ops.convert_to_tensor(targets), "float32")
        return self._with_channel_axis(targets) / self.highest

    def feedback_values(self, prediction):
        return self.answer(prediction) / self.highest

    def answer(self, prediction):
        return ops.cast(prediction, "float32")

    def check_values(self, targets, loss=None):
        if np.max(targets) > self.highest:
            raise ValueError(f"Received: y up to {np.max(targets)}")

    def get_config(self):
        return {**super().get_config(), "highest": self.highest}


def dense_base(channels, activation=None, squeeze=False):
    inputs = keras.Input((6, 4, 2))
    x = keras.layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    x = keras.layers.Conv2D(channels, 1, activation=activation)(x)
    if squeeze:
        x = keras.layers.Reshape((6, 4))(x)
    return keras.Model(inputs, x)


def images(size=8):
    return np.random.rand(size, 6, 4, 2).astype("float32")


def test_a_prior_of_a_users_own():
    base = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(1)]
    )
    model = kz.ZigZagModel.from_model(base, prior=RankPrior(highest=10.0))
    model.compile("adam", "mse")
    x, y = np.random.rand(8, 3), np.arange(8.0)
    model.fit(x, y, verbose=0)
    assert model.predict(x, verbose=0)["uncertainty"].shape == (8,)
    with pytest.raises(ValueError, match="Received: y up to 70"):
        model.fit(x, y * 10, verbose=0)
    restored = assert_config_round_trip(model.prior)
    assert restored.highest == 10.0 and restored.num_channels == 2


def test_fits_to_one_shape_only():
    prior = OneHotPrior()
    prior.fit_to((None, 4, 4, 3))
    prior.fit_to((None, None, 4, 3))
    for shape in ((None, 4, 4, 5), (None, 3), (None, 4, 5, 3)):
        with pytest.raises(ValueError, match="other outputs. Received: a `One"):
            prior.fit_to(shape)


# PyTorch 2.13 refuses the gradient of Keras's sparse crossentropy of maps on
# the CPU, of ordinary models too: "grad_input must be contiguous".
not_on_torch = pytest.mark.backend("tensorflow", "jax")


@pytest.mark.parametrize(
    "kind", [pytest.param("sparse", marks=not_on_torch), "one_hot"]
)
def test_segmentation(kind):
    model = kz.ZigZagModel.from_model(
        dense_base(3, "softmax"), task="classification"
    )
    loss = "categorical_crossentropy"
    y = np.random.randint(0, 3, (8, 6, 4))
    if kind == "sparse":
        loss = "sparse_" + loss
    else:
        y = np.eye(3)[y]
    model.compile("adam", loss)
    model.fit(images(), y, verbose=0)
    out = model.predict(images(), verbose=0)
    assert out["prediction"].shape == (8, 6, 4, 3)
    assert out["uncertainty"].shape == (8, 6, 4)


@not_on_torch
def test_void_label():
    model = kz.ZigZagModel.from_model(
        dense_base(3, "softmax"), task="classification"
    )
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=255)
    model.compile("adam", loss)
    y = np.random.randint(0, 3, (8, 6, 4)).astype("uint8")
    y[:, 2:4] = 255
    history = model.fit(images(), y, verbose=0, validation_data=(images(), y))
    assert np.isfinite(history.history["loss"]).all()
    out = model.predict(images(), verbose=0)
    assert np.isfinite(out["uncertainty"]).all()

    model.compile("adam", "sparse_categorical_crossentropy")
    with pytest.raises(ValueError, match="the label 255.*`ignore_class`"):
        model.fit(images(), y, verbose=0)


@pytest.mark.parametrize("squeeze", [True, False])
@pytest.mark.parametrize("task", ["regression", "binary"])
def test_map_of_one_value(task, squeeze):
    activation = "sigmoid" if task == "binary" else None
    base = dense_base(1, activation, squeeze)
    model = kz.ZigZagModel.from_model(base, task=task)
    loss = "mse" if task == "regression" else "binary_crossentropy"
    model.compile("adam", loss)
    y = np.random.randint(0, 2, (8, 6, 4)).astype("float32")
    y = y if squeeze else y[..., None]
    if task == "regression":
        model.adapt(y)
    model.fit(images(), y, verbose=0)
    out = model.predict(images(), verbose=0)
    assert out["prediction"].shape == y.shape
    assert out["uncertainty"].shape == (8, 6, 4)
    with pytest.raises(ValueError, match=r"\(N, 6, 4, 1\).*Received: y of sh"):
        model.fit(images(), y[:, :, 0], verbose=0)


def test_sequence_of_open_length_without_channels():
    inputs = keras.Input((None, 2))
    x = keras.layers.GRU(3, return_sequences=True)(inputs)
    x = ops.squeeze(keras.layers.Dense(1)(x), -1)
    model = kz.ZigZagModel.from_model(keras.Model(inputs, x), task="regression")
    x, y = np.random.rand(4, 7, 2), np.random.rand(4, 7)
    model.adapt(y)
    model.compile("adam", "mse")
    model.fit(x, y, verbose=0)
    assert model.predict(x, verbose=0)["uncertainty"].shape == (4, 7)


def test_map_with_channels_that_are_not_an_image():
    # Three values at each of four steps, of a series of the same size.
    inputs = keras.Input((4, 3))
    base = keras.Model(inputs, keras.layers.Dense(3)(inputs))
    model = kz.ZigZagModel.from_model(base, task="regression")
    assert model.prior.num_values == 3
    x = np.zeros((2, 4, 3))
    assert model.predict(x, verbose=0)["uncertainty"].shape == (2, 4)


@pytest.mark.parametrize("make", [BinaryPrior, ValuePrior])
def test_encodings_are_float32_in_mixed_precision(make):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        prior = make()
        prior.build((None, 2))
        encoded = prior.encode_prediction(ops.ones((3, 2), "float16"))
        assert keras.backend.standardize_dtype(encoded.dtype) == "float32"
    finally:
        keras.config.set_dtype_policy("float32")


@not_on_torch
def test_the_label_that_the_loss_ignores_is_not_told(tmp_path):
    inputs = keras.Input((4, 2))
    outputs = {
        name: keras.layers.Dense(3, activation="softmax", name=name)(inputs)
        for name in ("a", "b")
    }
    model = kz.ZigZagModel.from_model(
        keras.Model(inputs, outputs), task="classification"
    )
    sparse = keras.losses.SparseCategoricalCrossentropy
    model.compile("sgd", {"a": sparse(ignore_class=0), "b": sparse()})
    x = np.random.rand(6, 4, 2).astype("float32")
    y = {"a": np.zeros((6, 4)), "b": np.zeros((6, 4))}
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "model.keras")
    for one in (model, keras.saving.load_model(tmp_path / "model.keras")):
        batch, _, _ = one.training_batch(x, y)
        told = ops.convert_to_numpy(batch.prior)[6:]
        np.testing.assert_array_equal(told[..., :4], 0.0)
        np.testing.assert_array_equal(told[0, 0, 4:], [1, 0, 0, 1])
