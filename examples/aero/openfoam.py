"""Drag and surface pressure of a body over a road, computed with OpenFOAM.

The case, OpenFOAM's own files with their settings beside them, is the folder
`car_case`: half a wind tunnel, a ground that moves with the air, the k-ω SST
model with wall functions, some 20,000 cells.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from solver_process import NOT_CONVERGED, SolverFailure, SolverMissing

CASE = Path(__file__).with_name("car_case")
COMMANDS = (["blockMesh"], ["snappyHexMesh", "-overwrite"], ["simpleFoam"])
SPEED = 30.0  # metres a second
VISCOSITY = 1.5e-5  # square metres a second
INTENSITY, EDDIES = 0.01, 0.5  # of the turbulence that comes in; metres
CELLS = (48, 14, 14)  # of the coarsest mesh
ITERATIONS = 300
AVERAGED = 100  # the last iterations, whose mean is the drag
# A try that diverges is done again with smaller steps.
RELAXATIONS = (0.9, 0.7)
TIMEOUT = 600.0  # seconds for each of the commands
LARGEST_DRAG = 2.0  # of no body that has converged


class Body(NamedTuple):
    """A closed surface, whose half is solved, in metres."""

    vertices: np.ndarray  # (num, 3)
    faces: np.ndarray  # (num, 3)
    frontal_area: float  # of the whole body


class Flow(NamedTuple):
    """What OpenFOAM found."""

    pressure_coefficient: np.ndarray  # (num_points,)
    drag_coefficient: float
    drag_std: float  # over the last iterations


class OpenFoam:
    """OpenFOAM, as a function from a body to a `Flow`.

    Args:
        processes: A `Processes`.
        programs: Folder of the programs. Defaults to `None`: they are looked
            for in the `PATH`.
        timeout: Float. Seconds for each program. Defaults to `600.0`.

    Raises:
        SolverMissing: If a program is not there.
    """

    def __init__(self, processes, programs=None, timeout=TIMEOUT):
        names = [command[0] for command in COMMANDS]
        self.programs = {n: shutil.which(n, path=programs) for n in names}
        missing = [name for name, path in self.programs.items() if not path]
        if missing:
            raise SolverMissing(
                f"OpenFOAM's {', '.join(missing)} not found. Install it, on "
                "Debian and Ubuntu with `apt-get install openfoam`, or name "
                f"its folder with --solver. Received: solver={programs!r}"
            )
        self.processes = processes
        self.timeout = timeout

    def __call__(self, body, points, relaxation):
        """The pressure is that of the surface's faces nearest to the points.

        Raises a `SolverFailure` where OpenFOAM gives no result.
        """
        with tempfile.TemporaryDirectory(prefix="car") as folder:
            case = Path(folder) / "case"
            write_case(case, body, relaxation)
            for name, *options in COMMANDS:
                self.processes.run(
                    [self.programs[name], *options],
                    case,
                    case / f"{name}.txt",
                    self.timeout,
                    environment=_environment(),
                )
            return read_flow(case, points)


def write_case(case, body, relaxation):
    """The files of `car_case`, its settings and the body's surface."""
    shutil.copytree(CASE, case)
    energy = 1.5 * (INTENSITY * SPEED) ** 2
    settings = {
        "cells": f"({' '.join(map(str, CELLS))})",
        "iterations": ITERATIONS,
        "speed": SPEED,
        "flow": f"({SPEED} 0 0)",
        "viscosity": VISCOSITY,
        "halfArea": body.frontal_area / 2,
        "turbulentEnergy": energy,
        "dissipationRate": np.sqrt(energy) / (0.09**0.25 * EDDIES),
        "relaxation": relaxation,
    }
    lines = [f"{key} {value};\n" for key, value in settings.items()]
    (case / "settings").write_text("".join(lines))
    surface = case / "constant" / "triSurface" / "car.stl"
    surface.parent.mkdir()
    write_stl(surface, body.vertices, body.faces)


def write_stl(path, vertices, faces):
    """Triangles as text, as OpenFOAM reads them; it needs no normals."""
    with open(path, "w") as file:
        file.write("solid car\n")
        for triangle in vertices[faces]:
            file.write("facet normal 0 0 0\nouter loop\n")
            for point in triangle:
                file.write("vertex {:.7g} {:.7g} {:.7g}\n".format(*point))
            file.write("endloop\nendfacet\n")
        file.write("endsolid car\n")


def read_flow(case, points):
    """Mean drag of the last iterations, and pressure at the last one."""
    drag = _read_table(case, "drag/0/coefficient.dat")[-AVERAGED:, 1]
    if len(drag) < AVERAGED or not (np.abs(drag) < LARGEST_DRAG).all():
        raise SolverFailure(
            NOT_CONVERGED, f"a drag of {drag[-1]} after {len(drag)} iterations"
        )
    table = _read_table(case, f"skin/{ITERATIONS}/p_car.raw")
    if not np.isfinite(table).all():
        raise SolverFailure(NOT_CONVERGED, "a pressure that is not finite")
    # The other half of the body is the mirror image of what was computed.
    half = points * [1, 0, 1] + np.abs(points) * [0, 1, 0]
    _, nearest = cKDTree(table[:, :3]).query(half)
    pressure = table[nearest, 3] / (SPEED**2 / 2)
    return Flow(pressure, float(drag.mean()), float(drag.std()))


def _read_table(case, name):
    try:
        return np.loadtxt(case / "postProcessing" / name, ndmin=2)
    except (OSError, ValueError) as error:
        raise SolverFailure(NOT_CONVERGED, f"no {name}: {error}") from None


def _environment():
    """One core a car, as several are computed at a time."""
    there = {"WM_PROJECT_DIR": "/usr/share/openfoam", "OMP_NUM_THREADS": "1"}
    return there | dict(os.environ)
