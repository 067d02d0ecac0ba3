"""The axes of a picture: of the caller, or new at a paper's column width."""

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag.metrics.inputs import Array
from keras_zigzag.plots.palette import (
    LINES,
    MISSING,
    REFERENCE,
    UNCERTAINTY_MAP,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.3, 2.2  # inches, without a legend
DPI = 200
LABEL_SIZE, TICK_SIZE = 8, 7  # points
LEGEND_LETTERS = 42  # in a line
# Of the label's size, so that it fits axes of the caller too.
SMALL = TICK_SIZE / LABEL_SIZE
LINE: dict[str, Any] = {"linewidth": 1.3}


def new_figure(width: float = WIDTH, height: float = HEIGHT) -> "Figure":
    """A figure that pyplot does not know: nobody has to close it."""
    try:
        from keras_zigzag.plots.shown import ShownFigure
    except ImportError as error:
        raise ImportError(
            "Pictures need Matplotlib, which the extra `plot` brings: "
            "`pip install 'keras-zigzag[plot]'`."
        ) from error
    return ShownFigure((width, height), dpi=DPI, layout="constrained")


def new_axes(figure: Any, *position: Any, is_3d: bool = False) -> "Axes":
    """Adds axes with small type and few lines to a figure."""
    from keras_zigzag.plots.shown import ShownAxes, ShownAxes3D

    kind = ShownAxes3D if is_3d else ShownAxes
    ax = figure.add_subplot(*position, axes_class=kind)
    # A logarithmic axis of one decade labels its minor ticks too.
    ax.tick_params(which="both", labelsize=TICK_SIZE)
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set_size(LABEL_SIZE)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def axes_for(
    ax: "Axes | None",
    height: float = HEIGHT,
    colors: list[str] = LINES,
    is_3d: bool = False,
) -> "Axes":
    """The caller's axes, or new ones if that is `None`.

    Curves take the colours in turn; a second call goes on where the first
    has stopped.
    """
    if ax is None:
        ax = new_axes(new_figure(height=height), is_3d=is_3d)
    elif not hasattr(ax, "has_data"):
        raise ValueError(
            "`ax` must be Matplotlib axes, one picture each; of the array "
            "that `plt.subplots(2, 2)` returns it is one entry. "
            f"Received: ax={ax!r}"
        )
    if not ax.has_data():
        ax.set_prop_cycle(color=colors)
    return ax


def small(ax: "Axes") -> float:
    """Size in points of what is smaller than the labels of the axes."""
    return SMALL * ax.xaxis.label.get_size()


def draw_reference(
    ax: "Axes", x: Any, y: Any, label: str, linestyle: str = ":"
) -> None:
    """A line to compare with: drawn below the curves, labelled once."""
    known = [line for line in ax.lines if line.get_gid() == label]
    if any(
        np.array_equal(line.get_xdata(), x)
        and np.array_equal(line.get_ydata(), y)
        for line in known
    ):
        return
    ax.plot(
        x,
        y,
        linestyle,
        color=REFERENCE,
        label="_" + label if known else label,
        gid=label,
        linewidth=1.0,
        zorder=1.5,
    )


def data_in_view(ax: "Axes") -> tuple[Array, Array]:
    """What the axes show so far: the ends of its range in x, and in y.

    Returns:
        Two arrays of shape `(2,)`, or `(0,)` where there is no data.
    """
    box = ax.dataLim
    return _overlap(box.intervalx, ax.get_xlim()), _overlap(
        box.intervaly, ax.get_ylim()
    )


def limits(*values: Any) -> tuple[float, float]:
    """The lowest and the highest of all finite values in the arrays."""
    together = np.concatenate([np.ravel(one) for one in values])
    finite = together[np.isfinite(together)]
    return float(finite.min()), float(finite.max())


def show_unit_square(ax: "Axes") -> None:
    """Limits from 0 to 1, with room for a line on the edge."""
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))


def add_legend(ax: "Axes") -> None:
    """A legend that hides no data.

    It stands below the axes where a layout makes room for it, which it does
    in figures of our own; else Matplotlib looks for a free corner.
    """
    size = small(ax)
    handles, labels = ax.get_legend_handles_labels()
    labels = [textwrap.fill(label, LEGEND_LETTERS) for label in labels]
    options: dict[str, Any] = {
        "handles": handles,
        "labels": labels,
        "fontsize": size,
        "handlelength": 1.6,
        "borderpad": 0.3,
    }
    if ax.figure.get_layout_engine() is None:
        ax.legend(framealpha=0.9, **options)
        return
    from matplotlib.transforms import ScaledTranslation

    # Ticks, their labels and the axis' label are above it.
    points = 12.0 + 1.2 * size + 1.2 * ax.xaxis.label.get_size()
    root = ax.figure.canvas.figure
    below = ScaledTranslation(0.0, -points / 72.0, root.dpi_scale_trans)
    num_columns = _num_columns(ax, labels, size)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + below,
        borderaxespad=0.0,
        frameon=False,
        ncols=num_columns,
        columnspacing=1.2,
        labelspacing=0.3,
        **options,
    )
    if is_own(ax):
        lines = [label.count("\n") + 1 for label in labels]
        num_lines = -(-sum(lines) // num_columns)
        root.set_figheight(HEIGHT + num_lines * 1.3 * size / 72.0)


def is_own(ax: "Axes") -> bool:
    """Whether the axes are alone in a figure that `axes_for` has made."""
    figure = ax.figure
    return type(figure).__name__ == "ShownFigure" and figure.axes == [ax]


def uncertainty_map(name: str = UNCERTAINTY_MAP) -> Any:
    """The colour map of uncertainties, with a colour of what is missing."""
    import matplotlib

    return matplotlib.colormaps[name].with_extremes(bad=MISSING)


def add_color_bar(ax: "Axes", mappable: Any, label: str) -> None:
    """A bar as high as the picture, whatever its aspect."""
    cax = ax.inset_axes((1.03, 0.0, 0.04, 1.0))
    ax.figure.colorbar(mappable, cax=cax)
    cax.tick_params(which="both", labelsize=small(ax))
    cax.set_ylabel(label, fontsize=ax.xaxis.label.get_size())


def add_note(ax: "Axes", text: str) -> None:
    """Words about what is not in the picture, above it on the right."""
    ax.set_title(text, loc="right", fontsize=small(ax), color=REFERENCE)


def _overlap(data: Array, view: tuple[float, float]) -> Array:
    low, high = max(data[0], min(view)), min(data[1], max(view))
    return np.array([low, high] if low <= high else [])


def _num_columns(ax: "Axes", labels: list[str], size: float) -> int:
    root = ax.figure.canvas.figure
    room = ax.get_window_extent().width * 72.0 / root.dpi
    # A letter is about half as wide as it is high; a handle, two letters.
    width = max(len(line) for label in labels for line in label.split("\n"))
    needed = size * (0.5 * width + 3.6)
    return max(1, min(len(labels), int(room // needed)))
