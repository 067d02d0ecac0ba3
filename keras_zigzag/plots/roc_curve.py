from typing import TYPE_CHECKING, Any

from keras_zigzag import metrics
from keras_zigzag.metrics.inputs import NanPolicy
from keras_zigzag.plots.axes import (
    LINE,
    add_legend,
    axes_for,
    draw_reference,
    show_unit_square,
)
from keras_zigzag.plots.inputs import named
from keras_zigzag.plots.palette import OOD

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def roc_curve(
    id_uncertainty: Any,
    ood_uncertainty: Any,
    nan_policy: NanPolicy = "raise",
    id_weight: Any = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws how many OOD samples are found at what rate of false alarms.

    One curve per OOD set, of `keras_zigzag.metrics.detection_curves`, with
    its area in the legend.

    Args:
        id_uncertainty: Array of the uncertainties of the ID samples.
        ood_uncertainty: Array of those of the OOD samples, or a dictionary
            from the names of several OOD sets to such arrays.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.
        id_weight: Array of the shape of `id_uncertainty`, or `None`. How
            many samples each one stands for.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Example:

    >>> ax = keras_zigzag.plots.roc_curve(
    ...     id_uncertainty=[0.1, 0.4],
    ...     ood_uncertainty={"SVHN": [0.35, 0.8]},
    ... )
    >>> ax.figure.savefig("roc.png")
    """
    drawn = []
    for name, scores in named(
        ood_uncertainty, "OOD", "ood_uncertainty"
    ).items():
        sets: dict[str, Any] = {
            "id_uncertainty": id_uncertainty,
            "ood_uncertainty": scores,
            "nan_policy": nan_policy,
            "id_weight": id_weight,
        }
        label = f"{name}, AUC {metrics.roc_auc(**sets):.3f}"
        drawn.append((label, metrics.detection_curves(**sets)))
    ax = axes_for(ax, colors=OOD)
    for label, curve in drawn:
        ax.plot(curve.fpr, curve.tpr, label=label, **LINE)
    draw_reference(ax, [0.0, 1.0], [0.0, 1.0], "random")
    show_unit_square(ax)
    ax.set(xlabel="ID samples taken for OOD", ylabel="OOD samples found")
    add_legend(ax)
    return ax
