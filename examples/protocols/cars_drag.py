"""Drag of cars; those of the highest drag are what is unseen.

    KERAS_ZIGZAG_AERO_DIR=aero python examples/protocols/cars_drag.py --quick

280 bodies, computed with OpenFOAM, with 1,602 vertices each. The mesh goes
through 35 graph layers for 100 epochs, as in the paper's appendix; a quick run
has four, and fewer epochs.
"""

import sys
from functools import partial
from pathlib import Path

from keras_zigzag.benchmark.__main__ import main

sys.path.append(str(Path(__file__).parents[1] / "aero"))
from cars import SETTINGS, graph, load  # noqa: E402
from experiments import experiment  # noqa: E402
from networks import Size, value_network  # noqa: E402

UNIT = 0.1  # of the drag coefficient, as the network sees it
SIZE = Size(layers=35, filters=32, widths=(64, 64, 64, 64))
QUICK_SIZE = Size(layers=4, filters=16, widths=(32, 32, 32, 32))
EPOCHS, QUICK_EPOCHS = 100, 20
BATCH_SIZE = 8


def build(size):
    return value_network(graph(), size)


def protocols(quick):
    size = QUICK_SIZE if quick else SIZE
    return [
        experiment(
            quick,
            size,
            name="cars_drag",
            title="Drag of cars → high drag",
            load=partial(load, key="drag_coefficient", unit=UNIT),
            build=partial(build, size),
            epochs=QUICK_EPOCHS if quick else EPOCHS,
            batch_size=BATCH_SIZE,
            settings={
                "unit": UNIT,
                **SETTINGS,
            },
            units=f"multiples of {UNIT:g} in the drag coefficient",
        )
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
