import warnings

import keras
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import keras_zigzag as kz
from keras_zigzag.baselines import OrthonormalCertificates
from keras_zigzag.baselines.certificates import Orthonormality
from tests.baselines import toys

pytestmark = [
    pytest.mark.one_quick_on("jax", "torch"),
    pytest.mark.filterwarnings("ignore:The certificates are random"),
]

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"
SIZE, NUM = 10, 4


def linear_base():
    """A model whose features are its inputs."""
    return keras.Sequential([keras.Input((SIZE,)), layers.Dense(1)])


def basis(seed=0):
    random = np.random.default_rng(seed).normal(size=(SIZE, SIZE))
    return np.linalg.qr(random)[0]


# Of these, the four smallest are apart from the others.
VARIANCES = np.array([9.0, 7, 5, 4, 3, 2, 0.2, 0.1, 0.05, 0.02])


def gaussian(size, mean=0.0, seed=1):
    generator = np.random.default_rng(seed)
    z = generator.normal(size=(size, SIZE)) * VARIANCES**0.5
    return ((z + mean) @ basis().T).astype("float32")


def kernel_of(model):
    return model.certificates.get_weights()[0]


@pytest.fixture(scope="module")
def on_gaussian():
    model = OrthonormalCertificates.from_model(
        linear_base(), "regression", NUM, num_steps=600, seed=0
    )
    model.fit_certificates(gaussian(640))
    return model


def test_directions_that_vary_least(on_gaussian):
    found = kernel_of(on_gaussian).astype("float64")
    np.testing.assert_allclose(found.T @ found, np.eye(NUM), atol=1e-6)
    # What they span, whichever basis of it they are.
    _, vectors = np.linalg.eigh(np.cov(gaussian(640).T))
    wanted = vectors[:, :NUM]
    overlap = np.linalg.svd(wanted.T @ found)[1]
    assert overlap.min() > 0.99


def test_score_separates_a_shifted_gaussian_as_the_closed_form(on_gaussian):
    train, shift = gaussian(640), np.zeros(SIZE)
    shift[-2:] = 0.8
    c, scale = kernel_of(on_gaussian).astype("float64"), train.var(0).mean()
    covariance = basis() @ np.diag(VARIANCES) @ basis().T
    scores = []
    for mean in (np.zeros(SIZE), shift):
        x = gaussian(4000, mean, seed=2)
        scores.append(on_gaussian.predict(x, verbose=0)["uncertainty"])
        distance = c.T @ (basis() @ mean - train.mean(0))
        expected = (
            np.trace(c.T @ covariance @ c) + distance @ distance
        ) / scale
        assert scores[-1].mean() == pytest.approx(expected, rel=0.05)
    labels = np.repeat([0, 1], 4000)
    assert roc_auc_score(labels, np.concatenate(scores)) > 0.95
    # A shift where the features vary anyhow is nothing new.
    shift = np.roll(shift, 2)
    far = on_gaussian.predict(gaussian(4000, shift, seed=3), verbose=0)
    assert far["uncertainty"].mean() < 1.2 * scores[0].mean()


def test_score_by_hand():
    base = toys.randomise(toys.mlp(3, None))
    x = toys.features()
    model = OrthonormalCertificates.from_model(
        base, "classification", 2, num_steps=3
    )
    model.fit_certificates(x, batch_size=7)
    weights = toys.weights_of(base)
    features = np.maximum(x @ weights[0] + weights[1], 0)
    features = (features - features.mean(0)) / features.var(0).mean() ** 0.5
    expected = np.sum((features @ kernel_of(model)) ** 2, axis=-1)
    out = model.predict(x, verbose=0)
    np.testing.assert_allclose(out["uncertainty"], expected, rtol=1e-3)
    np.testing.assert_allclose(
        out["prediction"], base.predict(x, verbose=0), rtol=1e-5
    )


@pytest.mark.slow
def test_small_networks():
    model = OrthonormalCertificates.from_model(
        linear_base(), "regression", kind="mlp", num_steps=300, seed=0
    )
    assert model.num_certificates == 5
    x = gaussian(640)
    model.fit_certificates(x)
    kernels = model.certificates.get_weights()
    assert len(kernels) == 10
    for kernel in kernels:
        rows = kernel if kernel.shape[0] > kernel.shape[1] else kernel.T
        unity = np.eye(rows.shape[1])
        np.testing.assert_allclose(rows.T @ rows, unity, atol=0.2)
    inside, outside = (
        model.predict(x, verbose=0)["uncertainty"]
        for x in (gaussian(300, seed=2), gaussian(300, 4.0, seed=2))
    )
    labels = np.repeat([0, 1], 300)
    assert roc_auc_score(labels, np.concatenate([inside, outside])) > 0.9


