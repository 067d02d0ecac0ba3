from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag.metrics.inputs import as_weight, where_there
from keras_zigzag.number_checks import checked_count
from keras_zigzag.plots.axes import add_legend, axes_for, data_in_view, limits
from keras_zigzag.plots.inputs import finite_samples, left_out, named
from keras_zigzag.plots.palette import ID, OOD

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def histograms(
    id_uncertainty: Any,
    ood_uncertainty: Any = None,
    num_bins: int = 40,
    yscale: str = "log",
    id_weight: Any = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws how the uncertainties of ID and of OOD samples are distributed.

    All sets share their bins. Values that are not finite have no place on the
    axis: the legend says how many there are.

    Args:
        id_uncertainty: Array of the uncertainties of the ID samples, or a
            dictionary from their name to it.
        ood_uncertainty: Array of those of the OOD samples, or a dictionary
            from the names of several OOD sets to such arrays. Defaults to
            `None`.
        num_bins: Integer. Defaults to `40`.
        yscale: `"log"`, which shows rare large uncertainties, or
            `"linear"`. Defaults to `"log"`.
        id_weight: Array of the shape of `id_uncertainty`, or `None`. How
            many samples each one stands for.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Example:

    >>> ax = keras_zigzag.plots.histograms(
    ...     id_uncertainty=[0.1, 0.4], ood_uncertainty={"SVHN": [0.35, 0.8]})
    >>> ax.get_legend_handles_labels()[1]
    ['ID (n = 2)', 'SVHN (n = 2)']
    """
    sets = list(named(id_uncertainty, "ID", "id_uncertainty").items())
    num_id = len(sets)
    if ood_uncertainty is not None:
        sets += named(ood_uncertainty, "OOD", "ood_uncertainty").items()
    values, weights, labels = [], [], []
    for index, (name, scores) in enumerate(sets):
        given = {name: scores}
        if id_weight is not None and index < num_id:
            given = _weighted(name, scores, id_weight)
        (finite, *weight), num_bad = finite_samples(**given)
        total = len(finite) + num_bad
        note = f"; {left_out(num_bad, total)}" if num_bad else ""
        values.append(finite)
        weights += weight or [np.ones(len(finite))]
        labels.append(f"{name} (n = {len(finite):,}{note})")
    edges = _edges(np.concatenate(values), checked_count("num_bins", num_bins))

    ax = axes_for(ax)
    seen, _ = data_in_view(ax)
    colors = [ID] * num_id + OOD * len(sets)
    for finite, counts, label, color in zip(
        values, weights, labels, colors, strict=False
    ):
        share = np.histogram(finite, edges, weights=counts)[0] / counts.sum()
        fill = {"fill": True, "alpha": 0.25, "linewidth": 0.0}
        ax.stairs(share, edges, color=color, **fill)
        ax.stairs(share, edges, color=color, linewidth=1.0, label=label)
    ax.set(xlabel="uncertainty", ylabel="share of samples", yscale=yscale)
    ax.set_xlim(limits(edges, seen))
    add_legend(ax)
    return ax


def _weighted(name: str, scores: Any, id_weight: Any) -> dict[str, Any]:
    """Scores and weights without samples of weight 0, by name."""
    weight, scores = where_there(as_weight(id_weight, "id_weight"), scores)
    return {name: scores, "id_weight": weight}


def _edges(values: np.ndarray, num_bins: int) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    # Numbers that differ by their rounding alone leave no room for bins.
    if 0 < high - low < 1e-9 * max(abs(low), abs(high)):
        low, high = low - 0.5 * abs(low), high + 0.5 * abs(high)
    return np.histogram_bin_edges(values, num_bins, (low, high))
