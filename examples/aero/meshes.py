"""Graphs of profiles and meshes as NumPy arrays, checked before they are used.

A graph has features `(num_nodes, num_features)` and edges `(num_edges, 2)`,
pairs of source and target. Each neighbour of a node is the source of an edge
to it.
"""

import numpy as np

PADDING = -1


def ring_edges(num_nodes):
    """Edges of a closed line on which each node has two neighbours.

    Args:
        num_nodes: Integer. Number of nodes, in order round the line.

    Returns:
        Integers of shape `(2 * num_nodes, 2)`, ordered by target, so that
        they are blocks of `degree=2`. Two nodes have one edge each way, and
        one node has none.

    Raises:
        ValueError: If there are no nodes.

    Example:

    >>> ring_edges(3).tolist()
    [[1, 0], [2, 0], [0, 1], [2, 1], [0, 2], [1, 2]]
    """
    check_num_nodes(num_nodes)
    nodes = np.arange(num_nodes)
    return both_ways(np.stack([nodes, np.roll(nodes, -1)], axis=1))


def mesh_edges(faces, num_nodes=None):
    """Edges between the vertices of a mesh of triangles.

    Args:
        faces: Integers of shape `(num_faces, 3)`. A triangle that names a
            vertex twice gives the edge that is left of it, if any.
        num_nodes: Integer. Number of vertices, to check the faces. A vertex
            of no triangle has no edges. Defaults to `None`: not checked.

    Returns:
        Integers of shape `(num_edges, 2)`, each edge once in each direction,
        ordered by target.

    Raises:
        ValueError: If the faces are no triangles of these vertices.

    Example:

    >>> mesh_edges([[0, 1, 2]]).tolist()
    [[1, 0], [2, 0], [0, 1], [2, 1], [0, 2], [1, 2]]
    """
    faces = as_indices("faces", faces, 3)
    check_indices("faces", faces, num_nodes)
    pairs = [faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]
    return both_ways(np.concatenate(pairs))


def both_ways(pairs):
    """Edges of pairs of nodes in both directions, once, ordered by target."""
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    # Sorted by rows, of which the target comes first.
    by_target = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    return by_target[:, ::-1].astype("int32")


def in_degrees(edges, num_nodes):
    """How many edges each node is the target of."""
    return np.bincount(edges[:, 1], minlength=num_nodes)


def in_blocks(edges, num_nodes, degree):
    """Lays edges out in blocks of a fixed size that share a target.

    The first blocks are those of the nodes in order. Where a node has more
    edges than a block holds, the others stand in blocks behind.

    Args:
        edges: Integers of shape `(num_edges, 2)`.
        num_nodes: Integer. Number of nodes.
        degree: Integer. Rows of a block. What most nodes have is fastest.

    Returns:
        Integers of shape `(num_blocks * degree, 2)`, padded with -1.

    Example:

    >>> in_blocks([[1, 0], [2, 0], [0, 1]], num_nodes=2, degree=1).tolist()
    [[1, 0], [0, 1], [2, 0]]
    """
    edges = as_indices("edges", edges, 2)
    check_indices("edges", edges, num_nodes)
    edges = edges[np.argsort(edges[:, 1], kind="stable")]
    degrees = in_degrees(edges, num_nodes)
    # Of an edge among those of its target.
    rank = np.arange(len(edges)) - (np.cumsum(degrees) - degrees)[edges[:, 1]]
    extra = np.maximum(-(-degrees // degree) - 1, 0)
    first_extra = num_nodes + np.cumsum(extra) - extra
    block = np.where(
        rank < degree,
        edges[:, 1],
        first_extra[edges[:, 1]] + rank // degree - 1,
    )
    rows = np.full(((num_nodes + extra.sum()) * degree, 2), PADDING, "int32")
    rows[block * degree + rank % degree] = edges
    return rows


def relative_coordinates(coordinates, edges):
    """Where the source of each edge lies from its target.

    Args:
        coordinates: Floats of shape `(num_nodes, num_dims)`.
        edges: Integers of shape `(num_edges, 2)`; -1 is padding.

    Returns:
        Floats of shape `(num_edges, num_dims)`, zero at padding.
    """
    coordinates, edges = np.asarray(coordinates), np.asarray(edges)
    is_edge = (edges >= 0).all(axis=-1, keepdims=True)
    ends = coordinates[np.where(is_edge, edges, 0)]
    return np.where(is_edge, ends[:, 0] - ends[:, 1], 0)


def edge_length(coordinates, edges):
    """The root of the mean square of the lengths of edges.

    Args:
        coordinates: List of floats of shape `(num_nodes, num_dims)`, one
            entry a graph.
        edges: List of integers of shape `(num_edges, 2)`, likewise.

    Returns:
        Float. The scale for `RelativeCoordinates`.

    Raises:
        ValueError: If there are no edges, or they have no finite length.
    """
    total = count = 0
    for nodes, pairs in zip(coordinates, edges, strict=True):
        squares = np.square(relative_coordinates(nodes, pairs).astype(float))
        total += squares.sum()
        count += (np.asarray(pairs) >= 0).all(axis=-1).sum()
    if count == 0 or not 0 < total < np.inf:
        raise ValueError(
            "The scale of coordinates needs edges between nodes at different, "
            f"finite places. Received: {count} edges whose squared lengths add "
            f"up to {total}."
        )
    return float(np.sqrt(total / count))


def check_num_nodes(num_nodes):
    if num_nodes < 1:
        raise ValueError(
            "A graph needs at least one node. "
            f"Received: num_nodes={num_nodes!r}. Leave empty graphs out."
        )


def as_indices(name, values, width):
    """Integers of shape `(count, width)`, from anything like them."""
    values = np.asarray(values)
    if values.size == 0:
        return np.zeros((0, width), "int32")
    is_integer = values.dtype.kind in "iu"
    if values.ndim != 2 or values.shape[1] != width or not is_integer:
        raise ValueError(
            f"`{name}` must be integers of shape (count, {width}). Received: "
            f"{name} of shape {values.shape} and type {values.dtype}."
        )
    return values


def check_indices(name, values, num_nodes):
    """Raises a `ValueError` for an index of no node."""
    highest = np.inf if num_nodes is None else num_nodes
    bad = ((values < 0) | (values >= highest)).any(axis=1)
    if bad.any():
        nodes = "" if num_nodes is None else f" of {num_nodes} nodes"
        raise ValueError(
            f"`{name}` must name nodes by their index from 0{nodes}. Received: "
            f"{bad.sum()} rows that do not, first row {bad.argmax()}: "
            f"{values[bad.argmax()].tolist()}. Were nodes removed from the "
            "mesh, or is it counted from 1?"
        )
