"""Profiles of NACA's four-digit family, computed with XFOIL.

    python examples/aero/generate_airfoils.py --num 2000

Writes `airfoils.npz`: nodes, pressure coefficient, lift, drag and moment of
each profile at a Reynolds number of 5e5 and an angle of attack of 0°. A run
that was stopped goes on; `airfoils.jsonl` says what became of each draw. A
shape that XFOIL finds no solution for is tried again with other panels, and
then left out. Needs XFOIL and a C compiler: `apt-get install xfoil gcc
libc6-dev`.
"""

import tempfile
from pathlib import Path

from command_line import main_of, make_parser, run_generator, seconds
from fpe_shim import build_fpe_shim
from generation import Generator
from naca import naca_outline
from solver_process import Processes
from xfoil import (
    BUNCHINGS,
    ITERATIONS,
    NUM_NODES,
    REYNOLDS,
    TIMEOUT,
    Xfoil,
)

NUM = 2000
# In chords. Lift-to-drag is 0 to 78 in these, its 95 % quantile about 60.
BOUNDS = {
    "camber": (0.0, 0.033),
    "position": (0.2, 0.7),
    "thickness": (0.06, 0.24),
}
SETTINGS = {
    "reynolds": REYNOLDS,
    "iterations": ITERATIONS,
    "nodes": NUM_NODES,
    "bunchings": BUNCHINGS,
}


def airfoil_generator(xfoil):
    """How airfoils are drawn and solved."""
    return Generator(
        "airfoils",
        BOUNDS,
        lambda values, bunching: xfoil(naca_outline(*values), bunching),
        BUNCHINGS,
        "naca_parameters",
        {},
        SETTINGS,
    )


def main():
    parser = make_parser(__doc__.split("\n")[0], NUM)
    parser.add_argument("--solver", default="xfoil", help="XFOIL's program")
    parser.add_argument(
        "--timeout", type=seconds, default=TIMEOUT, help="seconds for one try"
    )
    options = parser.parse_args()
    processes = Processes()
    with tempfile.TemporaryDirectory(prefix="xf") as folder:
        shim = build_fpe_shim(Path(folder))
        xfoil = Xfoil(processes, options.solver, shim, options.timeout)
        run_generator(options, airfoil_generator(xfoil), processes)


if __name__ == "__main__":
    main_of(main)
