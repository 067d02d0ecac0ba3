from typing import TYPE_CHECKING, Any

from keras_zigzag import metrics
from keras_zigzag.metrics.inputs import NanPolicy, as_finite
from keras_zigzag.plots.inputs import named, present
from keras_zigzag.plots.ranked import draw_ranked, ranked

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def risk_coverage_curve(
    loss: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws the mean loss of the samples that are kept.

    The curve of `keras_zigzag.metrics.risk_coverage_curve`, with that of the
    oracle, which ranks by the loss itself, and of a random order. The areas
    in the legend are the AURC.

    Args:
        loss: Array of real losses, one per sample: 0/1 errors, absolute
            errors or any other.
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

    >>> ax = keras_zigzag.plots.risk_coverage_curve(
    ...     loss=[0, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    >>> [line.get_label() for line in ax.lines]
    ['uncertainty, AURC 0.333', 'oracle, AURC 0.208', 'random']
    """
    scores = named(uncertainty, "uncertainty", "uncertainty")
    weight, loss, scores = present(sample_weight, loss, scores)
    loss = as_finite(loss, "loss")
    given: dict[str, Any] = {
        "sample_weight": weight,
        "nan_policy": nan_policy,
    }
    drawn = ranked(
        scores,
        loss,
        lambda score: metrics.risk_coverage_curve(loss, score, **given),
        lambda score: f"AURC {metrics.aurc(loss, score, **given):.3g}",
    )
    # Whatever the order, all samples together have the mean loss.
    _, oracle = drawn[-1]
    return draw_ranked(
        ax,
        drawn,
        oracle.risk[-1],
        "coverage, most certain first",
        "risk, mean loss",
    )
