from typing import TYPE_CHECKING, Any

from keras_zigzag import metrics
from keras_zigzag.metrics.inputs import NanPolicy, as_correct
from keras_zigzag.plots.inputs import named, present
from keras_zigzag.plots.ranked import KEPT, draw_ranked, ranked

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
    weight, correct, scores = present(sample_weight, correct, scores)
    correct = as_correct(correct)
    given: dict[str, Any] = {
        "sample_weight": weight,
        "nan_policy": nan_policy,
    }
    drawn = ranked(
        scores,
        ~correct,
        lambda score: metrics.lift_curve(correct, score, **given),
        lambda score: f"AULC {metrics.aulc(correct, score, **given):.3f}",
    )
    return draw_ranked(ax, drawn, 1.0, KEPT, "lift of the accuracy")
