from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag.metrics.inputs import Array, as_finite, as_numbers, flat
from keras_zigzag.plots.axes import (
    LINE,
    add_legend,
    add_note,
    axes_for,
    data_in_view,
    limits,
)
from keras_zigzag.plots.inputs import (
    check_any_finite,
    finite_samples,
    left_out,
    with_left_out,
)
from keras_zigzag.plots.palette import BLACK, BLUE, SHADE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def band(
    x: Any,
    prediction: Any,
    uncertainty: Any = None,
    truth: Any = None,
    points: Any = None,
    scale: float = 1.0,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws a regression on a line: prediction ± uncertainty.

    Where there was no training sample, left and right of `points`, the
    ground is grey.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    the toy regression.

    Args:
        x: Array of shape `(num_places,)`, inputs.
        prediction: Array of as many values, `(num_places, 1)` too.
        uncertainty: Array of as many values. Where these or others are NaN
            there is a gap, and the legend says how many. Defaults to `None`:
            no band.
        truth: Array of as many values, what is to be found. Defaults to
            `None`.
        points: Pair of arrays, inputs and targets of the training. Defaults
            to `None`.
        scale: Float. How many uncertainties wide the band is on each side.
            The uncertainty is a score and no standard deviation: its scale is
            yours to choose. Defaults to `1.0`.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Example:

    >>> ax = keras_zigzag.plots.band(
    ...     x=[0.0, 1.0], prediction=[[1.0], [2.0]], uncertainty=[0.1, 0.3],
    ...     points=([0.2, 0.8], [1.1, 1.9]))
    >>> ax.lines[0].get_ydata()
    [1.0, 2.0]
    """
    given = {
        "x": x,
        "prediction": prediction,
        "uncertainty": uncertainty,
        "truth": truth,
    }
    columns = {
        name: None if values is None else _column(values, name)
        for name, values in given.items()
    }
    as_finite(columns["x"], "x")
    x, mean, score, truth = flat(**columns)
    check_any_finite(np.isfinite(mean), "prediction")
    order = np.argsort(x, kind="stable")
    known = num_bad = None
    if points is not None:
        known, num_bad = _points(points)

    ax = axes_for(ax)
    seen, _ = data_in_view(ax)
    if known is not None:
        _draw_points(ax, x, *known)
    if score is not None:
        spread = scale * score[order]
        ax.fill_between(
            x[order],
            mean[order] - spread,
            mean[order] + spread,
            color=BLUE,
            alpha=0.25,
            linewidth=0,
            label=with_left_out(_name_of_band(scale), score),
        )
    label = with_left_out("prediction", mean)
    ax.plot(x[order], mean[order], color=BLUE, label=label, **LINE)
    if truth is not None:
        label = with_left_out("truth", truth)
        ax.plot(x[order], truth[order], "--", color=BLACK, label=label, **LINE)
    inputs: Any = () if known is None else known[0]
    ax.set(xlim=limits(x, inputs, seen), xlabel="$x$", ylabel="$y$")
    if num_bad and known is not None:
        add_note(ax, left_out(num_bad, num_bad + len(known[0])))
    add_legend(ax)
    return ax


def _draw_points(ax: "Axes", x: Array, inputs: Array, targets: Array) -> None:
    label = "no training data"
    for start, end in ((x.min(), inputs.min()), (inputs.max(), x.max())):
        if start < end:
            ax.axvspan(
                start, end, color=SHADE, linewidth=0, label=label, zorder=0
            )
            label = "_" + label.lstrip("_")
    ax.scatter(
        inputs,
        targets,
        s=8,
        color=VERMILLION,
        linewidths=0,
        alpha=0.7,
        label="training data",
    )


def _name_of_band(scale: float) -> str:
    return "± uncertainty" if scale == 1.0 else f"± {scale:g} × uncertainty"


def _column(values: Any, name: str) -> Array:
    values = as_numbers(values, name).astype("float64")
    return values[:, 0] if values.shape[1:] == (1,) else values


def _points(points: Any) -> tuple[list[Array], int]:
    if not isinstance(points, (tuple, list)) or len(points) != 2:
        raise ValueError(
            "`points` must be a pair of arrays, inputs and targets of the "
            f"training. Received: points of type {type(points).__name__}."
        )
    inputs, targets = points
    return finite_samples(
        inputs=_column(inputs, "inputs"), targets=_column(targets, "targets")
    )
