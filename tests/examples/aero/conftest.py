"""Makes the modules of examples/aero importable, and finds real data."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.examples.scripts import EXAMPLES

FOLDER = str(EXAMPLES / "aero")
if FOLDER not in sys.path:
    # Last, since examples of the same name come first.
    sys.path.append(FOLDER)


@pytest.fixture(scope="session")
def load_aero():
    """Reads a set of real data, or skips and says how to have it."""

    def load(name):
        folder = os.environ.get("KERAS_ZIGZAG_AERO_DIR", "")
        path = Path(folder) / f"{name}.npz"
        if not folder or not path.is_file():
            pytest.skip(
                "Needs real data: set KERAS_ZIGZAG_AERO_DIR to a folder with "
                f"{name}.npz. Received: KERAS_ZIGZAG_AERO_DIR={folder!r}"
            )
        with np.load(path) as data:
            return dict(data)

    return load


@pytest.fixture
def made_shapes(tmp_path, monkeypatch):
    """A folder with a few airfoils and cars, which the examples read."""
    from tests.examples.aero.made_shapes import write_shapes

    monkeypatch.setenv("KERAS_ZIGZAG_AERO_DIR", str(tmp_path))
    write_shapes(tmp_path)
    return tmp_path
