"""What may be given for how long a solver runs."""

import generate_airfoils
import generate_cars
import numpy as np
import pytest
from naca import naca_outline
from solver_process import Processes
from xfoil import Xfoil

from tests.examples.aero.fake_solvers import write_xfoil

pytestmark = pytest.mark.backend("tensorflow")


@pytest.mark.parametrize("script", [generate_airfoils, generate_cars])
@pytest.mark.parametrize("timeout", ["inf", "nan", "0", "-1", "1e300", "x"])
def test_bad_timeouts(script, timeout, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["make", f"--timeout={timeout}"])
    with pytest.raises(SystemExit) as exit:
        script.main()
    assert exit.value.code == 2
    errors = capsys.readouterr().err
    assert "argument --timeout: " in errors and timeout in errors


def test_the_longest_timeout(tmp_path):
    xfoil = Xfoil(Processes(), str(write_xfoil(tmp_path)), timeout=1e6)
    flow = xfoil(naca_outline(0.0, 0.4, 0.12), 1.0)
    assert np.isfinite(flow.drag_coefficient)
