"""Makes the modules of the aerodynamic examples importable."""

import sys

from tests.examples.scripts import EXAMPLES

FOLDER = str(EXAMPLES / "aero")
if FOLDER not in sys.path:
    sys.path.append(FOLDER)
