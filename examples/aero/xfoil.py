"""Lift, drag and pressure of a profile, computed with XFOIL.

Reference: Drela, XFOIL: an analysis and design system for low Reynolds number
airfoils, 1989.
"""

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from fpe_shim import with_preloaded
from solver_process import (
    CRASHED,
    NOT_CONVERGED,
    SolverFailure,
    SolverMissing,
)

NUM_NODES = 160
REYNOLDS = 5e5
ITERATIONS = 50
# How close panels are at the ends; another value often helps a shape on.
BUNCHINGS = (1.0, 0.95, 1.05, 0.9, 1.1)
TIMEOUT = 20.0  # seconds; a shape takes a tenth of one
# Short names: XFOIL cuts off long ones. Graphics are off before all else.
SHAPE, POLAR, PRESSURE, PANELS = "a.dat", "p.txt", "cp.txt", "n.txt"
COMMANDS = f"""PLOP
G F

LOAD {SHAPE}
PPAR
N {NUM_NODES}
P {{bunching}}


PSAV {PANELS}
OPER
VISC {REYNOLDS:g}
ITER {ITERATIONS}
PACC
{POLAR}

ALFA 0
CPWR {PRESSURE}

QUIT
"""


class Airfoil(NamedTuple):
    """What XFOIL found, at an angle of attack of 0°, Mach 0, Ncrit 9."""

    nodes: np.ndarray  # (160, 2)
    pressure_coefficient: np.ndarray  # (160,)
    lift_to_drag: float
    lift_coefficient: float
    drag_coefficient: float
    moment_coefficient: float


class Xfoil:
    """XFOIL, as a function from an outline and a panelling to an `Airfoil`.

    Args:
        processes: A `Processes`.
        program: String. Name or path. Defaults to `"xfoil"`.
        shim: Path from `build_fpe_shim`. Defaults to `None`.
        timeout: Float. Seconds for one try. Defaults to `20.0`.

    Raises:
        SolverMissing: If there is no such program.
    """

    def __init__(self, processes, program="xfoil", shim=None, timeout=TIMEOUT):
        found = shutil.which(program)
        if found is None:
            raise SolverMissing(
                "XFOIL was not found. Install it, on Debian and Ubuntu with "
                "`apt-get install xfoil`, or name it with --solver. "
                f"Received: solver={program!r}"
            )
        self.program = str(Path(found).resolve())
        self.processes = processes
        self.shim = shim
        self.timeout = timeout

    def __call__(self, outline, bunching):
        """Raises a `SolverFailure` where XFOIL gives no result."""
        with tempfile.TemporaryDirectory(prefix="xf") as folder:
            folder = Path(folder)
            _write_shape(folder / SHAPE, outline)
            self._run(folder, COMMANDS.format(bunching=bunching))
            return read_airfoil(folder)

    def _run(self, folder, commands):
        try:
            self.processes.run(
                [self.program],
                folder,
                folder / "printed.txt",
                self.timeout,
                commands,
                with_preloaded(self.shim),
            )
        except SolverFailure as failure:
            if self.shim is None and "SIGFPE" in failure.detail:
                raise SolverMissing(
                    "This XFOIL traps floating-point exceptions and died of "
                    "one. A small library prevents that, but there is no C "
                    "compiler to make it. Install one, on Debian and Ubuntu "
                    "with `apt-get install gcc libc6-dev`."
                ) from failure
            raise


def read_airfoil(folder):
    """What XFOIL wrote; its exit status says nothing.

    It also writes pressures that have not converged: only a row in the polar's
    file says that they have.
    """
    lift, drag, moment = _read_polar(folder / POLAR)
    nodes = _read_columns(folder / PANELS, skiprows=0)[:, :2]
    pressure = _read_columns(folder / PRESSURE, skiprows=1)[:, -1]
    return Airfoil(nodes, pressure, lift / drag, lift, drag, moment)


def _write_shape(path, outline):
    if not np.isfinite(outline).all():
        raise ValueError(
            "The coordinates of a profile must be finite: XFOIL hangs on "
            "others. Received: "
            f"{(~np.isfinite(outline)).sum()} of {outline.size} that are not"
        )
    # XFOIL reads single precision.
    np.savetxt(path, outline, fmt="%.7f", header="a", comments="")


def _read_polar(path):
    lines = path.read_text().splitlines() if path.exists() else []
    rules = [n for n, line in enumerate(lines) if line.strip()[:3] == "---"]
    rows = lines[rules[0] + 1 :] if rules else []
    if not rows:
        raise SolverFailure(NOT_CONVERGED, "the polar's file has no row")
    try:
        _, lift, drag, _, moment, *_ = map(float, rows[0].split())
    except ValueError:
        raise SolverFailure(CRASHED, f"a polar's row of {rows[0]!r}") from None
    if not np.isfinite([lift, drag, moment]).all() or drag <= 0:
        raise SolverFailure(NOT_CONVERGED, f"a polar's row of {rows[0]!r}")
    return lift, drag, moment


def _read_columns(path, skiprows):
    try:
        table = np.loadtxt(path, skiprows=skiprows, ndmin=2)
    except (OSError, ValueError) as error:
        raise SolverFailure(CRASHED, f"no {path.name}: {error}") from None
    if len(table) != NUM_NODES or not np.isfinite(table).all():
        raise SolverFailure(CRASHED, f"{path.name} has {len(table)} rows")
    return table