def test_random_directions_before_and_the_default_number():
    model = OrthonormalCertificates.from_model(toys.mlp(), "classification")
    found = kernel_of(model)
    assert found.shape == (8, 4)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-5)
    assert not model.certificates.trainable_weights
    wide = OrthonormalCertificates.from_model(
        toys.mlp(hidden=300), "classification"
    )
    assert wide.num_certificates == 100


def test_fit_trains_the_network_as_alone_and_then_the_certificates():
    x, y = toys.features(), toys.labels()
    base = toys.randomise(toys.mlp())
    model = OrthonormalCertificates.from_model(
        base, "classification", 2, num_steps=3, seed=0
    )
    before = kernel_of(model)
    for one in (base, model):
        one.compile(keras.optimizers.SGD(0.1), CROSSENTROPY)
        one.fit(x, y, epochs=2, shuffle=False, verbose=0)
    for one, other in zip(
        toys.weights_of(base), toys.weights_of(model.network), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    after = kernel_of(model)
    assert not np.allclose(after, before)
    # The same as of the network that was trained alone.
    again = OrthonormalCertificates.from_model(
        base, "classification", 2, num_steps=3, seed=0
    )
    again.fit_certificates(x)
    np.testing.assert_allclose(kernel_of(again), after, rtol=1e-3, atol=1e-4)


class Batches(keras.utils.PyDataset):
    def __init__(self, *arrays):
        super().__init__()
        self.arrays = arrays

    @property
    def num_batches(self):
        return 3

    def __getitem__(self, index):
        return tuple(one[index * 8 : index * 8 + 8] for one in self.arrays)


def test_data_sets_and_splits():
    x, y = toys.features(), toys.labels()
    base = toys.randomise(toys.mlp())

    def mean_of(train):
        model = OrthonormalCertificates.from_model(
            base, "classification", num_steps=3
        )
        model.compile(keras.optimizers.SGD(0.0), CROSSENTROPY)
        train(model)
        return keras.ops.convert_to_numpy(model.standardize.mean)

    weights = toys.weights_of(base)
    features = np.maximum(x @ weights[0] + weights[1], 0)
    for train, size in (
        (lambda model: model.fit_certificates(Batches(x, y)), 24),
        (lambda model: model.fit_certificates(Batches(x, y), steps=2), 16),
        (lambda model: model.fit(x, y, validation_split=0.5, verbose=0), 12),
    ):
        expected = features[:size].mean(0)
        np.testing.assert_allclose(mean_of(train), expected, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.backend("tensorflow")
def test_tf_data_without_end():
    import tensorflow as tf

    x, y = toys.features(), toys.labels()
    model = OrthonormalCertificates.from_model(
        toys.mlp(), "classification", num_steps=3
    )
    model.compile("sgd", CROSSENTROPY)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    model.fit(data.repeat(), steps_per_epoch=3, shuffle=False, verbose=0)
    assert float(model.standardize.count) == 24
    with pytest.raises(ValueError, match="without end"):
        model.fit_certificates(data.repeat())


def test_features_of_maps_and_of_several_outputs():
    inputs = keras.Input((6, 6, 1))
    x = layers.Conv2D(5, 3, padding="same", activation="relu")(inputs)
    pooled = layers.GlobalMaxPooling2D()(x)
    outputs = {
        "map": layers.Activation("sigmoid")(layers.Conv2D(1, 1)(x)),
        "one": layers.Dense(3, "softmax", name="one")(pooled),
        "two": layers.Dense(2, name="two")(pooled),
    }
    task = {"map": "binary", "one": "classification", "two": "regression"}
    base = toys.randomise(keras.Model(inputs, outputs))
    model = OrthonormalCertificates.from_model(base, task, num_steps=3)
    # The means over the map and its largest values, these once.
    assert model.standardize.mean.shape == (10,)
    maps = keras.Model(inputs, x).predict(toys.images(), verbose=0)
    model.fit_certificates(toys.images())
    mean = keras.ops.convert_to_numpy(model.standardize.mean)
    expected = [maps.mean((0, 1, 2)), maps.max((1, 2)).mean(0)]
    np.testing.assert_allclose(mean, np.concatenate(expected), rtol=1e-4)
    out = model.predict(toys.images(), verbose=0)["uncertainty"]
    assert out["map"].shape == (24, 6, 6)
    np.testing.assert_array_equal(out["map"][:, 1, 2], out["one"])
    np.testing.assert_array_equal(out["two"], out["one"])


def test_nested_ends_and_sequences():
    inputs = keras.Input((5, 3))
    head = keras.Sequential([keras.Input((5, 4)), layers.Dense(2)])
    base = keras.Sequential(
        [inputs, layers.LSTM(4, return_sequences=True), head]
    )
    base = keras.Sequential([base, layers.Softmax()])
    model = OrthonormalCertificates.from_model(base, "classification")
    assert model.standardize.mean.shape == (4,)
    x = np.random.default_rng(0).normal(size=(6, 5, 3))
    out = model.predict(x, verbose=0)
    assert out["uncertainty"].shape == (6, 5)
    np.testing.assert_allclose(
        out["prediction"], base.predict(x, verbose=0), rtol=1e-5
    )


def test_penalty_by_hand():
    kernel = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    expected = 0.5 * np.sum((kernel.T @ kernel - np.eye(3)) ** 2)
    for one in (kernel, kernel.T):
        found = Orthonormality(0.5)(keras.ops.convert_to_tensor(one))
        assert float(found) == pytest.approx(expected, 1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_certificates": 9}, "8 features.*num_certificates=9"),
        ({"num_certificates": 0}, "num_certificates=0"),
        ({"kind": "tree"}, "kind='tree'"),
        ({"penalty": 0.0}, "penalty=0.0"),
        ({"num_steps": 0}, "num_steps=0"),
        ({"certs": 5}, "certs"),
        ({"score": "x"}, r"Unknown arguments.*Received: \['score'\]"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        OrthonormalCertificates.from_model(
            toys.mlp(), "classification", **options
        )


def test_bad_networks_and_data():
    inputs = keras.Input((4,))
    base = keras.Model(inputs, layers.Softmax()(inputs))
    with pytest.raises(ValueError, match="last layer with a kernel"):
        OrthonormalCertificates.from_model(base, "classification")
    model = OrthonormalCertificates.from_model(
        toys.mlp(), "classification", num_steps=3
    )
    x, y = toys.features(), toys.labels()
    with pytest.raises(ValueError, match="finite"):
        model.fit_certificates(x * np.nan)
    with pytest.raises(ValueError, match="no samples"):
        model.fit_certificates(iter(()))
    model.compile("adam", CROSSENTROPY)
    with pytest.raises(ValueError, match="fit_certificates"):
        model.fit((batch for batch in [(x, y)]), verbose=0)


def test_it_says_that_certificates_are_random(tmp_path):
    x, y = toys.features(), toys.labels()
    model = OrthonormalCertificates.from_model(
        toys.mlp(), "classification", num_steps=2
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    path = tmp_path / "model.keras"
    checkpoint = keras.callbacks.ModelCheckpoint(path)
    model.fit(x, y, callbacks=[checkpoint], verbose=0)
    loaded = keras.saving.load_model(path)
    with pytest.warns(UserWarning, match="fit_certificates"):
        loaded.predict(x, verbose=0)
    loaded.fit_certificates(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        loaded.predict(x, verbose=0)
        model.predict(x, verbose=0)


def test_inputs_that_are_not_finite_are_found_before_training():
    x, y = toys.features(), toys.labels()
    x[3, 0] = np.nan
    model = OrthonormalCertificates.from_model(toys.mlp(), "classification")
    model.compile("adam", "sparse_categorical_crossentropy")
    before = toys.weights_of(model)
    with pytest.raises(ValueError, match="1 of 24 samples, first in sample 3"):
        model.fit(x, y, verbose=0)
    toys.assert_same(toys.weights_of(model), before)


def test_samples_without_a_place_are_left_out():
    base = keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            layers.Embedding(10, 12, mask_zero=True),
            layers.Dense(3, activation="softmax"),
        ]
    )
    x = np.random.default_rng(0).integers(1, 10, (24, 5)).astype("int32")
    x[3] = 0
    model, other = (
        OrthonormalCertificates.from_model(
            base, "classification", num_steps=3, seed=0
        )
        for _ in range(2)
    )
    model.compile(keras.optimizers.SGD(0.0), CROSSENTROPY)
    model.fit(x, np.zeros((24, 5)), batch_size=3, verbose=0)
    other.fit_certificates(np.delete(x, 3, axis=0))
    assert int(model.standardize.count) == 23
    np.testing.assert_allclose(kernel_of(model), kernel_of(other), atol=1e-5)
    with pytest.raises(ValueError, match="finite"):
        model.fit_certificates(np.zeros((24, 5), "int32"))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_padding_of_maps_is_no_feature(rank):
    shape = (4,) * rank
    inputs, is_there = keras.Input((*shape, 3)), keras.Input(shape, dtype=bool)
    x = layers.Dense(8, activation="relu")(inputs)
    x = kz.MaskPlaces()([x, is_there])
    base = keras.Model([inputs, is_there], layers.Dense(3, "softmax")(x))
    model = OrthonormalCertificates.from_model(base, "classification")
    alike = np.random.default_rng(0).normal(size=(5, *(1,) * rank, 3))
    x = np.tile(alike, (1, *shape, 1)).astype("float32")
    there, some = np.ones((5, *shape), bool), np.zeros((5, *shape), bool)
    some[:, 1] = True
    expected, found = (
        model.predict([x, mask], verbose=0)["uncertainty"].reshape(5, 4, -1)
        for mask in (there, some)
    )
    np.testing.assert_allclose(found[:, 1], expected[:, 1], rtol=1e-5)
    assert np.isnan(found[:, 0]).all()
