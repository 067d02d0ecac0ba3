from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag.metrics.decisions import most_probable
from keras_zigzag.metrics.inputs import Array, as_numbers
from keras_zigzag.number_checks import is_integer
from keras_zigzag.plots.axes import (
    WIDTH,
    add_color_bar,
    add_note,
    axes_for,
    limits,
    small,
    uncertainty_map,
)
from keras_zigzag.plots.images import as_images
from keras_zigzag.plots.inputs import check_any_finite, left_out
from keras_zigzag.plots.palette import (
    MISSING,
    class_colors,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.05  # between two panels, of a panel's width


def heat_map(
    image: Any,
    prediction: Any,
    uncertainty: Any,
    truth: Any = None,
    ignore_class: int | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Shows an image, what was predicted for its pixels, and how uncertain.

    The panels stand side by side in one pair of axes. Pixels that are not
    finite are grey, and a note says how many.

    Args:
        image: Array of shape `(height, width)`, or with a last axis of 1, 3
            or 4 channels.
        prediction: Array of shape `(height, width)`: classes if its type is
            an integer's, values otherwise. Or with a last axis: probabilities
            of several classes, of which the most probable is shown, or one
            value.
        uncertainty: Array of shape `(height, width)`.
        truth: Array of shape `(height, width)`, or `(height, width, 1)`, the
            targets, for a panel before the prediction. Defaults to `None`.
            Labels that stand for no class are grey: those below 0, and where
            `prediction` has an axis of classes, those that it does not have.
        ignore_class: Integer, or `None`. A label in `truth` that stands for no
            class either, such as 255. Defaults to `None`.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes, with one picture per panel in `ax.images`.

    Example:

    >>> ax = keras_zigzag.plots.heat_map(
    ...     image=np.zeros((4, 5, 3)),
    ...     prediction=np.zeros((4, 5, 2)),
    ...     uncertainty=np.ones((4, 5)),
    ... )
    >>> len(ax.images)
    3
    """
    if not (ignore_class is None or is_integer(ignore_class)):
        raise ValueError(
            "`ignore_class` must be an integer, the label that stands for no "
            f"class, or None. Received: ignore_class={ignore_class!r}"
        )
    image = as_images(np.asarray(image)[np.newaxis], "image")[0]
    shape = image.shape[:2]
    maps, kinds = {}, []
    if truth is not None:
        maps["truth"], is_class = _map(truth, shape, "truth")
        kinds.append(is_class)
    maps["prediction"], is_class = _map(prediction, shape, "prediction")
    kinds.append(is_class)
    score = as_numbers(uncertainty, "uncertainty").astype("float64")
    _check_shape(score, shape, "uncertainty")
    maps["uncertainty"] = score
    is_finite = {name: np.isfinite(values) for name, values in maps.items()}
    for name, some in is_finite.items():
        check_any_finite(some, name)
    num_bad = int(np.count_nonzero(~np.all(list(is_finite.values()), axis=0)))
    del maps["uncertainty"]
    num_classes = _num_classes(prediction) if all(kinds) else None
    maps = _masked(maps, num_classes, ignore_class)

    num_panels = len(maps) + 2
    aspect = shape[0] / shape[1]
    ax = axes_for(ax, height=(WIDTH - 0.6) / num_panels * aspect + 0.3)
    ax.set_axis_off()
    _draw(ax, 0, "image", image, aspect, cmap="gray", vmin=0.0, vmax=1.0)
    options = _options(list(maps.values()), all(kinds))
    for panel, (name, values) in enumerate(maps.items(), start=1):
        _draw(ax, panel, name, values, aspect, **options)
    shown = _draw(
        ax,
        num_panels - 1,
        "uncertainty",
        np.ma.masked_invalid(score),
        aspect,
        cmap=uncertainty_map(),
    )
    ax.set_xlim(0, num_panels * (1 + GAP) - GAP)
    ax.set_ylim(0, aspect)
    add_color_bar(ax, shown, "")
    if num_bad:
        add_note(ax, f"grey: {left_out(num_bad, score.size)}")
    return ax


def _draw(
    ax: "Axes",
    panel: int,
    name: str,
    values: Any,
    aspect: float,
    **options: Any,
) -> Any:
    left = panel * (1 + GAP)
    ax.text(
        left + 0.5,
        -0.03,
        name,
        fontsize=small(ax),
        ha="center",
        va="top",
    )
    return ax.imshow(
        values,
        extent=(left, left + 1, 0.0, aspect),
        interpolation="nearest",
        **options,
    )


def _map(values: Any, shape: tuple[int, ...], name: str) -> tuple[Array, bool]:
    """A value for each pixel, and whether these are classes."""
    values = as_numbers(values, name)
    is_class = values.dtype.kind in "biu"
    if values.ndim == 3 and values.shape[-1] > 1:
        values, is_class = most_probable(values), True
    elif values.ndim == 3:
        values = values[..., 0]
    _check_shape(values, shape, name)
    return values, is_class


def _num_classes(prediction: Any) -> float:
    """Infinity if the prediction has no axis of classes."""
    shape = np.shape(prediction)
    return shape[-1] if len(shape) == 3 and shape[-1] > 1 else np.inf


def _masked(
    maps: dict[str, Array], num_classes: float | None, ignore_class: int | None
) -> dict[str, Any]:
    """The maps without what is grey: not finite, or a label of no class.

    Args:
        maps: Dictionary from names to arrays of one shape.
        num_classes: Integer or infinity, `None` if they hold no classes.
        ignore_class: Integer, or `None`.
    """
    masked = {name: np.ma.masked_invalid(one) for name, one in maps.items()}
    if num_classes is not None:
        masked = {
            name: np.ma.masked_outside(one, 0, num_classes - 1)
            for name, one in masked.items()
        }
    if "truth" in masked and ignore_class is not None:
        masked["truth"] = np.ma.masked_equal(masked["truth"], ignore_class)
    return masked


def _check_shape(values: Array, shape: tuple[int, ...], name: str) -> None:
    if values.shape != shape:
        raise ValueError(
            f"`{name}` must have one value per pixel of `image`, of shape "
            f"{shape}. Received: an array of shape {values.shape}."
        )


def _options(maps: list[Any], are_classes: bool) -> dict[str, Any]:
    """The same colours for the same class or value in all maps."""
    shown = np.concatenate([values.compressed() for values in maps])
    # There may be no label that stands for a class.
    low, high = limits(shown) if shown.size else (0.0, 0.0)
    if not are_classes:
        return {"cmap": uncertainty_map("viridis"), "vmin": low, "vmax": high}
    from matplotlib.colors import ListedColormap

    num_classes = int(high) + 1
    colors = ListedColormap(class_colors(num_classes))
    colors = colors.with_extremes(bad=MISSING)
    return {"cmap": colors, "vmin": -0.5, "vmax": num_classes - 0.5}
