"""Graphs of different sizes as arrays of one shape."""

import numpy as np
from meshes import (
    PADDING,
    as_indices,
    check_indices,
    check_num_nodes,
    in_blocks,
)


def pad_graphs(features, edges, degree=None, num_nodes=None, num_edges=None):
    """Pads graphs so that they share a batch.

    Args:
        features: List of floats of shape `(num_nodes, num_features)`, one
            entry a graph.
        edges: List of integers of shape `(num_edges, 2)`, pairs of source
            and target; an entry without rows is a graph without edges.
        degree: Integer. Rows of a block, to lay the edges out in blocks for
            layers with this `degree`. Defaults to `None`: as they are.
        num_nodes: Integer. Nodes of a padded graph. Defaults to `None`: those
            of the largest graph.
        num_edges: Integer. Rows of edges of a padded graph, those of blocks
            included. Defaults to `None`: as many as are needed.

    Returns:
        Dictionary of `features`, `(num_graphs, num_nodes, num_features)` in
        float32 and zero at padding; `edges`, `(num_graphs, num_edges, 2)` in
        int32 and -1 at padding; `node_mask`, `(num_graphs, num_nodes)`.

    Raises:
        ValueError: If there are no graphs, one has no nodes, other features
            than the first, NaN, or edges to nodes it does not have, or if
            one does not fit.

    Example:

    >>> batch = pad_graphs([np.ones((3, 1)), np.ones((2, 1))], [[[0, 1]], []])
    >>> batch["node_mask"].tolist()
    [[True, True, True], [True, True, False]]
    """
    features = [np.asarray(one, "float32") for one in features]
    edges = [as_indices("edges", one, 2) for one in edges]
    check_graphs(features, edges)
    sizes = [len(one) for one in features]
    num_nodes = room_for("nodes", sizes, num_nodes)
    if degree is not None:
        # Blocks of padded nodes stand before those that are behind.
        edges = [in_blocks(one, num_nodes, degree) for one in edges]
    num_edges = room_for("edges", [len(one) for one in edges], num_edges)
    return {
        "features": stacked(features, num_nodes, 0.0, "float32"),
        "edges": stacked(edges, num_edges, PADDING, "int32"),
        "node_mask": np.arange(num_nodes) < np.array(sizes)[:, None],
    }


def check_graphs(features, edges):
    """Raises a `ValueError` that names the first bad graph."""
    if not features or len(features) != len(edges):
        raise ValueError(
            "A batch needs at least one graph, and edges for each. Received: "
            f"{len(features)} arrays of features and {len(edges)} of edges."
        )
    for index, (nodes, pairs) in enumerate(zip(features, edges, strict=True)):
        try:
            check_features(nodes, features[0])
            check_num_nodes(len(nodes))
            check_indices("edges", pairs, len(nodes))
        except ValueError as error:
            raise ValueError(f"In graph {index}: {error}") from error


def check_features(nodes, first):
    if nodes.ndim != 2 or nodes.shape[1:] != first.shape[1:]:
        raise ValueError(
            "Features must have the shape (num_nodes, num_features), with as "
            f"many features as those of graph 0, {first.shape}. Received: "
            f"features of shape {nodes.shape}."
        )
    bad = ~np.isfinite(nodes).all(axis=1)
    if bad.any():
        raise ValueError(
            "Coordinates and features must be finite. Received: NaN or "
            f"infinity at {bad.sum()} of {len(nodes)} nodes, first at node "
            f"{bad.argmax()}. Leave the graph out, or mend it."
        )


def room_for(name, sizes, given):
    """The size of padded graphs, which all graphs must fit into."""
    largest = max(sizes)
    if given is not None and given < largest:
        raise ValueError(
            f"`num_{name}` must be at least what the largest graph needs, "
            f"{largest}. Received: num_{name}={given}"
        )
    return largest if given is None else given


def stacked(arrays, size, filler, dtype):
    shape = (len(arrays), size, *arrays[0].shape[1:])
    rows = np.full(shape, filler, dtype)
    for row, array in zip(rows, arrays, strict=True):
        row[: len(array)] = array
    return rows
