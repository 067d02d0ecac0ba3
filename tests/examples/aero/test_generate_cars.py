"""Cars, with programs in OpenFOAM's place: no solver is needed."""

import json

import numpy as np
import pytest
from ahmed_body import ahmed_body, ahmed_frontal_area
from openfoam import Body, OpenFoam
from solver_process import Processes, SolverFailure

from tests.examples.aero.fake_solvers import run, write_openfoam

pytestmark = pytest.mark.backend("tensorflow")
SCRIPT = "generate_cars.py"


@pytest.fixture
def openfoam(tmp_path):
    return write_openfoam(tmp_path / "bin")


def arguments(openfoam, out, num, *more):
    return ["--solver", openfoam, "--out", out, "--num", num, *more]


def read_log(out):
    lines = (out / "cars.jsonl").read_text().splitlines()
    return list(map(json.loads, lines))


def test_the_file(openfoam, tmp_path):
    out = tmp_path / "out"
    code, printed, errors = run(SCRIPT, *arguments(openfoam, out, 2))
    assert code == 0, errors
    assert "2 ok" in printed
    with np.load(out / "cars.npz") as data:
        shapes = {name: data[name].shape for name in data}
        assert data["faces"].dtype == np.int32
        pressure = data["pressure_coefficient"]
        np.testing.assert_allclose(data["drag_coefficient"], 0.25)
        np.testing.assert_allclose(data["drag_std"], 0, atol=1e-7)
        assert (1.3 < data["frontal_area"]).all()
    assert shapes == {
        "parameters": (2, 9),
        "vertices": (2, 1602, 3),
        "pressure_coefficient": (2, 1602),
        "drag_coefficient": (2,),
        "drag_std": (2,),
        "frontal_area": (2,),
        "faces": (3200, 3),
    }
    # Of the face that is nearest to a vertex or to its mirror image.
    np.testing.assert_allclose(pressure[:, 0], 1)
    np.testing.assert_allclose(pressure[:, -1], -0.2, rtol=1e-6)
    rings = pressure[:, :1600].reshape(2, 40, 40)
    mirrored = rings[:, :, (20 - np.arange(40)) % 40]
    np.testing.assert_array_equal(rings, mirrored)


def test_twice_the_same(openfoam, tmp_path):
    for name in "ab":
        run(SCRIPT, *arguments(openfoam, tmp_path / name, 2))
    first, second = ((tmp_path / name / "cars.npz") for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_what_diverges_is_tried_with_smaller_steps(openfoam, tmp_path):
    run(SCRIPT, *arguments(openfoam, tmp_path / "out", 1), FAKE_DOES="0.9")
    _, record = read_log(tmp_path / "out")
    tried = [(one["variant"], one["status"]) for one in record["tries"]]
    assert tried == [(0.9, "not converged"), (0.7, "ok")]
    assert "a drag of nan" in record["tries"][0]["detail"]


@pytest.mark.parametrize("name", ["blockMesh", "snappyHexMesh", "simpleFoam"])
def test_a_program_that_fails(openfoam, monkeypatch, name):
    monkeypatch.setenv("FAKE_DOES", name)
    body = Body(*ahmed_body(), ahmed_frontal_area())
    solve = OpenFoam(Processes(), str(openfoam))
    with pytest.raises(SolverFailure, match="ended with exit status 1") as got:
        solve(body, body.vertices, 0.9)
    assert got.value.status == "crashed" and name in got.value.detail


def test_no_solver(tmp_path):
    empty = tmp_path / "empty"
    code, _, errors = run(SCRIPT, *arguments(empty, tmp_path, 1))
    assert code == 1
    assert "apt-get install openfoam" in errors
    assert "blockMesh, snappyHexMesh, simpleFoam not found" in errors
    assert "KERAS_ZIGZAG_AERO_DIR" in errors


def test_check(openfoam):
    code, printed, errors = run(
        SCRIPT, "--solver", openfoam, "--check", "ahmed"
    )
    assert code == 0, errors
    assert "a drag of 0.250, measured: 0.285" in printed
