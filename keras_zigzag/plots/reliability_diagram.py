from typing import TYPE_CHECKING, Any

from keras_zigzag import metrics
from keras_zigzag.metrics.calibration import Binning
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


def reliability_diagram(
    labels: Any,
    probabilities: Any,
    num_bins: int = 15,
    binning: Binning = "width",
    sample_weight: Any = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws how often the predictions of a confidence are right.

    The curve of `keras_zigzag.metrics.reliability_curve`, with the expected
    calibration error (ECE) in the legend. The pale stems are the share of the
    samples in each bin.

    Args:
        labels: Array of class indices, of shape `(num_samples, ...)`.
        probabilities: Array of shape `(num_samples, ..., num_classes)`, or
            of the shape of `labels`: the probability of class 1. Or a
            dictionary from the names of several predictions to such arrays.
        num_bins: Integer. Defaults to `15`.
        binning: `"width"` or `"mass"`. Defaults to `"width"`.
        sample_weight: Array of the shape of `labels`, or `None`.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Example:

    >>> ax = keras_zigzag.plots.reliability_diagram(
    ...     labels=[0, 1], probabilities=[[0.8, 0.2], [0.6, 0.4]])
    >>> ax.lines[0].get_ydata()
    [0.0, 1.0]
    """
    drawn = []
    for name, p in named(probabilities, "prediction", "probabilities").items():
        options: dict[str, Any] = {
            "num_bins": num_bins,
            "binning": binning,
            "sample_weight": sample_weight,
        }
        error = metrics.expected_calibration_error(labels, p, **options)
        curve = metrics.reliability_curve(labels, p, **options)
        drawn.append((f"{name}, ECE {error:.3f}", curve))
    ax = axes_for(ax)
    for label, curve in drawn:
        (line,) = ax.plot(
            curve.confidence,
            curve.frequency,
            "o-",
            markersize=3,
            label=label,
            **LINE,
        )
        ax.vlines(
            curve.confidence,
            0.0,
            curve.share,
            color=line.get_color(),
            linewidth=4.0,
            alpha=0.25,
        )
    draw_reference(ax, [0.0, 1.0], [0.0, 1.0], "calibrated")
    show_unit_square(ax)
    ax.set(xlabel="confidence", ylabel="accuracy, share of samples")
    add_legend(ax)
    return ax
