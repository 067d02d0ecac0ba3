import numpy as np
import pytest
from graph_batches import pad_graphs
from graph_layers import (
    GMMConv,
    GraphNorm,
    TransformerConv,
)

from tests.examples.aero.graphs import (
    NUM_FEATURES,
    build_model,
    call,
    call_conv,
    mixed_batch,
    random_graph,
    randomise,
)

CONVOLUTIONS = [GMMConv, TransformerConv]


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_network_on_graphs_of_mixed_sizes(make):
    graphs, batch = mixed_batch(num_nodes=8, num_edges=20)
    model = build_model(make(4))
    together = model.predict_on_batch(batch)
    for index, graph in enumerate(graphs):
        alone = pad_graphs(*zip(graph, strict=True))
        np.testing.assert_allclose(
            model.predict_on_batch(alone)[0],
            together[index],
            rtol=1e-4,
            atol=1e-5,
        )


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_order_of_nodes_does_not_matter(make):
    features, edges = random_graph(6, 15)
    nodes = np.random.default_rng(1).permutation(6)
    moved = features[nodes], np.argsort(nodes)[edges]
    batch = pad_graphs(*zip((features, edges), moved, strict=True))
    outputs = build_model(make(4)).predict_on_batch(batch)
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", CONVOLUTIONS)
@pytest.mark.parametrize("degree", [None, 2])
def test_nan_stays_in_its_graph(make, degree):
    layer = make(4, degree=degree)
    _, batch = mixed_batch(degree)
    randomise(layer, batch)
    expected = call_conv(layer, batch)
    batch["features"][0, 2] = np.nan
    outputs = call_conv(layer, batch)
    assert np.isnan(outputs[0, 2]).all()
    np.testing.assert_array_equal(outputs[1:], expected[1:])


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_nan_at_padding_counts_nowhere(make):
    layer = make(4, degree=2)
    _, batch = mixed_batch(degree=2)
    randomise(layer, batch)
    expected = call_conv(layer, batch)
    batch["features"][~batch["node_mask"]] = np.nan
    np.testing.assert_array_equal(call_conv(layer, batch), expected)


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_edges_that_lead_nowhere(make):
    layer = make(4, degree=2)
    _, batch = mixed_batch(degree=2)
    randomise(layer, batch)
    expected = call_conv(layer, batch)
    # Out of the graph, and in the block of another node.
    batch["edges"][1, 0] = 5, 0
    batch["edges"][1, 4] = 1, 0
    outputs = call_conv(layer, batch)
    assert np.isnan(outputs[1, [0, 2]]).all()
    outputs[1, [0, 2]] = expected[1, [0, 2]]
    np.testing.assert_array_equal(outputs, expected)


# Of the last graph, which has two nodes, in a batch with room for seven.
@pytest.mark.parametrize("make", CONVOLUTIONS)
@pytest.mark.parametrize("degree", [None, 2])
@pytest.mark.parametrize(
    "rows, node",
    [
        ([(1, 9), (-1, -1)], 1),
        ([(1, 7), (1, 9)], 1),
        ([(8, 9), (-1, -1)], 0),
        ([(-1, 9), (9, -1)], None),
    ],
)
def test_edges_to_no_node(make, degree, rows, node):
    layer = make(4, degree=degree)
    _, batch = mixed_batch(degree, num_nodes=7, num_edges=20)
    randomise(layer, batch)
    expected = call_conv(layer, batch)
    batch["edges"][2, -2:] = rows
    outputs = call_conv(layer, batch)
    if node is not None:
        assert np.isnan(outputs[2, node]).all()
        outputs[2, node] = expected[2, node]
    np.testing.assert_array_equal(outputs, expected)


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_block_with_an_edge_to_no_node(make):
    layer = make(4, degree=2)
    _, batch = mixed_batch(degree=2, num_nodes=7, num_edges=20)
    randomise(layer, batch)
    expected = call_conv(layer, batch)
    # The other edge names the target of the block.
    batch["edges"][2, -2:] = (1, 9), (1, 0)
    outputs = call_conv(layer, batch)
    assert np.isnan(outputs[2, 0]).all()
    outputs[2, 0] = expected[2, 0]
    np.testing.assert_array_equal(outputs, expected)


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_node_without_edges_reads_itself(make):
    layer = make(4)
    _, batch = mixed_batch()
    randomise(layer, batch)
    before = call_conv(layer, batch)[2]
    batch["features"][2, 0] = 7
    after = call_conv(layer, batch)[2]
    assert np.isfinite(after).all() and (before[0] != after[0]).any()
    np.testing.assert_array_equal(after[1], before[1])


def test_norm_keeps_nan_in_its_graph():
    features = np.random.default_rng(0).normal(size=(3, 4, 2))
    features[1, 2] = np.nan
    mask = np.array([[False] * 4, [True] * 4, [True] * 4])
    layer = GraphNorm()
    layer.build(features.shape)
    outputs = call(layer, features.astype("float32"), mask)
    assert np.isnan(outputs[1]).all()
    assert np.isfinite(outputs[[0, 2]]).all()


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_training_beside_padding_and_empty_graphs(make):
    _, batch = mixed_batch(num_nodes=6)
    # As if all nodes of one graph were gone, and with junk at padding.
    batch["node_mask"][1] = False
    batch["edges"][1] = -1
    batch["features"][~batch["node_mask"]] = np.nan
    model = build_model(make(4))
    model.compile("sgd", "mse")
    loss = model.train_on_batch(batch, np.ones((3, 1)))
    assert np.isfinite(loss)
    for weight in model.get_weights():
        assert np.isfinite(weight).all()
    assert batch["features"].shape[2] == NUM_FEATURES
