"""Pictures of airfoils and cars, and the file for ParaView."""

import sys

import meshio
import numpy as np
import pictures
import pytest

from tests.examples.aero.made_shapes import pyramids


def test_file_of_a_mesh(tmp_path):
    (vertices,), faces = pyramids([0.5])
    values = {"uncertainty": np.arange(len(vertices), dtype="float32")}
    pictures.write_mesh(tmp_path / "car.vtu", vertices, faces, values)
    mesh = meshio.read(tmp_path / "car.vtu")
    np.testing.assert_allclose(mesh.points, vertices)
    np.testing.assert_array_equal(mesh.cells_dict["triangle"], faces)
    np.testing.assert_array_equal(
        mesh.point_data["uncertainty"], values["uncertainty"]
    )


def test_a_view_for_each_value():
    (vertices,), faces = pyramids([0.5])
    names = ["pressure", "predicted pressure", "error", "uncertainty"]
    values = {name: vertices[:, 0] for name in names}
    figure = pictures.draw_car(vertices, faces, values)
    titles = [ax.get_title() for ax in figure.axes]
    assert [one for one in titles if one] == names


def test_profiles_are_known_and_unseen(made_shapes):
    figure = pictures.draw_profiles()
    titles = [ax.get_title() for ax in figure.axes]
    ratios = [float(one.split("= ")[1]) for one in titles]
    known = [r for r, t in zip(ratios, titles, strict=True) if "known" in t]
    unseen = [r for r, t in zip(ratios, titles, strict=True) if "unseen" in t]
    assert len(known) == len(unseen) == pictures.NUM_PROFILES
    assert max(known) < min(unseen)


@pytest.mark.slow
def test_all_of_them(made_shapes, tmp_path, monkeypatch):
    out = tmp_path / "out"
    command = ["pictures.py", "--quick", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", command)
    pictures.main()
    assert sorted(path.name for path in out.iterdir()) == [
        "car.png",
        "car.vtu",
        "lift_to_drag.png",
        "profiles.png",
    ]
    assert meshio.read(out / "car.vtu").point_data["uncertainty"].min() >= 0
