import keras
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from keras_zigzag.baselines import AutoencoderError
from keras_zigzag.baselines.hourglass import hourglass
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"


def on_a_line(size, seed=0):
    """Vectors that differ in one direction only, but for little noise."""
    generator = np.random.default_rng(seed)
    place = generator.normal(size=(size, 1))
    noise = 0.05 * generator.normal(size=(size, 4))
    return (100 + 30 * (place * [1, -2, 0.5, 1] + noise)).astype("float32")


def bars(size, axis, seed=0):
    """Images of 0 to 255 with one bright row (`axis=1`) or column."""
    generator = np.random.default_rng(seed)
    images = generator.uniform(0, 40, (size, 9, 9, 1))
    for image in images:
        place = generator.integers(9)
        image[(place,) if axis == 1 else (slice(None), place)] = 255
    return images.astype("float32")


def trained(base, x, epochs, **options):
    model = AutoencoderError.from_model(base, "classification", **options)
    model.compile(keras.optimizers.Adam(0.01), CROSSENTROPY)
    model.fit(x, toys.labels(len(x)), epochs=epochs, verbose=0)
    return model


def roc(model, inside, outside):
    scores = [
        model.predict(x, verbose=0)["uncertainty"] for x in (inside, outside)
    ]
    labels = np.repeat([0, 1], [len(inside), len(outside)])
    return roc_auc_score(labels, np.concatenate(scores))


def test_vectors_unlike_those_of_the_training():
    x = on_a_line(400)
    model = trained(toys.mlp(), x, 15)
    outside = x.mean(0) + x.std(0) * toys.features(100)
    assert roc(model, on_a_line(100, seed=1), outside) > 0.95


@pytest.mark.slow
def test_images_unlike_those_of_the_training():
    base = keras.Sequential(
        [keras.Input((9, 9, 1)), layers.Flatten(), layers.Dense(3, "softmax")]
    )
    model = trained(base, bars(256, axis=1), 12, score="mean_absolute_error")
    outside = bars(64, axis=2, seed=2)
    assert roc(model, bars(64, axis=1, seed=1), outside) > 0.95


@pytest.mark.parametrize("score", ["mean_squared_error", "mean_absolute_error"])
def test_error_by_hand(score):
    x = on_a_line(50)
    x[:, 2] = 7.0
    model = AutoencoderError.from_model(toys.mlp(), "classification", score)
    model.adapt_inputs(x)
    found = model.autoencoder.predict(x, verbose=0)
    # What does not vary has the scale of what does.
    scale = x.std(0)
    scale[2] = np.sqrt(np.mean(scale[[0, 1, 3]] ** 2))
    error = (x - found) / scale
    error = error**2 if score == "mean_squared_error" else np.abs(error)
    out = model.predict(x, verbose=0)
    np.testing.assert_allclose(
        out["uncertainty"], error.mean(-1), rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(
        out["prediction"], model.network.predict(x, verbose=0), rtol=1e-5
    )


def test_unit_of_the_inputs_does_not_matter():
    x = toys.images(40)
    base = keras.Sequential(
        [keras.Input((6, 6, 1)), layers.Flatten(), layers.Dense(3, "softmax")]
    )
    scores = []
    for unit, zero in ((1.0, 0.0), (50.0, 128.0)):
        keras.utils.set_random_seed(1)
        model = AutoencoderError.from_model(base, "classification", code_size=3)
        model.adapt_inputs(unit * x + zero, batch_size=7)
        out = model.predict(unit * x + zero, verbose=0)
        scores.append(out["uncertainty"])
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-3)
    # An untrained autoencoder is not far from the constant mean.
    assert 0.5 < np.mean(scores[0]) < 3.0


def fitted(model, x, y, loss):
    """The losses of a training in which nothing is random."""
    weight = np.linspace(0.0, 2.0, len(x)).astype("float32")
    model.compile(keras.optimizers.Adam(0.1), loss)
    history = model.fit(
        x, y, 7, 3, sample_weight=weight, shuffle=False, verbose=0
    )
    return history.history["loss"]


def assert_close_weights(one, other):
    for left, right in zip(
        toys.weights_of(one), toys.weights_of(other), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)


