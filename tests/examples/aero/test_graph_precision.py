"""Graph layers where the numbers, or the weights too, have half precision."""

import functools

import keras
import numpy as np
import pytest
from graph_layers import GMMConv, GraphNorm, TransformerConv
from keras import ops

from tests.examples.aero.graphs import call, call_conv, mixed_batch, randomise

POLICIES = ["float16", "bfloat16", "mixed_float16"]


def assert_weights(layer, in_float32, policy):
    """Only these weights have more digits than the policy says."""
    expected = {
        weight.name: "float32" if weight.name in in_float32 else policy
        for weight in layer.weights
    }
    found = {weight.name: weight.dtype for weight in layer.weights}
    assert found == expected


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "make, in_float32",
    [
        (functools.partial(GMMConv, 4, 3), {"means", "deviations"}),
        (functools.partial(TransformerConv, 4), ()),
    ],
)
def test_convolutions(make, in_float32, policy):
    _, batch = mixed_batch()
    full, half = make(), make(dtype=policy)
    randomise(full, batch)
    randomise(half, batch)
    np.testing.assert_allclose(
        call_conv(half, batch).astype("float32"),
        call_conv(full, batch),
        atol=0.1,
        rtol=0.05,
    )
    policy = keras.DTypePolicy(policy)
    assert_weights(half, in_float32, policy.variable_dtype)


@pytest.mark.parametrize("policy", POLICIES)
def test_norm(policy):
    _, batch = mixed_batch()
    # The square of the largest is infinite in float16.
    features = 200 * batch["features"]
    full, half = GraphNorm(), GraphNorm(dtype=policy)
    expected = call(full, features, batch["node_mask"])
    outputs = half(features, mask=ops.convert_to_tensor(batch["node_mask"]))
    policy = keras.DTypePolicy(policy)
    dtype = keras.backend.standardize_dtype(outputs.dtype)
    assert dtype == policy.compute_dtype
    outputs = ops.convert_to_numpy(ops.cast(outputs, "float32"))
    there = batch["node_mask"]
    np.testing.assert_allclose(outputs[there], expected[there], atol=0.03)
    names = {weight.name for weight in half.weights}
    assert_weights(half, names, policy.variable_dtype)
