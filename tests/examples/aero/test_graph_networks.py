import functools

import keras
import numpy as np
import pytest
from graph_layers import GMMConv, TransformerConv

from keras_zigzag import MaskPlaces
from tests.examples.aero.graphs import build_model, mixed_batch

pytestmark = pytest.mark.first_quick_on("tensorflow", "jax")
CONVOLUTIONS = [
    functools.partial(GMMConv, 4),
    functools.partial(TransformerConv, 2, num_heads=2, beta=True),
]
SIZES = {"num_nodes": 6, "num_edges": 20}


def make_batch(degree):
    _, batch = mixed_batch(degree, **SIZES)
    return batch, np.array([[1.0], [-1.0], [0.5]], "float32")


@pytest.mark.parametrize("make", CONVOLUTIONS)
@pytest.mark.parametrize("degree", [None, 2])
def test_learns(make, degree):
    batch, targets = make_batch(degree)
    model = build_model(make(degree=degree))
    before = model.get_weights()
    model.compile(keras.optimizers.Adam(0.02), "mse")
    losses = [model.train_on_batch(batch, targets) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    for old, weight in zip(before, model.weights, strict=True):
        assert (old != keras.ops.convert_to_numpy(weight)).any(), weight.path


# JAX compiles all the same. PyTorch takes long, and needs a compiler of C++.
@pytest.mark.slow_but_on("tensorflow")
@pytest.mark.parametrize("make", CONVOLUTIONS)
@pytest.mark.parametrize("degree", [None, 2])
def test_compiled_as_not_compiled(make, degree):
    batch, targets = make_batch(degree)
    model = build_model(make(degree=degree), **SIZES)
    weights = model.get_weights()
    trained = []
    for jit_compile in (False, True):
        model.set_weights(weights)
        model.compile("sgd", "mse", jit_compile=jit_compile)
        losses = [model.train_on_batch(batch, targets) for _ in range(3)]
        trained.append([*losses, *model.get_weights()])
    for plain, compiled in zip(*trained, strict=True):
        np.testing.assert_allclose(plain, compiled, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("make", CONVOLUTIONS)
@pytest.mark.parametrize(
    "policy", ["mixed_bfloat16", "mixed_float16", "float16", "bfloat16"]
)
def test_mixed_precision(make, policy):
    batch, targets = make_batch(2)
    full = build_model(make(degree=2))
    keras.config.set_dtype_policy(policy)
    try:
        mixed = build_model(make(degree=2))
    finally:
        keras.config.set_dtype_policy("float32")
    mixed.set_weights(full.get_weights())
    outputs = mixed.predict_on_batch(batch)
    assert outputs.dtype == np.float32
    np.testing.assert_allclose(outputs, full.predict_on_batch(batch), atol=0.1)
    mixed.compile("sgd", "mse")
    assert np.isfinite(mixed.train_on_batch(batch, targets))


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_saved(make, tmp_path):
    batch, _ = make_batch(2)
    model = build_model(make(degree=2))
    model.save(tmp_path / "graphs.keras")
    restored = keras.saving.load_model(tmp_path / "graphs.keras")
    np.testing.assert_array_equal(
        restored.predict_on_batch(batch), model.predict_on_batch(batch)
    )


def test_mask_reaches_the_loss():
    batch, _ = make_batch(None)
    features = keras.Input((None, 3))
    node_mask = keras.Input((None,), dtype="bool")
    edges = keras.Input((None, 2), dtype="int32")
    x = MaskPlaces()([features, node_mask])
    x = keras.layers.Dense(4, "relu")(x)
    outputs = keras.layers.Dense(1)(TransformerConv(4)([x, edges]))
    model = keras.Model([features, edges, node_mask], outputs)
    model.compile("sgd", "mse")
    inputs = [batch["features"], batch["edges"], batch["node_mask"]]
    targets = np.where(batch["node_mask"], 1.0, 1e6)[..., None]
    mask = batch["node_mask"]
    errors = (model.predict_on_batch(inputs) - targets)[mask]
    loss = model.evaluate(inputs, targets, verbose=0)
    np.testing.assert_allclose(loss, (errors**2).mean(), rtol=1e-4)
