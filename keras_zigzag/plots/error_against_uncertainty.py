from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag import metrics
from keras_zigzag.metrics.inputs import as_weight, where_there
from keras_zigzag.plots.axes import LINE, add_legend, add_note, axes_for
from keras_zigzag.plots.inputs import finite_samples, left_out
from keras_zigzag.plots.palette import BLUE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def error_against_uncertainty(
    absolute_error: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws each sample's error against its uncertainty, and a linear fit.

    Pearson's correlation `r` stands in the legend. Samples that are not
    finite cannot be drawn: a note says how many there are.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    figure "True vs Estimated Error".

    Args:
        absolute_error: Array of errors, one per sample.
        uncertainty: Array of the same shape.
        sample_weight: Array of the same shape, or `None`. How many samples
            each one stands for in the fit and in `r`.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Raises:
        ValueError: If one of the two is constant: there is no line to fit.

    Example:

    >>> ax = keras_zigzag.plots.error_against_uncertainty(
    ...     absolute_error=[1.0, 2.0, 3.0], uncertainty=[0.1, 0.4, 0.4])
    >>> ax.lines[0].get_label()
    'linear fit, r = 0.866'
    """
    weights, absolute_error, uncertainty = where_there(
        as_weight(sample_weight), absolute_error, uncertainty
    )
    given = {"absolute_error": absolute_error, "uncertainty": uncertainty}
    if weights is not None:
        given["sample_weight"] = weights
    (error, score, *weight), num_bad = finite_samples(**given)
    r = metrics.pearson(error, score, *weight)
    # The fit squares what it multiplies the residuals with.
    roots = np.sqrt(weight[0]) if weight else None
    fit = np.polynomial.Polynomial.fit(score, error, 1, w=roots)
    ends = np.array([score.min(), score.max()])

    ax = axes_for(ax)
    ax.scatter(
        score,
        error,
        s=6,
        alpha=float(np.clip(300 / len(score), 0.05, 0.6)),
        linewidths=0,
        color=BLUE,
        label=f"sample (n = {len(score):,})",
        # Thousands of points would make a PDF slow.
        rasterized=True,
    )
    ax.plot(
        ends,
        fit(ends),
        color=VERMILLION,
        label=f"linear fit, r = {r:.3f}",
        **LINE,
    )
    ax.set(xlabel="uncertainty", ylabel="absolute error")
    if num_bad:
        add_note(ax, left_out(num_bad, num_bad + len(score)))
    add_legend(ax)
    for handle in ax.get_legend().legend_handles:
        handle.set_alpha(1.0)
    return ax
