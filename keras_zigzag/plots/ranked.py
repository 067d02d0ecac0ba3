"""Curves over the samples in order of their uncertainty."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from keras_zigzag.plots.axes import LINE, add_legend, axes_for, draw_reference

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KEPT = "fraction kept, most certain first"
Drawn = list[tuple[str, Any]]


def ranked(
    scores: Mapping[str, Any],
    oracle: Any,
    curve: Callable[[Any], Any],
    area: Callable[[Any], str],
) -> Drawn:
    """Label and curve of each score, and last of the oracle.

    Args:
        scores: Dictionary from names to arrays.
        oracle: Array, the best score that there could be, or `None`.
        curve: Function from an array to a curve of `x, y, …`.
        area: Function from an array to what the legend says of the area.
    """
    all_scores = list(scores.items())
    if oracle is not None:
        all_scores.append(("oracle", oracle))
    return [
        (f"{name}, {area(score)}", curve(score)) for name, score in all_scores
    ]


def draw_ranked(
    ax: "Axes | None",
    drawn: Drawn,
    random: float,
    xlabel: str,
    ylabel: str,
    has_oracle: bool = True,
) -> "Axes":
    """Draws the curves, the last of which may be the oracle.

    Args:
        ax: Matplotlib axes, or `None`.
        drawn: What `ranked` returned.
        random: Float. The height of the curve of a random order.
        xlabel: String.
        ylabel: String.
        has_oracle: Boolean. Defaults to `True`.
    """
    ax = axes_for(ax)
    curves, oracles = (drawn[:-1], drawn[-1:]) if has_oracle else (drawn, [])
    for label, (x, y, *_) in curves:
        ax.plot(x, y, label=label, **LINE)
    for label, (x, y, *_) in oracles:
        draw_reference(ax, x, y, label, "--")
    draw_reference(ax, [0.0, 1.0], [random, random], "random")
    ax.set(xlim=(0.0, 1.0), xlabel=xlabel)
    ax.set_ylabel(ylabel)
    add_legend(ax)
    return ax
