"""Cars for the experiments: one mesh, moved into 280 shapes."""

import numpy as np
from meshes import in_blocks, mesh_edges
from networks import Graph
from shapes import Shapes, load_arrays, split, vertex_normals

NUM_DIMS = 3
DEGREE = 6  # edges of nearly all vertices
EDGE_LENGTH = 0.2  # standard deviations of a coordinate
SETTINGS = {
    "ood_fraction": 0.15,
    "test_fraction": 0.2,
    "validation_fraction": 0.1,
}


def load(seed, key, unit=1.0):
    """Coordinates and normals of the vertices, and what belongs to them.

    Args:
        seed: Integer. Of the split.
        key: String. Array of `cars.npz` that is to be predicted.
        unit: Float. By which it is divided. Defaults to `1.0`.

    Returns:
        `Data`. The cars of the highest drag are out-of-distribution.
    """
    arrays = load_arrays("cars", ["vertices", "faces", "drag_coefficient", key])
    vertices = arrays["vertices"]
    normals = vertex_normals(vertices, arrays["faces"])
    shapes = Shapes(
        nodes=np.concatenate([vertices, normals], axis=-1),
        targets=(arrays[key] / unit)[..., None],
        quantity=arrays["drag_coefficient"],
    )
    return split(shapes, **SETTINGS, seed=seed)


def graph():
    """The edges of the mesh, which all cars have."""
    arrays = load_arrays("cars", ["vertices", "faces"])
    num_nodes = arrays["vertices"].shape[1]
    edges = in_blocks(mesh_edges(arrays["faces"]), num_nodes, DEGREE)
    return Graph(num_nodes, 2 * NUM_DIMS, NUM_DIMS, edges, DEGREE, EDGE_LENGTH)