def test_the_base_learns_as_it_would_alone():
    x, y = toys.features(), toys.labels()
    base = toys.randomise(toys.mlp())
    model = AutoencoderError.from_model(base, "classification")
    losses = [fitted(one, x, y, CROSSENTROPY) for one in (base, model)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    assert_close_weights(model.network, base)
    found = model.evaluate(x, y, verbose=0)
    assert found == pytest.approx(base.evaluate(x, y, verbose=0), 1e-4)


@pytest.mark.slow
def test_the_autoencoder_learns_as_it_would_alone():
    x, y = toys.features(), toys.labels()
    model = AutoencoderError.from_model(toys.mlp(), "classification")
    model.adapt_inputs(x)
    alone = keras.models.clone_model(model.autoencoder)
    alone.set_weights(model.autoencoder.get_weights())
    fitted(model, x, y, CROSSENTROPY)
    fitted(alone, x, x, scaled_error(model.standardize))
    assert_close_weights(model.autoencoder, alone)


class Small(layers.Layer):
    """Adds a loss of its own."""

    def call(self, inputs):
        self.add_loss(keras.ops.mean(keras.ops.square(inputs)))
        return inputs


def with_terms():
    hidden = layers.Dense(
        3, activity_regularizer=keras.regularizers.L2(0.1), name="hidden"
    )
    own = [keras.Input((4,)), hidden, Small(), layers.Dense(4)]
    return keras.Sequential(own)


def test_an_autoencoder_learns_from_terms_of_its_own():
    x, y = toys.features(), toys.labels()
    model = AutoencoderError.from_model(
        toys.randomise(toys.mlp()), "classification", autoencoder=with_terms()
    )
    model.adapt_inputs(x)
    alone = keras.models.clone_model(model.autoencoder)
    alone.set_weights(model.autoencoder.get_weights())
    error = scaled_error(model.standardize)
    for one, loss, targets in ((model, CROSSENTROPY, y), (alone, error, x)):
        one.compile(keras.optimizers.SGD(0.1), loss)
        one.fit(x, targets, epochs=2, shuffle=False, verbose=0)
    assert_close_weights(model.autoencoder, alone)
    assert model.evaluate(x, y, verbose=0) < 10


def scaled_error(standardize):
    def loss(y_true, y_pred):
        return keras.ops.mean(
            keras.ops.square(standardize(y_true) - standardize(y_pred)), -1
        )

    return loss


def test_trained_base_and_autoencoder_of_the_users(tmp_path):
    x, y = toys.features(), toys.labels()
    base = toys.randomise(toys.mlp())
    own = keras.Sequential(
        [
            keras.Input((4,)),
            # A name that the base model has too.
            layers.Dense(2, name=base.layers[0].name),
            layers.Dense(4),
        ]
    )
    before = toys.weights_of(own)
    model = AutoencoderError.from_model(
        base, "classification", autoencoder=own, train_base=False
    )
    toys.assert_same(toys.weights_of(model.autoencoder), before)
    model.compile(keras.optimizers.Adam(0.01), CROSSENTROPY)
    loss = model.evaluate(x, y, verbose=0)
    model.adapt_inputs(x)
    start = model.predict(x, verbose=0)["uncertainty"].mean()
    logs = model.fit(x, y, epochs=5, verbose=0).history["loss"]
    np.testing.assert_allclose(logs, loss, rtol=1e-4)
    toys.assert_same(toys.weights_of(model.network), toys.weights_of(base))
    toys.assert_same(toys.weights_of(own), before)
    assert model.predict(x, verbose=0)["uncertainty"].mean() < start
    assert base.trainable_weights
    toys.check_loaded(model, x, y, tmp_path)


def test_a_trained_base_needs_no_loss():
    x, y = toys.features(), toys.labels()
    model = AutoencoderError.from_model(
        toys.mlp(), "classification", train_base=False
    )
    model.compile(keras.optimizers.Adam(0.01), metrics=["accuracy"])
    model.adapt_inputs(x)
    start = model.predict(x, verbose=0)["uncertainty"].mean()
    logs = model.fit(x, y, epochs=3, validation_data=(x, y), verbose=0).history
    assert set(logs) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert model.predict(x, verbose=0)["uncertainty"].mean() < start
    with pytest.raises(ValueError, match="train_base=True, for"):
        model.with_options(train_base=True)


@pytest.mark.parametrize(
    "shape", [(3,), (1,), (10, 2), (6, 9, 3), (16, 33, 1), (5, 8, 9, 2)]
)
def test_hourglasses(shape):
    model = hourglass(shape)
    x = np.random.default_rng(0).normal(size=(2, *shape))
    assert model.predict(x, verbose=0).shape == x.shape
    narrowest = min(
        np.prod(layer.output.shape[1:])
        for layer in model.layers
        if isinstance(layer, layers.Dense)
    )
    assert narrowest == min(max(np.prod(shape) // 4, 1), 32)


def test_adapts_once_and_to_what_it_trains_on():
    x, y = on_a_line(40), toys.labels(40)
    model = AutoencoderError.from_model(toys.mlp(), "classification")
    model.compile("adam", CROSSENTROPY)
    model.fit(x, y, validation_split=0.25, verbose=0)
    mean = keras.ops.convert_to_numpy(model.standardize.mean)
    np.testing.assert_allclose(mean, x[:30].mean(0), rtol=1e-4)
    model.fit(x + 5, y, verbose=0)
    again = keras.ops.convert_to_numpy(model.standardize.mean)
    np.testing.assert_array_equal(again, mean)


@pytest.mark.slow
@pytest.mark.backend("tensorflow")
def test_data_sets_without_end():
    import tensorflow as tf

    x, y = on_a_line(40), toys.labels(40)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(10).repeat()
    model = AutoencoderError.from_model(toys.mlp(), "classification")
    model.compile("adam", CROSSENTROPY)
    with pytest.raises(ValueError, match="without end"):
        model.adapt_inputs(data)
    model.fit(data, steps_per_epoch=3, shuffle=False, verbose=0)
    mean = keras.ops.convert_to_numpy(model.standardize.mean)
    np.testing.assert_allclose(mean, x[:30].mean(0), rtol=1e-4)


def test_dense_and_several_outputs():
    inputs = keras.Input((6, 6, 1))
    x = layers.Conv2D(2, 3, padding="same")(inputs)
    outputs = [
        layers.Conv2D(1, 1)(x),
        layers.Dense(3, "softmax")(layers.Flatten()(x)),
    ]
    model = AutoencoderError.from_model(
        keras.Model(inputs, outputs), ["regression", "classification"]
    )
    places, samples = model.predict(toys.images(), verbose=0)["uncertainty"]
    assert places.shape == (24, 6, 6) and samples.shape == (24,)
    np.testing.assert_array_equal(places[:, 2, 3], samples)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "entropy"}, "score='entropy'"),
        ({"code_size": 0}, "code_size=0"),
        ({"autoencoder": toys.mlp()}, "give it back"),
        (
            {"autoencoder": hourglass((4,)), "code_size": 3},
            "code_size=3 and autoencoder",
        ),
        ({"latent": 3}, "latent"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        AutoencoderError.from_model(toys.mlp(), "classification", **options)


def test_bad_inputs():
    tokens = keras.Input((5,), dtype="int32")
    embedded = layers.Flatten()(layers.Embedding(9, 2)(tokens))
    base = keras.Model(tokens, layers.Dense(3, "softmax")(embedded))
    with pytest.raises(ValueError, match="one input, of floats.*int32"):
        AutoencoderError.from_model(base, "classification")
    pair = [keras.Input((2,)), keras.Input((3,))]
    base = keras.Model(pair, layers.Dense(1)(layers.Concatenate()(pair)))
    with pytest.raises(ValueError, match="one input, of floats"):
        AutoencoderError.from_model(base, "regression")
    sequences = keras.Input((None, 2))
    base = keras.Model(sequences, layers.Dense(1)(sequences))
    with pytest.raises(ValueError, match="of your own as `autoencoder`"):
        AutoencoderError.from_model(base, "regression")


def test_bad_training():
    x, y = toys.features(), toys.labels()
    model = AutoencoderError.from_model(toys.mlp(), "classification")
    with pytest.raises(ValueError, match="global_clipnorm=1.0"):
        model.compile(keras.optimizers.Adam(global_clipnorm=1.0), CROSSENTROPY)
    model.compile("adam", CROSSENTROPY)
    with pytest.raises(ValueError, match="adapt_inputs"):
        model.fit((batch for batch in [(x, y)]), verbose=0)
    with pytest.raises(ValueError, match="finite"):
        model.fit(x * np.nan, y, verbose=0)
    with pytest.raises(ValueError, match="no samples"):
        model.adapt_inputs(iter(()))
