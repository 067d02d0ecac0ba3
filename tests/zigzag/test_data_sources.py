import keras
import numpy as np
import pytest

from tests.zigzag.toys import (
    class_data,
    classifier,
    differ,
    linear,
    randomise,
    value_data,
    weights_of,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")

SIZE, BATCH_SIZE = 11, 4


def fitted(*data, passes="both", **kwargs):
    """Weights after two epochs on this data, in its order."""
    model = randomise(classifier(passes=passes, seed=0))
    model.compile(
        keras.optimizers.SGD(0.1),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    settings = {"epochs": 2, "shuffle": False, "verbose": 0}
    model.fit(*data, **{**settings, **kwargs})
    return model


def expected(passes="both"):
    return fitted(*class_data(SIZE), batch_size=BATCH_SIZE, passes=passes)


def batches(endless=False):
    x, y = class_data(SIZE)
    while True:
        for start in range(0, SIZE, BATCH_SIZE):
            part = slice(start, start + BATCH_SIZE)
            yield x[part], y[part]
        if not endless:
            return


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return -(-SIZE // BATCH_SIZE)

    def __getitem__(self, index):
        return list(batches())[index]


@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_generators(passes):
    model = fitted(batches(endless=True), steps_per_epoch=3, passes=passes)
    assert not differ(model, expected(passes))


def test_a_generator_that_ends():
    model = fitted(batches(), epochs=1, steps_per_epoch=3)
    assert differ(model, randomise(classifier()))
    model.evaluate(batches(), steps=3, verbose=0)
    out = model.predict(((x,) for x, _ in batches()), steps=3, verbose=0)
    assert out["uncertainty"].shape == (SIZE,)


@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_py_data_sets(passes):
    model = fitted(Batches(), passes=passes)
    assert not differ(model, expected(passes))
    assert model.predict(Batches(), verbose=0)["prediction"].shape == (SIZE, 3)


@pytest.mark.backend("tensorflow", "jax", "torch")
@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_tf_data(passes):
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensor_slices(class_data(SIZE))
    model = fitted(data.batch(BATCH_SIZE), passes=passes)
    assert not differ(model, expected(passes))
    model.evaluate(data.batch(BATCH_SIZE), verbose=0)
    out = model.predict(data.batch(BATCH_SIZE), verbose=0)
    np.testing.assert_allclose(
        out["uncertainty"],
        model.predict(class_data(SIZE)[0], verbose=0)["uncertainty"],
        rtol=1e-4,
        atol=1e-6,
    )


def streamed(generator):
    """A `tf.data.Dataset` whose batches have no known size."""
    tf = pytest.importorskip("tensorflow")
    signature = (
        tf.TensorSpec((None, 4), "float32"),
        tf.TensorSpec((None,), "int32"),
    )
    data = tf.data.Dataset.from_generator(generator, output_signature=signature)
    return data.apply(tf.data.experimental.assert_cardinality(3))


def test_tf_data_of_unknown_batch_size():
    assert not differ(fitted(streamed(batches)), expected())


def test_tf_data_without_an_end():
    model = fitted(streamed(batches).repeat(), steps_per_epoch=3)
    assert not differ(model, expected())


def test_one_batch_of_a_data_set_is_looked_at_before_training():
    seen = []

    def counted():
        for batch in batches():
            seen.append(1)
            yield batch

    data = streamed(counted)
    base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    counts = []
    for model in (base, classifier()):
        model.compile("sgd", "sparse_categorical_crossentropy")
        seen.clear()
        model.fit(data, shuffle=False, verbose=0)
        counts.append(len(seen))
    assert counts[1] - counts[0] <= 1


@pytest.mark.backend("torch")
@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_torch_data_loader(passes):
    import torch

    x, y = map(torch.from_numpy, class_data(SIZE))
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, y), batch_size=BATCH_SIZE
    )
    model = fitted(loader, passes=passes)
    assert not differ(model, expected(passes))
    out = model.predict(loader, verbose=0)
    assert out["uncertainty"].shape == (SIZE,)


def test_a_data_set_with_sample_weights():
    x, y = value_data(8)
    weights = np.arange(8.0).astype("float32")
    models = []
    for data in (
        {"x": x, "y": y, "sample_weight": weights, "batch_size": 8},
        {"x": one_batch(x, y, weights), "steps_per_epoch": 1},
    ):
        model = randomise(linear())
        model.compile(keras.optimizers.SGD(0.1), "mse")
        model.fit(**data, shuffle=False, verbose=0)
        models.append(model)
    assert not differ(*models)


def one_batch(*batch):
    yield batch


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8"])
def test_inputs_of_other_types(dtype):
    x, y = class_data(SIZE)
    x = np.abs(10 * x).astype(dtype)
    model = fitted(x, y)
    assert all(np.isfinite(weight).all() for weight in weights_of(model))
    out = model.predict(x, verbose=0)
    same = model.predict(x.astype("float32"), verbose=0)
    np.testing.assert_allclose(
        out["uncertainty"], same["uncertainty"], rtol=1e-4, atol=1e-6
    )


def test_a_validation_split():
    x, y = class_data(20)
    model = classifier()
    model.compile("sgd", "sparse_categorical_crossentropy")
    history = model.fit(x, y, validation_split=0.25, verbose=0).history
    assert np.isfinite(history["val_loss"][0])


@pytest.mark.parametrize(
    "y, message",
    [
        (np.array([0, 1, 3]), "0…2"),
        (np.array([0.0, 0.5, 1.0]), "whole numbers"),
        (np.array([0.0, np.nan, 1.0]), "finite"),
        (np.zeros((3, 2)), "shape"),
    ],
)
@pytest.mark.parametrize("source", ["array", "generator", "tf.data"])
def test_bad_targets_are_found_before_training(y, message, source):
    x = np.zeros((3, 4), "float32")
    model = classifier()
    model.compile("sgd", "sparse_categorical_crossentropy")
    if source == "array":
        data = (x, y)
    elif source == "generator":
        data = (one_batch(x, y),)
    else:
        tf = pytest.importorskip("tensorflow")
        data = (tf.data.Dataset.from_tensors((x, y)),)
    with pytest.raises(ValueError, match=message):
        model.fit(*data, shuffle=False, verbose=0)
