"""Airfoils and cars that are made by hand."""

import numpy as np
from meshes import ring_edges

NUM_SHAPES, NUM_NODES = 40, 12


def write_shapes(folder):
    """A ring for each airfoil, and a double pyramid for each car."""
    generator = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 160, endpoint=False)
    thickness = generator.uniform(0.1, 0.2, NUM_SHAPES)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    nodes = np.stack([ring * [1.0, size] for size in thickness])
    np.savez(
        folder / "airfoils.npz",
        nodes=nodes.astype("float32"),
        lift_to_drag=(300 * thickness).astype("float32"),
    )
    vertices, faces = pyramids(thickness)
    np.savez(
        folder / "cars.npz",
        vertices=vertices,
        faces=faces,
        drag_coefficient=thickness.astype("float32"),
        pressure_coefficient=vertices[..., 0],
    )


def pyramids(heights):
    """A ring of vertices, and a tip above and below it."""
    angle = np.linspace(0, 2 * np.pi, NUM_NODES - 2, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    tips = np.array([[0, 0, 1.0], [0, 0, -1.0]])
    body = np.concatenate([ring, tips])
    vertices = np.stack([body * [1, 1, height] for height in heights])
    pairs = [(a, b) for a, b in ring_edges(NUM_NODES - 2) if a < b]
    upper = [(a, b, NUM_NODES - 2) for a, b in pairs]
    lower = [(b, a, NUM_NODES - 1) for a, b in pairs]
    return vertices.astype("float32"), np.array(upper + lower, "int32")
