"""Parametric car bodies, computed with OpenFOAM.

    python examples/aero/generate_cars.py --num 280

Writes `cars.npz`: vertices, faces, pressure coefficient per vertex, drag, its
spread over the last iterations, frontal area and the nine parameters of each
car. A run that was stopped goes on; `cars.jsonl` says what became of each
draw. Some 20 seconds a car on one core: labels of a coarse mesh, no accurate
aerodynamics. Needs OpenFOAM: `apt-get install openfoam`. `--check ahmed`
computes a body whose drag has been measured.
"""

from typing import NamedTuple

import numpy as np
from ahmed_body import ahmed_body, ahmed_frontal_area
from command_line import main_of, make_parser, run_generator, seconds
from generation import Generator
from openfoam import (
    AVERAGED,
    CELLS,
    ITERATIONS,
    RELAXATIONS,
    SPEED,
    TIMEOUT,
    Body,
    OpenFoam,
)
from parametric_car import (
    BOUNDS,
    FINE,
    car_faces,
    car_rings,
    car_vertices,
    frontal_area,
)
from solver_process import Processes

NUM = 280
SETTINGS = {
    "detail": FINE,
    "speed": SPEED,
    "cells": CELLS,
    "iterations": ITERATIONS,
    "averaged": AVERAGED,
    "relaxations": RELAXATIONS,
}
MEASURED = 0.285  # the drag of Ahmed's body at 25°


class Car(NamedTuple):
    """What the file has of each car."""

    vertices: np.ndarray  # (1602, 3), metres
    pressure_coefficient: np.ndarray  # (1602,)
    drag_coefficient: float
    drag_std: float
    frontal_area: float  # of the whole car, square metres


def car_generator(openfoam):
    """How cars are drawn and solved."""
    fine_faces = car_faces(FINE)

    def solve(parameters, relaxation):
        vertices = car_vertices(parameters)
        area = frontal_area(car_rings(parameters, FINE))
        body = Body(car_vertices(parameters, FINE), fine_faces, area)
        flow = openfoam(body, vertices, relaxation)
        return Car(vertices, *flow, area)

    return Generator(
        "cars",
        BOUNDS,
        solve,
        RELAXATIONS,
        "parameters",
        {"faces": car_faces()},
        SETTINGS,
    )


def check_ahmed(openfoam):
    """Prints the drag of Ahmed's body, and what was measured."""
    body = Body(*ahmed_body(), ahmed_frontal_area())
    flow = openfoam(body, body.vertices, RELAXATIONS[0])
    print(
        f"Ahmed's body at 25°: a drag of {flow.drag_coefficient:.3f}, "
        f"measured: {MEASURED}"
    )


def main():
    parser = make_parser(__doc__.split("\n")[0], NUM)
    parser.add_argument("--solver", help="folder of OpenFOAM's programs")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=TIMEOUT,
        help="seconds for one program",
    )
    parser.add_argument(
        "--check",
        choices=["ahmed"],
        help="compute the drag of Ahmed's body, and no cars",
    )
    options = parser.parse_args()
    processes = Processes()
    openfoam = OpenFoam(processes, options.solver, options.timeout)
    if options.check:
        check_ahmed(openfoam)
    else:
        run_generator(options, car_generator(openfoam), processes)


if __name__ == "__main__":
    main_of(main)
