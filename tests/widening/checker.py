"""The check that every architecture has to pass."""

import json
import tempfile
from pathlib import Path

import keras
import numpy as np
from keras import ops

import keras_zigzag as kz
from keras_zigzag.splitting import SplitNetwork


def check_widening(
    base,
    inputs,
    targets,
    task="classification",
    *,
    prior=None,
    layer=None,
    tolerance=1e-5,
    learning_rate=0.1,
):
    """Checks that a base model is widened as it should be.

    The widened network answers as the base model does, whatever the prior;
    after one step of training it does not; its two parts give what the whole
    gives; the base model is as it was; what was saved is what is loaded.

    Args:
        base: Keras model.
        inputs: What the base model takes, a few samples of it.
        targets: What its loss takes.
        task: See `ZigZagModel.from_model`. Defaults to `"classification"`.
        prior: See `ZigZagModel.from_model`. Defaults to `None`.
        layer: See `ZigZagModel.from_model`. Defaults to `None`.
        tolerance: Float. Largest difference, relative to the largest output.
            Defaults to `1e-5`.
        learning_rate: Float. Defaults to `0.1`.

    Returns:
        The `ZigZagModel`, trained for one step.
    """
    tensors = keras.tree.map_structure(as_tensor, inputs)
    before = snapshot(base, tensors)
    model = kz.ZigZagModel.from_model(
        base, task=task, prior=prior, layer=layer, seed=0
    )
    for one in all_priors(model.prior):
        if hasattr(one, "adapt") and not one.is_ready:
            model.adapt(targets)
    priors = example_priors(model.prior, targets)
    for name, example in priors.items():
        outputs = as_arrays(model.network([tensors, example], training=False))
        assert_close(outputs, before["outputs"], tolerance, name)

    train_one_step(model, inputs, targets, learning_rate)
    assert_prior_matters(model.network, tensors, priors)
    assert_parts_agree(model.network, tensors, priors["random"], tolerance)
    assert_unchanged(before, snapshot(base, tensors))
    assert_saved_and_loaded(model, inputs, tolerance)
    return model


def as_tensor(array):
    return array if ops.is_tensor(array) else ops.convert_to_tensor(array)


def as_arrays(tensors):
    return [
        np.asarray(ops.convert_to_numpy(ops.cast(tensor, "float32")))
        for tensor in keras.tree.flatten(tensors)
    ]


def snapshot(base, tensors):
    """Everything of a model that could have changed."""
    serialized = keras.saving.serialize_keras_object(base)
    return {
        "config": json.dumps(serialized, sort_keys=True, default=str),
        "weights": as_arrays(base.weights),
        "trainable": [weight.trainable for weight in base.weights],
        "outputs": as_arrays(base(tensors, training=False)),
    }


def all_priors(prior):
    return keras.tree.flatten(getattr(prior, "priors", prior))


def example_priors(prior, targets):
    """A blank prior, the answers, and two that mean nothing."""
    answer = prior.encode_targets(keras.tree.map_structure(as_tensor, targets))
    shape = tuple(answer.shape)
    noise = 3 * np.random.default_rng(0).standard_normal((2, *shape))
    return {
        "blank": ops.broadcast_to(prior.encode_blank(shape[0]), shape),
        "answer": answer,
        "random": as_tensor(noise[0].astype("float32")),
        "other": as_tensor(noise[1].astype("float32")),
    }


def train_one_step(model, inputs, targets, learning_rate):
    losses = keras.tree.map_structure(
        loss_of, getattr(model.prior, "priors", model.prior)
    )
    # Tracing costs more than a single step.
    model.compile(keras.optimizers.SGD(learning_rate), losses, run_eagerly=True)
    model.fit(inputs, targets, batch_size=64, epochs=1, verbose=0)


def loss_of(prior):
    if isinstance(prior, kz.priors.OneHotPrior):
        return keras.losses.SparseCategoricalCrossentropy(prior.from_logits)
    if isinstance(prior, kz.priors.BinaryPrior):
        return keras.losses.BinaryCrossentropy(prior.from_logits)
    return keras.losses.MeanSquaredError()


def assert_close(outputs, expected, tolerance, name=""):
    for one, other in zip(outputs, expected, strict=True):
        assert one.shape == other.shape
        # Padded places have no uncertainty.
        assert np.isfinite(other).any()
        scale = max(np.nanmax(np.abs(other)), 1e-3)
        np.testing.assert_allclose(
            one / scale, other / scale, rtol=0, atol=tolerance, err_msg=name
        )


def assert_prior_matters(network, tensors, priors):
    first, again, second = (
        as_arrays(network([tensors, priors[name]], training=False))
        for name in ("random", "random", "other")
    )
    for one, same, other in zip(first, again, second, strict=True):
        assert np.isfinite(one).all()
        noise = np.abs(one - same).max()
        difference = np.abs(one - other).max()
        assert difference > 10 * noise + 1e-7 * np.abs(one).max()


def assert_parts_agree(network, tensors, prior, tolerance):
    parts = SplitNetwork(network)
    features = parts.trunk(tensors, training=False)
    outputs = as_arrays(parts.head(features, prior, training=False))
    whole = as_arrays(network([tensors, prior], training=False))
    assert_close(outputs, whole, tolerance, "trunk and head")


def assert_unchanged(before, after):
    assert after["config"] == before["config"]
    assert after["trainable"] == before["trainable"]
    for name in ("weights", "outputs"):
        for one, other in zip(before[name], after[name], strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


def assert_saved_and_loaded(model, inputs, tolerance):
    expected = model.predict(inputs, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        model.save(path)
        loaded = keras.saving.load_model(path, safe_mode=True)
    outputs = loaded.predict(inputs, verbose=0)
    keras.tree.assert_same_structure(expected, outputs)
    assert_close(
        as_arrays(outputs), as_arrays(expected), tolerance, "saved and loaded"
    )
