"""One call of every plot, and what the tests look at."""

import numpy as np

from keras_zigzag import plots

GENERATOR = np.random.default_rng(0)
NUM = 60
ID = GENERATOR.gamma(1.0, 0.1, NUM)
OOD = {"near": GENERATOR.gamma(2.0, 0.1, 40), "far": 0.2 + ID[:50]}
ERROR = GENERATOR.uniform(0.1, 1.0, NUM) * (ID + 0.1)
CORRECT = GENERATOR.random(NUM) > ID
LABELS = GENERATOR.integers(0, 3, NUM)
PROBABILITIES = GENERATOR.dirichlet([1.0, 1.0, 1.0], NUM)
IMAGES = GENERATOR.random((NUM, 4, 5))
SQUARE = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
TRIANGLES = [[0, 1, 2], [1, 3, 2]]

CASES = {
    "band": lambda **ax: plots.band(
        [0.0, 1.0, 2.0], [[1.0], [2.0], [0.0]], [0.1, 0.2, 0.3], **ax
    ),
    "cumulative_calibration_curve": lambda **ax: (
        plots.cumulative_calibration_curve(ERROR, ID, **ax)
    ),
    "decision_map": lambda **ax: plots.decision_map(
        [0.0, 1.0, 2.0], [0.0, 1.0], np.arange(6.0), **ax
    ),
    "error_against_uncertainty": lambda **ax: plots.error_against_uncertainty(
        ERROR, ID, **ax
    ),
    "gallery": lambda **ax: plots.gallery(IMAGES, ID, **ax),
    "heat_map": lambda **ax: plots.heat_map(
        IMAGES[0], IMAGES[1] > 0.5, IMAGES[2], **ax
    ),
    "histograms": lambda **ax: plots.histograms(ID, OOD, **ax),
    "lift_curve": lambda **ax: plots.lift_curve(CORRECT, ID, **ax),
    "lift_curve_regression": lambda **ax: plots.lift_curve_regression(
        ERROR, ID, **ax
    ),
    "mesh_heat_map": lambda **ax: plots.mesh_heat_map(
        SQUARE, TRIANGLES, [0.1, 0.2, 0.3, 0.4], **ax
    ),
    "precision_recall_curve": lambda **ax: plots.precision_recall_curve(
        ID, OOD, **ax
    ),
    "reliability_diagram": lambda **ax: plots.reliability_diagram(
        LABELS, PROBABILITIES, **ax
    ),
    "risk_coverage_curve": lambda **ax: plots.risk_coverage_curve(
        ERROR, ID, **ax
    ),
    "roc_curve": lambda **ax: plots.roc_curve(ID, OOD, **ax),
    "training_curves": lambda **ax: plots.training_curves(
        {"loss": [1.0, 0.5], "val_raulc": [0.2, 0.4]}, **ax
    ),
}


def labels(ax):
    """What the legend says, however it breaks the lines."""
    return [
        text.get_text().replace("\n", " ")
        for text in ax.get_legend().get_texts()
    ]


def line(ax, label):
    """The data of the line whose label begins with this."""
    (found,) = [line for line in ax.lines if line.get_label().startswith(label)]
    return found.get_data()
