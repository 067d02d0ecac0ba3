import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
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


def trained(passes="both", size=22, **kwargs):
    """Weights and answers after three epochs on a partial last batch."""
    keras.utils.set_random_seed(0)
    model = randomise(classifier(passes=passes, seed=0))
    model.compile("adam", "sparse_categorical_crossentropy", **kwargs)
    x, y = class_data(size)
    model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0)
    out = model.predict(x, batch_size=8, verbose=0)
    return weights_of(model), out


def assert_same(one, two):
    for left, right in zip(
        keras.tree.flatten(one), keras.tree.flatten(two), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


@pytest.mark.slow_but_on("tensorflow", "torch")
@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_ways_to_run_a_step_agree(passes):
    expected = trained(passes)
    assert_same(trained(passes, run_eagerly=True), expected)
    # Keras refuses it on PyTorch.
    if keras.backend.backend() != "torch":
        assert_same(trained(passes, steps_per_execution=4), expected)


@pytest.mark.backend("tensorflow", "jax")
@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_compiled_steps(passes):
    # XLA on TensorFlow draws other numbers from the same seed.
    same = passes == "both" or keras.backend.backend() == "jax"
    compiled = trained(passes, jit_compile=True)
    assert np.isfinite(compiled[1]["uncertainty"]).all()
    if same:
        assert_same(compiled, trained(passes, jit_compile=False))


@pytest.mark.slow_but_on("tensorflow", "torch")
def test_a_single_sample_left_over():
    assert_same(
        trained("sampled", 17, run_eagerly=True), trained("sampled", 17)
    )


@pytest.mark.backend("tensorflow")
@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_mirrored_strategy(passes, two_replicas):
    x, y = value_data(24)

    def fitted():
        model = randomise(linear(passes=passes, seed=0))
        model.compile(keras.optimizers.SGD(0.05), "mse", metrics=["mae"])
        history = model.fit(
            x, y, batch_size=8, epochs=4, shuffle=False, verbose=0
        )
        return model, history.history, model.predict(x, verbose=0)

    _, single, out = fitted()
    with two_replicas.scope():
        model, mirrored, mirrored_out = fitted()
    if passes == "both":
        np.testing.assert_allclose(mirrored["loss"], single["loss"], rtol=1e-4)
        np.testing.assert_allclose(mirrored["mae"], single["mae"], rtol=1e-4)
        assert_same(mirrored_out, out)
    assert mirrored["loss"][-1] < mirrored["loss"][0]
    assert out["uncertainty"].shape == (24,)


@pytest.mark.backend("tensorflow")
def test_a_distributed_data_set(two_replicas):
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices(value_data(24)).batch(8)
    with two_replicas.scope():
        model = linear()
        model.compile("sgd", "mse")
        distributed = two_replicas.experimental_distribute_dataset(data)
        history = model.fit(distributed, shuffle=False, verbose=0)
    assert np.isfinite(history.history["loss"][0])


def image_model(dtype):
    with policy(dtype):
        base = keras.Sequential(
            [
                keras.Input((6, 6, 1)),
                keras.layers.Conv2D(4, 3, activation="relu"),
                keras.layers.BatchNormalization(),
                keras.layers.Flatten(),
                keras.layers.Dense(3),
                keras.layers.Softmax(dtype="float32"),
            ]
        )
        return kz.ZigZagModel.from_model(base, task="classification")


class policy:
    """Sets the dtype policy for a while."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.before = keras.config.dtype_policy()
        keras.config.set_dtype_policy(self.name)

    def __exit__(self, *_):
        keras.config.set_dtype_policy(self.before)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision(dtype):
    model = image_model(dtype)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["acc"])
    scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (dtype == "mixed_float16")
    assert model.network.layers[-1].compute_dtype == "float32"
    assert all(w.dtype == "float32" for w in model.trainable_weights)
    before = weights_of(model)
    x = np.random.default_rng(0).standard_normal((16, 6, 6, 1))
    y = np.arange(16) % 3
    losses = model.fit(x, y, epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert any(
        np.abs(a - b).max() > 0
        for a, b in zip(before, weights_of(model), strict=True)
    )
    out = model.predict(x, verbose=0)
    assert out["uncertainty"].dtype == "float32"
    assert np.isfinite(out["uncertainty"]).all()


def test_mixed_precision_takes_large_targets():
    with policy("mixed_float16"):
        base = keras.Sequential(
            [
                keras.Input((3,)),
                keras.layers.Dense(4, activation="relu"),
                keras.layers.Dense(1, dtype="float32"),
                keras.layers.Rescaling(1e6, 3e6, dtype="float32"),
            ]
        )
        model = randomise(kz.ZigZagModel.from_model(base, task="regression"))
    x, y = value_data(12, 1)
    model.adapt(1e6 * y + 3e6)
    first = ops.convert_to_numpy(model(x))
    mean, variance = (1e6 * y + 3e6).mean(), (1e6 * y).var()
    prior = ops.convert_to_numpy(model.prior.encode_prediction(first))
    np.testing.assert_allclose(
        prior[:, :1], (first - mean) / np.sqrt(variance), rtol=1e-3, atol=1e-3
    )
    second = ops.convert_to_numpy(
        model.network([ops.convert_to_tensor(x), ops.convert_to_tensor(prior)])
    )
    uncertainty = model.predict(x, verbose=0)["uncertainty"]
    np.testing.assert_allclose(
        uncertainty, np.abs(first - second)[:, 0], rtol=2e-2, atol=1e3
    )


class Counting(kz.ZigZagModel):
    """Counts how often its training step is traced."""

    num_traces = 0

    def training_batch(self, *args):
        self.num_traces += 1
        return super().training_batch(*args)


@pytest.mark.backend("tensorflow", "jax")
@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_a_second_fit_does_not_trace_again(passes):
    model = classifier()
    model = Counting(model.network, model.prior, passes=passes)
    model.compile("adam", "sparse_categorical_crossentropy")
    x, y = class_data(16)
    model.fit(x, y, batch_size=8, epochs=2, verbose=0)
    first = model.num_traces
    model.fit(x, y, batch_size=8, epochs=2, verbose=0)
    model.predict(x, verbose=0)
    model.evaluate(x, y, verbose=0)
    model.fit(x, y, batch_size=8, verbose=0)
    assert model.num_traces == first <= 2


def test_fit_after_fit_goes_on():
    model = randomise(classifier(passes="sampled", seed=0))
    other = randomise(classifier(passes="sampled", seed=0))
    x, y = class_data(16)
    for each in (model, other):
        each.compile("adam", "sparse_categorical_crossentropy")
    for _ in range(2):
        model.fit(x, y, batch_size=8, shuffle=False, verbose=0)
    other.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    assert not differ(model, other)
