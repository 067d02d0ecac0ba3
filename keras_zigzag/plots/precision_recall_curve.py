from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag import metrics
from keras_zigzag.metrics.detection import Positive
from keras_zigzag.metrics.inputs import NanPolicy
from keras_zigzag.plots.axes import (
    LINE,
    add_legend,
    axes_for,
    show_unit_square,
)
from keras_zigzag.plots.inputs import named
from keras_zigzag.plots.palette import OOD

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def precision_recall_curve(
    id_uncertainty: Any,
    ood_uncertainty: Any,
    positive: Positive = "ood",
    nan_policy: NanPolicy = "raise",
    id_weight: Any = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws how many of the samples that are flagged are OOD indeed.

    One curve per OOD set, of `keras_zigzag.metrics.detection_curves`, with
    its average precision (AP) in the legend. A dotted line of the same colour
    is the prevalence, which is all that a random score reaches.

    Args:
        id_uncertainty: Array of the uncertainties of the ID samples.
        ood_uncertainty: Array of those of the OOD samples, or a dictionary
            from the names of several OOD sets to such arrays.
        positive: `"ood"` or `"id"`, the class to find. Defaults to `"ood"`.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.
        id_weight: Array of the shape of `id_uncertainty`, or `None`. How
            many samples each one stands for.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Example:

    >>> ax = keras_zigzag.plots.precision_recall_curve(
    ...     id_uncertainty=[0.1, 0.4],
    ...     ood_uncertainty={"SVHN": [0.35, 0.8]},
    ... )
    >>> ax.get_ylabel()
    'precision'
    """
    drawn = []
    for name, scores in named(
        ood_uncertainty, "OOD", "ood_uncertainty"
    ).items():
        sets: dict[str, Any] = {
            "id_uncertainty": id_uncertainty,
            "ood_uncertainty": scores,
            "positive": positive,
            "nan_policy": nan_policy,
            "id_weight": id_weight,
        }
        curve = metrics.detection_curves(**sets)
        precision = metrics.average_precision(**sets)
        label = f"{name}, AP {precision:.3f} (random {curve.prevalence:.3f})"
        drawn.append((label, curve))
    ax = axes_for(ax, colors=OOD)
    for label, curve in drawn:
        # At a recall of 0 nothing is flagged, and there is no precision.
        (line,) = ax.plot(
            curve.tpr[1:], curve.precision[1:], label=label, **LINE
        )
        ax.plot(
            [0.0, 1.0],
            np.full(2, curve.prevalence),
            ":",
            color=line.get_color(),
            linewidth=1.0,
            zorder=1.5,
        )
    show_unit_square(ax)
    what = "OOD" if positive == "ood" else "ID"
    ax.set(xlabel=f"recall, {what} samples found", ylabel="precision")
    add_legend(ax)
    return ax
