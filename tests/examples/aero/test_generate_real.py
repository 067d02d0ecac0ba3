"""The real solvers, where they are installed, against data that are there."""

import shutil

import numpy as np
import pytest
from fpe_shim import build_fpe_shim
from generate_airfoils import airfoil_generator
from generate_cars import car_generator, check_ahmed
from generation import draw_parameters, try_variants
from openfoam import OpenFoam
from solver_process import Processes
from xfoil import Xfoil

pytestmark = pytest.mark.backend("tensorflow")
NUM = 20


def need(program, package):
    if shutil.which(program) is None:
        pytest.skip(f"Needs {program}: `apt-get install {package}`")


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    need("xfoil", "xfoil")
    shim = build_fpe_shim(tmp_path_factory.mktemp("shim"))
    if shim is None:
        pytest.skip("Needs a C compiler: `apt-get install gcc libc6-dev`")
    return airfoil_generator(Xfoil(Processes(), shim=shim))


def integrated_lift(nodes, pressure):
    """Lift of pressure alone, over straight panels: friction gives none."""
    closed = np.concatenate([nodes, nodes[:1]])
    around = np.concatenate([pressure, pressure[:1]])
    return ((around[1:] + around[:-1]) / 2) @ np.diff(closed[:, 0])


@pytest.fixture(scope="module")
def airfoils(generator):
    draws = [draw_parameters(generator.bounds, 0, one) for one in range(NUM)]
    return [try_variants(generator, values)[1] for values in draws]


def test_pressure_gives_the_lift(airfoils):
    for airfoil in airfoils:
        lift = integrated_lift(airfoil.nodes, airfoil.pressure_coefficient)
        # Half of the last digit that is written.
        assert lift == pytest.approx(airfoil.lift_coefficient, abs=6e-5)


def test_shipped_lift_to_drag(generator, load_aero):
    data = load_aero("airfoils")
    shown = np.linspace(0, len(data["lift_to_drag"]) - 1, NUM).astype(int)
    found = [
        try_variants(generator, data["naca_parameters"][one])[1]
        for one in shown
    ]
    lift_to_drag = [one.lift_to_drag for one in found]
    wrong = np.abs(lift_to_drag - data["lift_to_drag"][shown])
    assert np.median(wrong) < 0.2
    nodes = np.stack([one.nodes for one in found])
    np.testing.assert_allclose(nodes, data["nodes"][shown], atol=1e-3)


@pytest.mark.slow
def test_a_car(load_aero):
    data = load_aero("cars")
    need("simpleFoam", "openfoam")
    generator = car_generator(OpenFoam(Processes()))
    car = generator.solve(data["parameters"][0], generator.variants[0])
    shipped = data["drag_coefficient"]
    assert shipped.min() < car.drag_coefficient < shipped.max()
    alike = np.corrcoef(
        car.pressure_coefficient, data["pressure_coefficient"][0]
    )
    assert alike[0, 1] > 0.8


@pytest.mark.slow
def test_ahmed_body(capsys):
    need("simpleFoam", "openfoam")
    check_ahmed(OpenFoam(Processes()))
    drag = float(capsys.readouterr().out.split("drag of ")[1].split(",")[0])
    assert 0.2 < drag < 0.38
