"""Pressure on cars; those of the highest drag are what is unseen.

    KERAS_ZIGZAG_AERO_DIR=aero python examples/protocols/cars_pressure.py

The pressure coefficient at each of 1,602 vertices, by transformers on the
mesh: 70 layers for 1,500 epochs, as in the paper's appendix; a quick run has
four, and fewer epochs. The uncertainty of a car is the mean over its vertices.
"""

import sys
from functools import partial
from pathlib import Path

import keras_zigzag as kz
from keras_zigzag.benchmark.__main__ import main

sys.path.append(str(Path(__file__).parents[1] / "aero"))
from cars import SETTINGS, graph, load  # noqa: E402
from experiments import OPTIONS, experiment  # noqa: E402
from networks import Size, node_network  # noqa: E402

SIZE = Size(layers=70, filters=32, widths=(64, 64))
QUICK_SIZE = Size(layers=4, filters=16, widths=(32, 32))
EPOCHS, QUICK_EPOCHS = 1_500, 30
BATCH_SIZE = 8
# Whether to trust a car takes one number, which is the mean in the paper.
AGGREGATE = "mean"
OF_CARS = {
    name: {**OPTIONS.get(name, {}), "aggregate": AGGREGATE}
    for name in kz.methods()
}


def build(size):
    return node_network(graph(), size)


def protocols(quick):
    size = QUICK_SIZE if quick else SIZE
    return [
        experiment(
            quick,
            size,
            name="cars_pressure",
            title="Pressure on cars → high drag",
            load=partial(load, key="pressure_coefficient"),
            build=partial(build, size),
            epochs=QUICK_EPOCHS if quick else EPOCHS,
            batch_size=BATCH_SIZE,
            options=OF_CARS,
            settings=SETTINGS,
            units="the pressure coefficient",
        )
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
