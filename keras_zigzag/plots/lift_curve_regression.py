from typing import TYPE_CHECKING, Any

from keras_zigzag import metrics
from keras_zigzag.metrics.inputs import NanPolicy, as_errors
from keras_zigzag.plots.axes import add_note
from keras_zigzag.plots.inputs import named, present
from keras_zigzag.plots.ranked import KEPT, draw_ranked, ranked

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def lift_curve_regression(
    absolute_error: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws the lift of one over the MAE, with the oracle and at random.

    The curve of `keras_zigzag.metrics.lift_curve_regression`, on a
    logarithmic scale, since the oracle's begins at the mean error over the
    smallest one. The oracle ranks by the error itself; where an error is zero
    its lift is infinite, and a note says so in its place. The areas in the
    legend are the AULC.

    Args:
        absolute_error: Array of errors that are not negative, one per
            sample.
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

    >>> ax = keras_zigzag.plots.lift_curve_regression(
    ...     absolute_error=[1.0, 3.0, 2.0], uncertainty=[0.1, 0.2, 0.3])
    >>> ax.get_yscale()
    'log'
    """
    scores = named(uncertainty, "uncertainty", "uncertainty")
    weight, absolute_error, scores = present(
        sample_weight, absolute_error, scores
    )
    error = as_errors(absolute_error)
    num_zeros = int((error == 0.0).sum())
    given: dict[str, Any] = {
        "sample_weight": weight,
        "nan_policy": nan_policy,
    }
    drawn = ranked(
        scores,
        None if num_zeros else error,
        lambda score: metrics.lift_curve_regression(error, score, **given),
        lambda score: (
            f"AULC {metrics.aulc_regression(error, score, **given):.3f}"
        ),
    )
    ax = draw_ranked(
        ax, drawn, 1.0, KEPT, "lift of 1/MAE", has_oracle=not num_zeros
    )
    ax.set_yscale("log")
    if num_zeros:
        add_note(ax, f"no oracle: {num_zeros:,} error(s) of zero")
    return ax
