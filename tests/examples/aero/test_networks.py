"""The networks of the aerodynamic experiments."""

import keras
import numpy as np
import pytest
from meshes import in_blocks, mesh_edges, ring_edges
from networks import FixedEdges, Graph, Size, node_network, value_network

SIZE = Size(layers=3, filters=8, widths=(8,))
NETWORKS = (value_network, node_network)


def ring(num_nodes=6, order=None):
    edges = ring_edges(num_nodes)
    if order is not None:
        # Node `i` stands where `order` has it.
        places = np.argsort(order)
        edges = in_blocks(places[edges].astype("int32"), num_nodes, 2)
    return Graph(num_nodes, 2, 2, edges, 2, 1.0)


def shapes(num_nodes=6, count=4):
    generator = np.random.default_rng(0)
    return generator.normal(size=(count, num_nodes, 2)).astype("float32")


@pytest.mark.parametrize(
    ("network", "shape"), [(value_network, (4, 1)), (node_network, (4, 6, 1))]
)
def test_shapes_of_the_answers(network, shape):
    model = network(ring(), SIZE)
    assert model.predict(shapes(), verbose=0).shape == shape
    names = [type(layer).__name__ for layer in model.layers]
    kind = {value_network: "GMMConv", node_network: "TransformerConv"}[network]
    assert names.count(kind) == SIZE.layers
    assert names.count("Add") == SIZE.layers - 1


@pytest.mark.parametrize("network", NETWORKS)
def test_numbering_of_the_nodes_does_not_matter(network):
    order = np.array([3, 0, 5, 1, 4, 2])
    model, other = network(ring(), SIZE), network(ring(order=order), SIZE)
    other.set_weights(model.get_weights())
    x = shapes()
    expected = model.predict(x, verbose=0)
    if network is node_network:
        expected = expected[:, order]
    np.testing.assert_allclose(
        other.predict(x[:, order], verbose=0), expected, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("network", NETWORKS)
def test_saved_networks_answer_alike(network, tmp_path):
    model = network(ring(), SIZE)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        loaded.predict(shapes(), verbose=0),
        model.predict(shapes(), verbose=0),
        rtol=1e-6,
    )


def test_many_layers_keep_the_size_of_the_features():
    keras.utils.set_random_seed(0)
    model = value_network(ring(), Size(25, 16, (16,)))
    assert np.abs(model.predict(shapes(count=32), verbose=0)).mean() < 10


def test_edges_are_those_of_each_graph():
    edges = mesh_edges([[0, 1, 2]])
    out = FixedEdges(edges)(np.zeros((2, 3, 1), "float32"))
    assert keras.ops.convert_to_numpy(out).tolist() == [edges.tolist()] * 2
