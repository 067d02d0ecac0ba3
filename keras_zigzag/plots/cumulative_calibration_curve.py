from typing import TYPE_CHECKING, Any

from keras_zigzag import metrics
from keras_zigzag.plots.axes import (
    LINE,
    add_legend,
    axes_for,
    draw_reference,
    show_unit_square,
)
from keras_zigzag.plots.inputs import named

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def cumulative_calibration_curve(
    absolute_error: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws the share of all error against the share of all uncertainty.

    The curve of `keras_zigzag.metrics.cumulative_calibration_curve`; the area
    between it and the diagonal stands in the legend.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    figure "Actual error vs uncertainty".

    Args:
        absolute_error: Array of errors that are not negative, one per
            sample.
        uncertainty: Array of the same shape, finite and not negative, or a
            dictionary from the names of several scores of the same samples
            to such arrays.
        sample_weight: Array of the same shape, or `None`.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Example:

    >>> ax = keras_zigzag.plots.cumulative_calibration_curve(
    ...     absolute_error=[1.0, 1.0, 2.0], uncertainty=[0.1, 0.4, 0.5])
    >>> ax.lines[0].get_ydata()
    [0.0, 0.25, 0.5, 1.0]
    """
    drawn = []
    for name, score in named(uncertainty, "uncertainty", "uncertainty").items():
        given = (absolute_error, score, sample_weight)
        area = metrics.cumulative_calibration_error(*given)
        curve = metrics.cumulative_calibration_curve(*given)
        drawn.append((f"{name}, area {area:.3f}", curve))
    ax = axes_for(ax)
    for label, curve in drawn:
        ax.plot(curve.uncertainty_share, curve.error_share, label=label, **LINE)
    draw_reference(ax, [0.0, 1.0], [0.0, 1.0], "proportional")
    show_unit_square(ax)
    ax.set(xlabel="share of all uncertainty", ylabel="share of all error")
    add_legend(ax)
    return ax
