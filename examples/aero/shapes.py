"""The shapes of `airfoils.npz` and `cars.npz`, as an experiment needs them."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_zigzag.benchmark import Data
from keras_zigzag.benchmark.datasets import split_validation, tfds_folder

VARIABLE = "KERAS_ZIGZAG_AERO_DIR"


class Shapes(NamedTuple):
    """Shapes, what is to be predicted of them, and what orders them.

    Args:
        nodes: Array `(num_shapes, num_nodes, num_features)`, coordinates
            first.
        targets: Array `(num_shapes, 1)` or `(num_shapes, num_nodes, 1)`.
        quantity: Array `(num_shapes,)`. The shapes with the highest ones are
            out-of-distribution.
    """

    nodes: np.ndarray
    targets: np.ndarray
    quantity: np.ndarray


def aero_folder():
    """`KERAS_ZIGZAG_AERO_DIR`, else `aero` beside that of the other data."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else tfds_folder().parent / "aero"


def load_arrays(name, keys):
    """Arrays of a file, checked.

    Args:
        name: String. The file is `<name>.npz`.
        keys: Sequence of strings.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If an array is missing or is not finite.
    """
    path = aero_folder() / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {path}. Set {VARIABLE} to the folder that has "
            f"it, or make it with examples/aero/generate_{name}.py. "
            f"Received: name={name!r}"
        )
    with np.load(path) as file:
        missing = sorted(set(keys) - set(file.files))
        if missing:
            raise ValueError(
                f"{path} lacks arrays. Received: {file.files} without {missing}"
            )
        arrays = {key: file[key] for key in keys}
    for key, values in arrays.items():
        if not np.isfinite(values).all():
            raise ValueError(
                f"There are values that are not finite in {path}. Received: "
                f"{key!r} with {np.sum(~np.isfinite(values))} of them"
            )
    return arrays


def split(shapes, ood_fraction, test_fraction, validation_fraction, seed):
    """The sets of a run, with nodes standardised as the training set is.

    Args:
        shapes: `Shapes`.
        ood_fraction: Float. Share of shapes, those of the highest quantity,
            that are out-of-distribution.
        test_fraction: Float. Of the other shapes.
        validation_fraction: Float. Of what is not for the test.
        seed: Integer.

    Returns:
        `Data`, with the OOD set `"upper"`.
    """
    upper = upper_part(shapes.quantity, ood_fraction)
    known = shapes.nodes[~upper], shapes.targets[~upper]
    rest, test = split_validation(*known, test_fraction, seed)
    train, validation = split_validation(*rest, validation_fraction, seed)
    mean = train[0].mean(axis=(0, 1))
    scale = train[0].std(axis=(0, 1))

    def standardised(nodes):
        return ((nodes - mean) / scale).astype("float32")

    pairs = [(standardised(x), y) for x, y in (train, validation, test)]
    return Data(*pairs, ood={"upper": standardised(shapes.nodes[upper])})


def upper_part(quantity, fraction):
    """Which shapes are above the quantile that leaves this share of them."""
    return quantity > np.quantile(quantity, 1 - fraction)


def vertex_normals(vertices, faces):
    """Unit normals at the vertices, the triangles weighted by their areas.

    Args:
        vertices: Array `(num_shapes, num_vertices, 3)`.
        faces: Integer array `(num_faces, 3)`.

    Returns:
        Array like `vertices`; zero where all triangles are degenerate.
    """
    a, b, c = (vertices[:, faces[:, corner]] for corner in range(3))
    areas = np.cross(b - a, c - a)
    normals = np.zeros_like(vertices)
    for corner in range(3):
        np.add.at(normals, (slice(None), faces[:, corner]), areas)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    return normals / np.where(length > 0, length, 1)
