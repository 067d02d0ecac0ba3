"""Figures and axes that a notebook shows although pyplot knows none of them.

The one module that imports Matplotlib when it is imported itself.
"""

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D


class ShownFigure(Figure):
    """A figure of its own, which nobody has to close."""

    def _repr_png_(self) -> bytes:
        return as_png(self)


class ShownAxes(Axes):
    """Axes that a notebook shows with their figure."""

    def _repr_png_(self) -> bytes:
        return as_png(self.figure)


class ShownAxes3D(Axes3D):
    """As `ShownAxes`, in three dimensions."""

    def _repr_png_(self) -> bytes:
        return as_png(self.figure)


def as_png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.canvas.print_figure(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()
