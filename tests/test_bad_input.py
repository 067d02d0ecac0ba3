"""What bad input gets: what came, what was expected, what to do."""

import re

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests.baselines import toys

pytestmark = pytest.mark.first_quick_on("jax", "torch")

X = np.random.RandomState(0).rand(12, 4).astype("float32")
LABELS = np.arange(12) % 3


def base(units=3, activation="softmax", name=None):
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(5, activation="relu", name="first"),
            keras.layers.Dense(units, activation=activation),
        ],
        name=name,
    )


def classifier(**kwargs):
    model = kz.ZigZagModel.from_model(base(), task="classification", **kwargs)
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def regressor():
    model = kz.ZigZagModel.from_model(base(1, None), task="regression")
    model.compile("adam", "mse")
    return model


@pytest.fixture(scope="module")
def untrained():
    """A model for what is refused before anything happens to it."""
    return classifier()


class Batches(keras.utils.PyDataset):
    def __init__(self, y):
        super().__init__()
        self.y = y

    def __len__(self):
        return 3

    def __getitem__(self, index):
        rows = slice(4 * index, 4 * index + 4)
        return X[rows], self.y[rows]


def arrays(y):
    return {"x": X, "y": y}


def py_dataset(y):
    return {"x": Batches(y), "shuffle": False}


def generator(y):
    batches = Batches(y)
    data = (batches[index] for index in range(3))
    return {"x": data, "steps_per_epoch": 3, "shuffle": False}


def tf_data(y):
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensor_slices((X, y)).batch(4)
    return {"x": data, "shuffle": False}


def data_loader(y):
    torch = pytest.importorskip("torch")
    if y.dtype.kind == "U":
        pytest.skip("PyTorch has no tensors of strings.")
    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(y))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    return {"x": loader, "shuffle": False}


SOURCES = [arrays, py_dataset, generator, tf_data, data_loader]


# The base model.


class Subclassed(keras.Model):
    def call(self, inputs):
        return inputs


def frozen():
    model = base()
    model.trainable = False
    return model


@pytest.mark.parametrize(
    "make, message",
    [
        (Subclassed, "subclassed model `Subclassed`.*two inputs, `network"),
        (
            lambda: keras.Sequential(
                [keras.Input((3,)), keras.layers.Rescaling(2.0)]
            ),
            "none of its layers mixes features.*Received: .*'rescaling",
        ),
        (frozen, "all layers that could take the prior are frozen.*Received"),
        (
            lambda: kz.widen_model(base(), "one_hot"),
            "already widened.*Received: base=.*the model it was made from",
        ),
        (classifier, "already widened.*Received: base=.*the model it was"),
        (
            lambda: keras.Sequential([keras.layers.Dense(3)]),
            "no known input shape.*`keras.Input.*Received: the unbuilt",
        ),
        (lambda: "a name", "must be a `keras.Model`.*Received: base='a name'"),
    ],
)
def test_base_that_cannot_be_widened(make, message):
    made = make()
    with pytest.raises(ValueError, match=message):
        kz.ZigZagModel.from_model(made, task="classification")
    with pytest.raises(ValueError, match=message):
        kz.widen_model(made, "one_hot")


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"layer": "last"}, "no layer 'last'.*Received: .*'first'"),
        ({"passes": "three"}, r"\['both', 'sampled'\].*Received: passes='thr"),
        ({"passes": None}, "Received: passes=None"),
        ({"distance": "l3"}, "'jensen_shannon'.*Received: distance='l3'"),
        ({"num_passes": 1}, "2 or more.*Received: num_passes=1"),
        ({"num_passes": 2.0}, "integer.*Received: num_passes=2.0"),
        ({"num_passes": True}, "Received: num_passes=True"),
        ({"feedback": "soft"}, r"Received: \['feedback'\].*OneHotPrior\(fee"),
        ({"pases": "both"}, r"'passes'.*Received: \['pases'\]"),
    ],
)
def test_unknown_names_and_numbers(kwargs, message):
    with pytest.raises(ValueError, match=message):
        classifier(**kwargs)


def test_ordinary_model_in_the_place_of_a_network():
    base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="Received: prior=None.*from_model"):
        kz.ZigZagModel(base)


def test_unknown_feedback():
    with pytest.raises(ValueError, match="'hard'.*'soft'.*Received: .*'maybe'"):
        kz.priors.OneHotPrior(feedback="maybe")


