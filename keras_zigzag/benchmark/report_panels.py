"""Figures of several panels, in which a method looks alike everywhere."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import keras_zigzag as kz
from keras_zigzag.benchmark.report_rows import ENTROPY
from keras_zigzag.plots.axes import LABEL_SIZE, TICK_SIZE, new_axes, new_figure
from keras_zigzag.plots.palette import LINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.9  # inches, the width of a page's text
LEGEND_LINE = 0.15  # inches
LETTERS = 12  # of a label, in an inch
LEGEND_LETTERS = 16
HANDLE = 5  # letters, with the space around it
LINESTYLES = ("-", "--")
# Of another score of the same network, in the network's colour.
OTHER_SCORE = ":"
MARKERS = "osD^vP*X<>phd"


def style(label: str, labels: Sequence[str]) -> dict[str, Any]:
    """Colour, line and marker of a method.

    Args:
        label: String.
        labels: List of the labels of the section. Where some are no method's
            name, all take their looks from their places among them.
    """
    known = list(kz.methods())
    method, *other = label.split(ENTROPY)
    # One index in every figure, whether it draws the entropies or not.
    named = list(dict.fromkeys(one.split(ENTROPY)[0] for one in labels))
    names = known if set(named) <= set(known) else [*named, method]
    index = names.index(method)
    line = LINESTYLES[index // len(LINES) % len(LINESTYLES)]
    return {
        "color": LINES[index % len(LINES)],
        "linestyle": OTHER_SCORE if other else line,
        "marker": MARKERS[index % len(MARKERS)],
    }


def line_style(label: str, labels: Sequence[str]) -> dict[str, Any]:
    """As `style`, for a curve without markers."""
    looks = style(label, labels)
    del looks["marker"]
    return looks


def panels(
    num: int, num_columns: int, height: float, legend_lines: int = 0
) -> tuple["Figure", list["Axes"]]:
    """A figure at the width of a page, and its axes row by row.

    Args:
        num: Integer.
        num_columns: Integer.
        height: Float. Of a row, in inches.
        legend_lines: Integer. How many lines of a legend are below. Defaults
            to `0`.
    """
    num_rows = -(-num // num_columns)
    figure = new_figure(WIDTH, num_rows * height + LEGEND_LINE * legend_lines)
    return figure, [
        new_axes(figure, num_rows, num_columns, index + 1)
        for index in range(num)
    ]


def add_title(ax: "Axes", title: str) -> None:
    ax.set_title(title, fontsize=LABEL_SIZE, loc="left")


def add_shared_legend(
    figure: "Figure", handles: Mapping[str, Any], num_columns: int = 4
) -> None:
    """One legend below all panels, in fewer columns if labels are long."""
    if handles:
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside lower center",
            ncols=_columns_that_fit(list(handles), num_columns),
            fontsize=TICK_SIZE,
            frameon=False,
            handlelength=2.4,
            columnspacing=1.2,
            labelspacing=0.3,
        )


def _columns_that_fit(labels: list[str], num_columns: int) -> int:
    for count in range(num_columns, 1, -1):
        # As Matplotlib lays them out.
        columns = np.array_split([len(one) for one in labels], count)
        letters = sum(one.max(initial=0) + HANDLE for one in columns)
        if letters <= LEGEND_LETTERS * WIDTH:
            return count
    return 1


def shared_labels(figure: "Figure", xlabel: str, ylabel: str) -> None:
    """One label for all panels of a grid, in lines that fit beside it."""
    ylabel = textwrap.fill(ylabel, int(LETTERS * figure.get_figheight()))
    figure.supxlabel(xlabel, fontsize=LABEL_SIZE)
    figure.supylabel(ylabel, fontsize=LABEL_SIZE)
