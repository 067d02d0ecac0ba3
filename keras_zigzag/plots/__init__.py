"""Pictures of how good uncertainties are, on Matplotlib (extra `plot`).

Each function takes arrays and `ax=`, draws into these axes and returns them.
Without `ax` it makes a figure of its own at the column width of a paper, which
a notebook shows as soon as the axes are the last thing in a cell, and which
`ax.figure.savefig(path)` writes. No global state is read or left: no pyplot
figure, no setting. To show a picture in a window, pass axes of pyplot.
"""

from keras_zigzag.plots.band import band as band
from keras_zigzag.plots.cumulative_calibration_curve import (
    cumulative_calibration_curve as cumulative_calibration_curve,
)
from keras_zigzag.plots.decision_map import decision_map as decision_map
from keras_zigzag.plots.error_against_uncertainty import (
    error_against_uncertainty as error_against_uncertainty,
)
from keras_zigzag.plots.gallery import gallery as gallery
from keras_zigzag.plots.heat_map import heat_map as heat_map
from keras_zigzag.plots.histograms import histograms as histograms
from keras_zigzag.plots.lift_curve import lift_curve as lift_curve
from keras_zigzag.plots.lift_curve_regression import (
    lift_curve_regression as lift_curve_regression,
)
from keras_zigzag.plots.mesh_heat_map import mesh_heat_map as mesh_heat_map
from keras_zigzag.plots.precision_recall_curve import (
    precision_recall_curve as precision_recall_curve,
)
from keras_zigzag.plots.reliability_diagram import (
    reliability_diagram as reliability_diagram,
)
from keras_zigzag.plots.report import report as report
from keras_zigzag.plots.risk_coverage_curve import (
    risk_coverage_curve as risk_coverage_curve,
)
from keras_zigzag.plots.roc_curve import roc_curve as roc_curve
from keras_zigzag.plots.training_curves import (
    training_curves as training_curves,
)