# Targets.


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "y, message",
    [
        (LABELS + 1, "lie in 0…2.*Received: y with the label 3"),
        (LABELS - 1, "Received: y with the label -1"),
        (LABELS + 0.5, "whole numbers.*Received: .* 0.5"),
        (np.where(LABELS == 1, np.nan, LABELS), r"Received: y\[1\] contains n"),
        (np.zeros((12, 2)), r"\(N,\) or .*\(N, 3\).*Received: y of shape"),
        (np.array(["a", "b", "c"] * 4), "must be numbers.*Received: y with"),
    ],
    ids=["high", "negative", "fraction", "nan", "shape", "string"],
)
def test_bad_labels(untrained, source, y, message):
    model = untrained
    with pytest.raises(ValueError, match=message):
        model.fit(**source(y), verbose=0)
    if source is not generator:
        with pytest.raises(ValueError, match="In `validation_data`: .*Receiv"):
            validation = source(y)
            if "y" in validation:
                validation = {"x": (X, y)}
            model.fit(X, LABELS, validation_data=validation["x"], verbose=0)
    with pytest.raises(ValueError, match=message):
        model.train_on_batch(X, y)


@pytest.mark.parametrize("source", SOURCES)
def test_good_labels(source):
    history = classifier().fit(**source(LABELS), epochs=1, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_every_batch_of_a_generator_is_trained_on():
    seen = []

    class Seen(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(batch)

    batches = Batches(LABELS)
    data = (batches[index] for index in range(3))
    validation = (batches[index] for index in range(3))
    classifier().fit(
        data,
        steps_per_epoch=3,
        validation_data=validation,
        validation_steps=3,
        callbacks=[Seen()],
        shuffle=False,
        verbose=0,
    )
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("source", SOURCES)
def test_values_without_adapt(source):
    y = np.random.rand(12).astype("float32")
    with pytest.raises(ValueError, match="`model.adapt.*Received: .*not adapt"):
        regressor().fit(**source(y), verbose=0)
    model = regressor()
    with pytest.raises(ValueError, match="`model.adapt"):
        model.train_on_batch(X, y)
    model.adapt(y)
    model.fit(**source(y), verbose=0)


def test_adapt_without_need(untrained):
    with pytest.raises(ValueError, match="Received: `adapt` on a `OneHot"):
        untrained.adapt(LABELS)


def test_no_targets(untrained):
    model = untrained
    message = "needs targets.*Received: y=None.*`fit.x, y.`"
    with pytest.raises(ValueError, match=message):
        model.fit(X, verbose=0)
    with pytest.raises(ValueError, match=message):
        model.train_on_batch(X)
    with pytest.raises(ValueError, match=message):
        model.fit((X[:4] for _ in range(3)), steps_per_epoch=3, verbose=0)


@pytest.mark.parametrize(
    "dtype, shape", [("uint8", (12,)), ("float64", (12, 1))]
)
def test_labels_of_every_kind(dtype, shape):
    losses = []
    for y in (LABELS, LABELS.astype(dtype).reshape(shape)):
        keras.utils.set_random_seed(0)
        losses.append(classifier(seed=0).train_on_batch(X, y))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)


class Table:
    """A stand-in for a table of pandas: rows, a shape and `__array__`."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, rows):
        return self.values[rows]


def test_tables():
    model = classifier()
    model.fit(Table(X), Table(LABELS), verbose=0)
    out = model.predict(Table(X), verbose=0)
    np.testing.assert_allclose(
        out["uncertainty"], model.predict(X, verbose=0)["uncertainty"]
    )
    with pytest.raises(ValueError, match="Received: y with the label 3"):
        model.fit(Table(X), Table(LABELS + 1), verbose=0)


def test_pandas():
    pandas = pytest.importorskip("pandas")
    model = classifier()
    model.fit(pandas.DataFrame(X), pandas.Series(LABELS), verbose=0)
    with pytest.raises(ValueError, match="Received: y with the label 3"):
        model.fit(pandas.DataFrame(X), pandas.Series(LABELS + 1), verbose=0)


def test_lists_are_refused_as_keras_refuses_them():
    with pytest.raises(ValueError, match="Unrecognized data type"):
        classifier().fit(X.tolist(), LABELS.tolist(), verbose=0)


@pytest.mark.backend("tensorflow")
def test_ragged_targets():
    import tensorflow as tf

    ragged = tf.ragged.constant([[1]] * 11 + [[1, 2]])
    with pytest.raises(ValueError, match="Received: y of shape .12, 2."):
        classifier().fit(X, ragged, verbose=0)


def test_sample_weights_in_a_data_set():
    batches = Batches(LABELS)
    weights = np.ones(4)
    data = ((*batches[index], weights) for index in range(3))
    classifier().fit(data, steps_per_epoch=3, shuffle=False, verbose=0)
    data = ((X[:4], LABELS[:4] + 1, weights) for _ in range(3))
    with pytest.raises(ValueError, match="Received: y with the label 3"):
        classifier().fit(data, steps_per_epoch=3, verbose=0)


def several_outputs():
    inputs = keras.Input((4,))
    outputs = [
        keras.layers.Dense(3, activation="softmax", name="kind")(inputs),
        keras.layers.Dense(1, activation="sigmoid", name="flag")(inputs),
    ]
    model = kz.ZigZagModel.from_model(
        keras.Model(inputs, outputs), task=["classification", "binary"]
    )
    model.compile("adam", ["sparse_categorical_crossentropy", "bce"])
    return model


def test_wrong_number_of_targets():
    model, flags = several_outputs(), LABELS % 2
    model.fit(X, [LABELS, flags], verbose=0)
    model.fit(X, {"kind": LABELS, "flag": flags}, verbose=0)
    for y in ([LABELS], [LABELS, flags, flags], LABELS):
        with pytest.raises(
            ValueError, match="2 outputs. Received: .*one entry per"
        ):
            model.fit(X, y, verbose=0)
    with pytest.raises(ValueError, match="'flag', 'kind'.*Received: .'kind'"):
        model.fit(X, {"kind": LABELS}, verbose=0)
    with pytest.raises(ValueError, match="Received: y with the label 3"):
        model.fit(X, [LABELS + 1, flags], verbose=0)
    with pytest.raises(ValueError, match="one output. Received: a list of 2"):
        classifier().fit(X, [LABELS, LABELS], verbose=0)


# Inputs.


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
def test_empty_arrays(untrained, method):
    model = untrained
    args = (X[:0],) if method == "predict" else (X[:0], LABELS[:0])
    with pytest.raises(ValueError, match=r"no samples. Received: .*\(0, 4\)"):
        getattr(model, method)(*args, verbose=0)
    with pytest.raises(ValueError, match="no samples"):
        model.predict_on_batch(X[:0])
    with pytest.raises(ValueError, match="no samples"):
        model.train_on_batch(X[:0], LABELS[:0])


def test_images_of_every_kind():
    images = np.random.randint(0, 255, (6, 8, 8, 1))
    network = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv2D(3, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    model = kz.ZigZagModel.from_model(network, task="classification")
    model.compile("adam", "sparse_categorical_crossentropy")
    labels = LABELS[:6]
    for weight in model.network.weights:
        weight.assign(np.random.randn(*weight.shape))
    expected = model.predict(images.astype("float32"), verbose=0)
    assert np.ptp(expected["uncertainty"]) > 0
    for dtype in ("float64", "int32", "int64", "uint8"):
        for found in (
            model.predict(images.astype(dtype), verbose=0),
            model.predict_on_batch(images.astype(dtype)),
        ):
            for key, value in expected.items():
                np.testing.assert_allclose(
                    found[key], value, rtol=1e-5, atol=1e-6
                )
    for dtype in ("float64", "uint8"):
        model.fit(images.astype(dtype), labels, verbose=0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_input_that_is_not_finite(value):
    model = toys.randomise(classifier())
    assert np.ptp(model.predict(X, verbose=0)["uncertainty"]) > 0
    x = X.copy()
    x[3, 1] = value
    expected = model.predict(X, verbose=0)
    found = model.predict(x, verbose=0)
    assert np.isnan(found["uncertainty"][3])
    for key in expected:
        np.testing.assert_allclose(
            np.delete(found[key], 3, axis=0),
            np.delete(expected[key], 3, axis=0),
            rtol=1e-5,
            atol=1e-6,
        )


# Files.


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    model = classifier()
    model.train_on_batch(X, LABELS)
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("damage", ["truncated", "empty", "overwritten"])
def test_damaged_file(saved, tmp_path, damage):
    path = tmp_path / "damaged.keras"
    path.write_bytes(
        {
            "truncated": saved[: len(saved) // 2],
            "empty": b"",
            "overwritten": b"\0" * len(saved),
        }[damage]
    )
    with pytest.raises(ValueError, match=re.escape(str(path))):
        keras.saving.load_model(path)


def test_file_with_a_flipped_bit(saved, tmp_path):
    path = tmp_path / "damaged.keras"
    flipped = bytearray(saved)
    flipped[saved.index(b"class_name")] ^= 1
    path.write_bytes(bytes(flipped))
    with pytest.raises(Exception, match="Bad CRC-32 for file 'config.json'"):
        keras.saving.load_model(path)


def test_loads_in_safe_mode(saved, tmp_path):
    path = tmp_path / "model.keras"
    path.write_bytes(saved)
    model = keras.saving.load_model(path, safe_mode=True)
    assert isinstance(model, kz.ZigZagModel)


def test_base_that_is_unsafe_is_not_loaded_unasked(tmp_path):
    path = tmp_path / "unsafe.keras"
    unsafe = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Lambda(lambda x: x * 2, output_shape=(4,)),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    kz.ZigZagModel.from_model(unsafe, task="classification").save(path)
    with pytest.raises(ValueError, match="[Ll]ambda.*safe_mode"):
        keras.saving.load_model(path, safe_mode=True)


def test_prediction_of_a_tensor():
    model = toys.randomise(classifier())
    assert np.ptp(model.predict(X, verbose=0)["uncertainty"]) > 0
    found = model.call_with_uncertainty(ops.convert_to_tensor(X))
    np.testing.assert_allclose(
        ops.convert_to_numpy(found["uncertainty"]),
        model.predict(X, verbose=0)["uncertainty"],
        atol=1e-6,
    )
