from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag import metrics
from keras_zigzag.metrics.inputs import NanPolicy, as_correct
from keras_zigzag.plots.axes import LINE, add_legend, axes_for, draw_reference
from keras_zigzag.plots.inputs import named

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def lift_curve(
    correct: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws the lift of the accuracy, with the oracle and a random order.

    The curve of `keras_zigzag.metrics.lift_curve`: the accuracy of the most
    certain samples, relative to that of all. The oracle ranks every mistake
    last. The areas in the legend are the AULC.

    Args:
        correct: Array of Booleans, or 0 and 1: whether the prediction is
            right, one per sample.
        uncertainty: Array of the same shape, or a dictionary from the names
            of several scores of the same samples to such arrays.
        sample_weight: Array of the same shape, or `None`. How many samples
            each one stands for.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Example:

    >>> ax = keras_zigzag.plots.lift_curve(
    ...     correct=[1, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    >>> [line.get_label() for line in ax.lines]
    ['uncertainty, AULC 0.139', 'oracle, AULC 0.250', 'random']
    """
    scores = named(uncertainty, "uncertainty", "uncertainty")
    correct = as_correct(correct)
    scores["oracle"] = ~correct
    drawn = []
    for name, score in scores.items():
        given = (correct, score, sample_weight, nan_policy)
        label = f"{name}, AULC {metrics.aulc(*given):.3f}"
        drawn.append((label, metrics.lift_curve(*given)))
    return draw_lift(ax, drawn, "lift of the accuracy")


def draw_lift(
    ax: "Axes | None", drawn: list[Any], ylabel: str, has_oracle: bool = True
) -> "Axes":
    """Draws curves by label, the last of which may be the oracle."""
    ax = axes_for(ax)
    curves, oracles = (drawn[:-1], drawn[-1:]) if has_oracle else (drawn, [])
    for label, curve in curves:
        ax.plot(curve.fraction, curve.lift, label=label, **LINE)
    for label, curve in oracles:
        draw_reference(ax, curve.fraction, curve.lift, label, "--")
    draw_reference(ax, [0.0, 1.0], np.ones(2), "random")
    ax.set(xlim=(0.0, 1.0), xlabel="fraction kept, most certain first")
    ax.set_ylabel(ylabel)
    add_legend(ax)
    return ax
