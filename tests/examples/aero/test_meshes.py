import numpy as np
import pytest
from graph_batches import pad_graphs
from meshes import (
    edge_length,
    in_blocks,
    in_degrees,
    mesh_edges,
    relative_coordinates,
    ring_edges,
)

from tests.examples.aero.graphs import random_graph

SQUARE = [[0, 1, 2], [0, 2, 3]]  # Two triangles.


def as_set(edges):
    return {tuple(edge) for edge in np.asarray(edges).tolist()}


def test_ring():
    edges = ring_edges(5)
    assert edges.dtype == np.int32
    assert edges.shape == (10, 2)
    assert (np.unique((edges[:, 0] - edges[:, 1]) % 5) == [1, 4]).all()
    np.testing.assert_array_equal(edges[:, 1], np.repeat(np.arange(5), 2))
    np.testing.assert_array_equal(in_blocks(edges, 5, 2), edges)


@pytest.mark.parametrize("num_nodes, num_edges", [(1, 0), (2, 2), (3, 6)])
def test_small_rings(num_nodes, num_edges):
    assert len(ring_edges(num_nodes)) == num_edges


def test_mesh():
    edges = mesh_edges(SQUARE, num_nodes=4)
    pairs = {(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)}
    assert as_set(edges) == pairs | {(b, a) for a, b in pairs}
    assert len(edges) == 10
    assert (np.diff(edges[:, 1]) >= 0).all()


def test_degenerate_triangles_and_isolated_vertices():
    edges = mesh_edges([[0, 1, 1], [2, 2, 2], [0, 1, 4]], num_nodes=6)
    assert as_set(edges) == {(0, 1), (1, 0), (0, 4), (4, 0), (1, 4), (4, 1)}
    np.testing.assert_array_equal(in_degrees(edges, 6), [2, 2, 0, 0, 2, 0])
    assert mesh_edges([]).shape == (0, 2)


@pytest.mark.parametrize("degree", [1, 2, 3, 50])
def test_blocks(degree):
    _, edges = random_graph(7, 30)
    rows = in_blocks(edges, 9, degree)
    assert len(rows) % degree == 0
    blocks = rows.reshape(-1, degree, 2)
    is_edge = rows[:, 0] >= 0
    assert sorted(rows[is_edge].tolist()) == sorted(edges.tolist())
    for block, pairs in enumerate(blocks):
        targets = set(pairs[pairs[:, 0] >= 0, 1].tolist())
        assert len(targets) <= 1
        if block < 9:
            assert targets <= {block}
        else:
            assert targets


def test_lengths():
    corners = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    edges = ring_edges(4)
    relative = relative_coordinates(corners, [[0, 1], [-1, -1]])
    np.testing.assert_array_equal(relative, [[-1, 0], [0, 0]])
    assert edge_length([corners, 3 * corners], [edges, edges]) == pytest.approx(
        5**0.5
    )


def test_pad_graphs():
    first, second = random_graph(4, 6), random_graph(2, 3, 1)
    batch = pad_graphs(*zip(first, second, strict=True))
    assert batch["features"].shape == (2, 4, 3)
    assert batch["features"].dtype == np.float32
    np.testing.assert_array_equal(batch["features"][1, :2], second[0])
    assert (batch["features"][1, 2:] == 0).all()
    np.testing.assert_array_equal(batch["edges"][0], first[1])
    assert (batch["edges"][1, 3:] == -1).all()
    assert batch["node_mask"].sum(axis=1).tolist() == [4, 2]


def test_pad_graphs_to_a_size():
    graph = random_graph(3, 4)
    batch = pad_graphs([graph[0]], [graph[1]], num_nodes=5, num_edges=9)
    assert batch["features"].shape == (1, 5, 3)
    assert batch["edges"].shape == (1, 9, 2)
    batch = pad_graphs([graph[0]], [[]], degree=2)
    assert (batch["edges"] == -1).all() and batch["edges"].shape == (1, 6, 2)


GOOD, EDGES = np.ones((3, 2)), [[0, 1]]
NAN = np.array([[0, 1], [0, np.nan], [0, 1]])


@pytest.mark.parametrize(
    "features, edges, sizes, message",
    [
        ([], [], {}, "at least one graph"),
        ([GOOD], [], {}, "edges for each"),
        ([GOOD, np.ones((0, 2))], [EDGES, []], {}, "graph 1.*at least one"),
        ([GOOD, np.ones((3, 4))], [EDGES] * 2, {}, "as many features"),
        ([GOOD, NAN], [EDGES] * 2, {}, "graph 1.*first at node 1"),
        ([GOOD], [[[0, 3]]], {}, "of 3 nodes.*row 0: \\[0, 3\\]"),
        ([GOOD], [[[0, -1]]], {}, "index from 0"),
        ([GOOD], [[[0.0, 1.0]]], {}, "integers"),
        ([GOOD], [[[0, 1, 2]]], {}, "shape \\(count, 2\\)"),
        ([GOOD], [EDGES], {"num_nodes": 2}, "num_nodes=2"),
        ([GOOD], [EDGES], {"num_edges": 0}, "num_edges=0"),
    ],
)
def test_bad_graphs(features, edges, sizes, message):
    with pytest.raises(ValueError, match=f"(?s){message}") as error:
        pad_graphs(features, edges, **sizes)
    assert "Received: " in str(error.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ring_edges(0),
        lambda: mesh_edges([[0, 1]]),
        lambda: mesh_edges([[0.0, 1.0, 2.0]]),
        lambda: mesh_edges([[0, 1, 4]], num_nodes=4),
        lambda: mesh_edges([[0, 1, -1]]),
        lambda: in_blocks([[0, 5]], 5, 2),
        lambda: edge_length([np.ones((3, 2))], [EDGES]),
        lambda: edge_length([NAN], [EDGES]),
        lambda: edge_length([], []),
    ],
)
def test_bad_meshes(call):
    with pytest.raises(ValueError, match="Received: "):
        call()
