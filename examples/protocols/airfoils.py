"""Lift-to-drag ratio of airfoils; the best ones are what is unseen.

    KERAS_ZIGZAG_AERO_DIR=aero python examples/protocols/airfoils.py

2,000 NACA profiles, computed with XFOIL. A ring of 160 nodes goes through 25
graph layers, as in the paper's appendix; a quick run has six.
"""

import sys
from functools import partial
from pathlib import Path

from keras_zigzag.benchmark.__main__ import main

sys.path.append(str(Path(__file__).parents[1] / "aero"))
from experiments import experiment  # noqa: E402
from meshes import ring_edges  # noqa: E402
from networks import Graph, Size, value_network  # noqa: E402
from shapes import Shapes, load_arrays, split  # noqa: E402

NUM_NODES = 160
EDGE_LENGTH = 0.05  # standard deviations of a coordinate
UNIT = 10.0  # of the lift-to-drag ratio, as the network sees it
SETTINGS = {
    "ood_fraction": 0.05,
    "test_fraction": 0.2,
    "validation_fraction": 0.1,
}
SIZE = Size(layers=25, filters=32, widths=(64, 64, 64, 64))
QUICK_SIZE = Size(layers=6, filters=16, widths=(32, 32, 32, 32))
EPOCHS = 10
BATCH_SIZE = 32


def load(seed):
    arrays = load_arrays("airfoils", ["nodes", "lift_to_drag"])
    ratio = arrays["lift_to_drag"]
    targets = ratio[:, None] / UNIT
    shapes = Shapes(arrays["nodes"], targets, ratio)
    return split(shapes, **SETTINGS, seed=seed)


def graph():
    edges = ring_edges(NUM_NODES)  # in blocks of two
    return Graph(NUM_NODES, 2, 2, edges, 2, EDGE_LENGTH)


def protocols(quick):
    size = QUICK_SIZE if quick else SIZE
    return [
        experiment(
            quick,
            size,
            name="airfoils",
            title="Airfoils → high lift-to-drag",
            load=load,
            build=partial(value_network, graph(), size),
            epochs=EPOCHS,
            batch_size=BATCH_SIZE,
            settings={"unit": UNIT, **SETTINGS},
            units=f"multiples of {UNIT:.0f} in lift-to-drag",
        )
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
