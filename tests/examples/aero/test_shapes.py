"""The data of the aerodynamic experiments."""

import numpy as np
import pytest
from shapes import Shapes, load_arrays, split, upper_part, vertex_normals

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "float32")
# Of a tetrahedron, each counted so that its normal points outwards.
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_ZIGZAG_AERO_DIR", str(tmp_path))
    return tmp_path


def test_arrays_of_a_file(folder):
    np.savez(folder / "cars.npz", a=np.arange(3.0), b=np.ones(2))
    arrays = load_arrays("cars", ["a"])
    assert list(arrays) == ["a"]
    np.testing.assert_array_equal(arrays["a"], [0, 1, 2])


def test_missing_file_says_how_to_get_it(folder):
    with pytest.raises(FileNotFoundError, match="generate_airfoils") as error:
        load_arrays("airfoils", ["nodes"])
    assert str(folder) in str(error.value)


def test_missing_and_broken_arrays(folder):
    np.savez(folder / "cars.npz", a=[1.0, np.nan])
    with pytest.raises(ValueError, match=r"without \['b'\]"):
        load_arrays("cars", ["a", "b"])
    with pytest.raises(ValueError, match="'a' with 1 of them"):
        load_arrays("cars", ["a"])


def test_the_highest_are_unseen_and_the_training_set_sets_the_scale():
    generator = np.random.default_rng(0)
    quantity = generator.permutation(100).astype("float32")
    nodes = generator.normal(5.0, 3.0, (100, 8, 2)) + quantity[:, None, None]
    shapes = Shapes(nodes, quantity[:, None], quantity)
    data = split(shapes, 0.1, 0.2, 0.125, seed=0)
    known = [y[:, 0] for _, y in (data.train, data.validation, data.test)]
    assert [len(y) for y in known] == [63, 9, 18]
    assert sorted(np.concatenate(known)) == list(range(90))
    x = data.train[0]
    np.testing.assert_allclose(x.mean(axis=(0, 1)), 0, atol=1e-5)
    np.testing.assert_allclose(x.std(axis=(0, 1)), 1, rtol=1e-5)
    assert data.ood["upper"].mean() > 1
    again = split(shapes, 0.1, 0.2, 0.125, seed=0)
    np.testing.assert_array_equal(again.train[0], data.train[0])


def test_upper_part():
    assert upper_part(np.arange(20.0), 0.1).sum() == 2


def test_normals_of_a_tetrahedron_point_outwards():
    normals = vertex_normals(CORNERS[None], FACES)[0]
    np.testing.assert_allclose(np.linalg.norm(normals, axis=-1), 1, rtol=1e-6)
    outwards = CORNERS - CORNERS.mean(axis=0)
    assert (np.sum(normals * outwards, axis=-1) > 0).all()
    # The three faces at the origin are of one size.
    np.testing.assert_allclose(normals[0], -(3**-0.5), rtol=1e-6)


def test_degenerate_triangles_have_no_normal():
    normals = vertex_normals(np.zeros((1, 4, 3)), FACES)
    np.testing.assert_array_equal(normals, 0)
