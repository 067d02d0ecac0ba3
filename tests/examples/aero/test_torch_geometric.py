"""The layers beside those of torch-geometric, with the same weights."""

import numpy as np
import pytest
from graph_layers import GMMConv, GraphNorm, TransformerConv

from tests.examples.aero.graphs import (
    NUM_DIMS,
    NUM_FEATURES,
    as_array,
    build,
    call,
    call_conv,
    edge_values,
    mixed_batch,
    randomise,
)

pytestmark = pytest.mark.backend("torch")


@pytest.fixture
def peers():
    return pytest.importorskip("torch_geometric.nn")


def weights_of(layer):
    """Tensors for PyTorch by name; kernels are the other way round there."""
    import torch

    return {
        weight.name: torch.tensor(as_array(weight.value).T)
        for weight in layer.weights
    }


def assert_as_peer(outputs, peer, graphs):
    import torch

    for output, (features, edges) in zip(outputs, graphs, strict=True):
        index = torch.tensor(edges.T.reshape(2, -1))
        values = torch.tensor(edge_values(edges))
        expected = peer(torch.tensor(features), index, values)
        np.testing.assert_allclose(
            output[: len(features)],
            expected.detach().numpy(),
            rtol=1e-3,
            atol=1e-4,
        )


@pytest.mark.parametrize("degree", [None, 2])
def test_gmm_conv(peers, degree):
    graphs, batch = mixed_batch(degree)
    layer = GMMConv(4, 3, degree=degree)
    randomise(layer, batch)
    weights = weights_of(layer)
    peer = peers.GMMConv(NUM_FEATURES, 4, NUM_DIMS, 3)
    peer.load_state_dict(
        {
            "g": weights["kernel"].permute(1, 2, 0).reshape(NUM_FEATURES, -1),
            "mu": weights["means"].T,
            "sigma": weights["deviations"].T,
            "root.weight": weights["root_kernel"],
            "bias": weights["bias"],
        }
    )
    assert_as_peer(call_conv(layer, batch), peer, graphs)


@pytest.mark.parametrize("degree", [None, 2])
@pytest.mark.parametrize("concat", [True, False])
def test_transformer_conv(peers, degree, concat):
    graphs, batch = mixed_batch(degree)
    layer = TransformerConv(4, 2, concat=concat, beta=True, degree=degree)
    build(layer, batch)
    randomise(layer)
    weights = weights_of(layer)
    peer = peers.TransformerConv(
        NUM_FEATURES, 4, 2, concat=concat, beta=True, edge_dim=NUM_DIMS
    )
    state = {
        f"lin_{name}.{kind}": weights[f"{name}_{ours}"]
        for name in ("query", "key", "value", "skip")
        for kind, ours in (("weight", "kernel"), ("bias", "bias"))
    }
    state["lin_edge.weight"] = weights["edge_kernel"]
    state["lin_beta.weight"] = weights["gate"]
    peer.load_state_dict(state)
    assert_as_peer(call_conv(layer, batch), peer, graphs)


def test_graph_norm(peers):
    import torch

    graphs, batch = mixed_batch()
    layer = GraphNorm()
    layer.build(batch["features"].shape)
    randomise(layer)
    weights = weights_of(layer)
    peer = peers.GraphNorm(NUM_FEATURES)
    peer.load_state_dict(
        {
            "weight": weights["scale"],
            "bias": weights["offset"],
            "mean_scale": weights["mean_scale"],
        }
    )
    mask = batch["node_mask"]
    members = torch.tensor(np.nonzero(mask)[0])
    expected = peer(torch.tensor(batch["features"][mask]), members)
    outputs = call(layer, batch["features"], mask)[mask]
    np.testing.assert_allclose(
        outputs, expected.detach().numpy(), rtol=1e-3, atol=1e-4
    )
