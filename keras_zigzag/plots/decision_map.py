from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag.metrics.decisions import most_probable, yes_or_no
from keras_zigzag.metrics.inputs import Array, as_numbers
from keras_zigzag.plots.axes import (
    add_color_bar,
    add_note,
    axes_for,
    data_in_view,
    limits,
    uncertainty_map,
)
from keras_zigzag.plots.inputs import (
    check_any_finite,
    check_length,
    left_out,
)
from keras_zigzag.plots.palette import LINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUNDING = 1e-6


def decision_map(
    x: Any,
    y: Any,
    uncertainty: Any,
    prediction: Any = None,
    points: Any = None,
    labels: Any = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws the uncertainty of a classification of points in the plane.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    the toy classification.

    Args:
        x: Array of shape `(width,)`, first coordinates of a grid.
        y: Array of shape `(height,)`, second coordinates of the grid.
        uncertainty: Array of shape `(height, width)`, or `(height * width,)`
            in the order of `np.meshgrid(x, y)`. Places that are not finite
            are grey, and a note says how many.
        prediction: Array of the same shape, of integer classes or of the
            probability of class 1, or with a last axis of classes: where the
            most probable class changes there is a white line. Defaults to
            `None`.
        points: Array of shape `(num_points, 2)`, the training samples.
            Defaults to `None`.
        labels: Array of integers of shape `(num_points,)`, their classes.
            Defaults to `None`.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Raises:
        ValueError: If shapes do not agree, nothing is finite, or single
            predictions are neither integers nor probabilities.

    Example:

    >>> x, y = np.linspace(-1, 1, 5), np.linspace(-1, 1, 4)
    >>> grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    >>> ax = keras_zigzag.plots.decision_map(
    ...     x, y, uncertainty=grid.sum(axis=-1))
    """
    x, y = _axis(x, "x"), _axis(y, "y")
    shape = (len(y), len(x))
    score = _on_grid(uncertainty, shape, "uncertainty")
    is_finite = np.isfinite(score)
    check_any_finite(is_finite, "uncertainty")
    classes = None
    if prediction is not None:
        classes = _classes(prediction, shape)
        is_finite &= np.isfinite(classes)
        score = np.where(is_finite, score, np.nan)
        check_any_finite(is_finite, "uncertainty", "prediction")
    if points is not None:
        points = as_numbers(points, "points")
        if points.ndim != 2 or points.shape[-1] != 2:
            raise ValueError(
                "`points` must be of shape `(num_points, 2)`. "
                f"Received: an array of shape {points.shape}."
            )
        labels = np.zeros(len(points), int) if labels is None else labels
        labels = np.asarray(labels).ravel()
        check_length("labels", len(labels), "points", len(points))

    ax = axes_for(ax)
    seen = data_in_view(ax)
    mesh = ax.pcolormesh(
        x,
        y,
        np.ma.masked_invalid(score),
        cmap=uncertainty_map(),
        shading="nearest",
        rasterized=True,
    )
    if classes is not None:
        _draw_boundaries(ax, x, y, classes)
    if points is not None:
        _draw_points(ax, points, labels)
    at = np.zeros((0, 2)) if points is None else points
    ax.set_xlim(limits(x, at[:, 0], seen[0]))
    ax.set_ylim(limits(y, at[:, 1], seen[1]))
    ax.set_aspect("equal")
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    add_color_bar(ax, mesh, "uncertainty")
    num_bad = int(np.count_nonzero(~is_finite))
    if num_bad:
        add_note(ax, f"grey: {left_out(num_bad, score.size)}")
    return ax


def _draw_boundaries(ax: "Axes", x: Array, y: Array, classes: Array) -> None:
    for index in np.unique(classes[np.isfinite(classes)])[1:]:
        ax.contour(
            x, y, classes >= index, levels=[0.5], colors="white", linewidths=1.0
        )


def _draw_points(ax: "Axes", points: Array, labels: Array) -> None:
    # The two colours that stand out from the map best come first.
    colors = [LINES[1], LINES[5], LINES[2], LINES[3], LINES[0], LINES[6]]
    for index, label in enumerate(np.unique(labels)):
        ax.scatter(
            *points[labels == label].T,
            s=8,
            marker="o^sDvP"[index % 6],
            color=colors[index % len(colors)],
            edgecolors="white",
            linewidths=0.4,
            label=f"class {label}",
            zorder=3,
        )


def _axis(values: Any, name: str) -> Array:
    values = as_numbers(values, name).astype("float64")
    if values.ndim != 1 or len(values) < 2 or np.any(np.diff(values) <= 0):
        raise ValueError(
            f"`{name}` must be the coordinates of a grid along one axis, two "
            "at least, in rising order. "
            f"Received: an array of shape {values.shape}."
        )
    return values


def _on_grid(values: Any, shape: tuple[int, int], name: str) -> Array:
    values = as_numbers(values, name).astype("float64")
    if values.shape not in (shape, (shape[0] * shape[1],)):
        raise ValueError(
            f"`{name}` must have one value per place of the grid, of shape "
            f"{shape} or flat in the order of `np.meshgrid(x, y)`. "
            f"Received: an array of shape {values.shape}."
        )
    return values.reshape(shape)


def _check_probabilities(prediction: Array) -> None:
    known = prediction[np.isfinite(prediction)]
    # Means of probabilities may round to a little more.
    if np.any((known < -ROUNDING) | (known > 1 + ROUNDING)):
        raise ValueError(
            "`prediction` must be the probability of class 1, or classes as "
            "integers. Received: values from "
            f"{known.min():.3g} to {known.max():.3g}. Apply a sigmoid to "
            "logits."
        )


def _classes(prediction: Any, shape: tuple[int, int]) -> Array:
    prediction = as_numbers(prediction, "prediction")
    size = shape[0] * shape[1]
    if prediction.size > size and prediction.size % size == 0:
        prediction = most_probable(prediction.reshape(size, -1))
    elif prediction.size == size and prediction.dtype.kind == "f":
        _check_probabilities(prediction)
        prediction = yes_or_no(prediction.reshape(size))
    return _on_grid(prediction, shape, "prediction")
