"""Graphs without nodes are not given values that look like others."""

import keras
import numpy as np
import pytest
from graph_layers import GlobalMaxPooling, GlobalMeanPooling, GraphNorm

from keras_zigzag import MaskPlaces, ZigZagModel
from tests.examples.aero.graphs import call

LAYERS = [GlobalMaxPooling(), GlobalMeanPooling()]


def three_graphs():
    """Features, and a mask with which the first graph has no nodes."""
    features = np.random.default_rng(0).normal(size=(3, 4, 2))
    mask = np.array([[False] * 4, [True] * 4, [True] * 3 + [False]])
    return features.astype("float32"), mask


@pytest.mark.parametrize("layer", LAYERS)
def test_of_no_nodes_and_of_nan(layer):
    features, mask = three_graphs()
    features[1, 2] = features[2, 3] = np.nan
    outputs = call(layer, features, mask)
    assert np.isnan(outputs[:2]).all()
    assert np.isfinite(outputs[2]).all()


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("mask", [None, np.zeros((2, 0), "bool")])
def test_batch_without_nodes(layer, mask):
    features = np.zeros((2, 0, 3), "float32")
    outputs = call(layer, features, mask)
    assert outputs.shape == (2, 3) and np.isnan(outputs).all()
    in_training = layer(features, mask=mask, training=True)
    assert (keras.ops.convert_to_numpy(in_training) == 0).all()


def build_model(masked=True):
    """A network of one number a graph."""
    features = keras.Input((None, 2))
    node_mask = keras.Input((None,), dtype="bool")
    inputs = [features, node_mask] if masked else features
    x = MaskPlaces()(inputs) if masked else features
    x = GraphNorm()(x)
    x = keras.layers.Concatenate()([layer(x) for layer in LAYERS])
    return keras.Model(inputs, keras.layers.Dense(1)(x))


# PyTorch takes long, and needs a compiler of C++.
@pytest.mark.backend("tensorflow", "jax")
def test_compiled():
    features, mask = three_graphs()
    model = build_model()
    model.compile("sgd", "mse", jit_compile=True)
    outputs = model.predict([features, mask], verbose=0)
    assert np.isnan(outputs[0]) and np.isfinite(outputs[1:]).all()
    empty = model.predict([features[:, :0], mask[:, :0]], verbose=0)
    assert np.isnan(empty).all()
    model.train_on_batch([features, mask], np.ones((3, 1)))
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


@pytest.mark.parametrize("masked", [True, False])
def test_training_without_nodes(masked):
    features, mask = (array[:, :0] for array in three_graphs())
    model = build_model(masked)
    model.compile("sgd", "mse")
    inputs = [features, mask] if masked else features
    assert np.isfinite(model.train_on_batch(inputs, np.ones((3, 1))))
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_uncertainty_of_a_graph_without_nodes():
    features, mask = three_graphs()
    model = ZigZagModel.from_model(build_model(), task="regression")
    model.adapt(np.ones((3, 1)))
    model.compile("sgd", "mse")
    model.fit([features, mask], np.ones((3, 1)), verbose=0)
    out = model.predict([features, mask], verbose=0)
    for values in (out["prediction"][:, 0], out["uncertainty"]):
        assert np.isnan(values).tolist() == [True, False, False]
