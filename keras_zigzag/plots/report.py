from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag.evaluation.tables import number
from keras_zigzag.plots.axes import (
    LABEL_SIZE,
    TICK_SIZE,
    new_axes,
    new_figure,
)
from keras_zigzag.plots.cumulative_calibration_curve import (
    cumulative_calibration_curve,
)
from keras_zigzag.plots.error_against_uncertainty import (
    error_against_uncertainty,
)
from keras_zigzag.plots.histograms import histograms
from keras_zigzag.plots.lift_curve import lift_curve
from keras_zigzag.plots.precision_recall_curve import precision_recall_curve
from keras_zigzag.plots.reliability_diagram import reliability_diagram
from keras_zigzag.plots.risk_coverage_curve import risk_coverage_curve
from keras_zigzag.plots.roc_curve import roc_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, ROW_HEIGHT = 6.9, 2.7  # inches, the width of a page's text
LINE_HEIGHT = 0.115  # inches
LINE_LETTERS = 128  # in a line of the table


def report(report: Any) -> "Figure":
    """One page of pictures and numbers of an `UncertaintyReport`.

    The numbers of the report, risk and coverage, the distribution of the
    uncertainties, the ROC and precision–recall curves of its OOD sets; for a
    classification the lift and the reliability diagram, for a regression the
    error against the uncertainty and the cumulative calibration. A panel that
    cannot be drawn says why in its place. NaN ranks as most uncertain.

    Args:
        report: What `keras_zigzag.evaluate_scores` or
            `keras_zigzag.evaluate_uncertainty` returned.

    Returns:
        A Matplotlib figure, which pyplot does not know and nobody has to
        close. Write it with `figure.savefig(path)`.
    """
    panels = _panels(report)
    num_rows = -(-len(panels) // 2)
    lines = _table_lines(report)
    heights = [LINE_HEIGHT * (len(lines) + 3), ROW_HEIGHT * num_rows]
    figure = new_figure(WIDTH, sum(heights))
    top, rest = figure.subfigures(2, 1, height_ratios=heights)
    _draw_table(new_axes(top), report, lines)
    for index, (title, draw) in enumerate(panels.items(), start=1):
        ax = new_axes(rest, num_rows, 2, index)
        _draw_panel(ax, draw)
        ax.set_title(title, fontsize=LABEL_SIZE, loc="left")
    return figure


def _panels(report: Any) -> dict[str, Any]:
    """What to draw into which axes, by title."""
    loss, score = report.loss, report.uncertainty
    ood = dict(report.ood_uncertainty)
    weight = report.sample_weight
    worst: dict[str, Any] = {"nan_policy": "worst"}
    weighted: dict[str, Any] = {"sample_weight": weight}
    panels = {
        "Risk–coverage": lambda ax: risk_coverage_curve(
            loss, score, **worst, **weighted, ax=ax
        ),
        "Uncertainties": lambda ax: histograms(
            score, ood or None, id_weight=weight, ax=ax
        ),
    }
    if report.task == "regression":
        panels |= {
            "Error against uncertainty": lambda ax: error_against_uncertainty(
                loss, score, **weighted, ax=ax
            ),
            "Cumulative calibration": lambda ax: cumulative_calibration_curve(
                loss, score, **weighted, ax=ax
            ),
        }
    else:
        panels |= {
            "Lift": lambda ax: lift_curve(
                np.asarray(loss) == 0, score, **worst, **weighted, ax=ax
            ),
        }
    if _has_probabilities(report):
        panels |= {
            "Reliability": lambda ax: reliability_diagram(
                _labels(report),
                _probabilities(report),
                sample_weight=_weights_of_labels(report),
                ax=ax,
            ),
        }
    if ood:
        panels |= {
            "ROC": lambda ax: roc_curve(
                score, ood, **worst, id_weight=weight, ax=ax
            ),
            "Precision–recall": lambda ax: precision_recall_curve(
                score, ood, **worst, id_weight=weight, ax=ax
            ),
        }
    return panels


def _draw_panel(ax: Any, draw: Any) -> None:
    try:
        draw(ax)
    except ValueError as error:
        # One undefined picture must not cost the page.
        ax.set_axis_off()
        ax.text(
            0.0,
            1.0,
            f"Not drawn: {error}",
            fontsize=TICK_SIZE,
            va="top",
            wrap=True,
            transform=ax.transAxes,
        )


def _has_probabilities(report: Any) -> bool:
    """Whether the predictions are more than values or class indices."""
    num_axes = {"binary": 1, "classification": 2}.get(report.task, np.inf)
    return np.ndim(report.prediction) >= num_axes


def _labels(report: Any) -> Any:
    """Class indices, from those or from one-hot targets."""
    targets = np.asarray(report.targets)
    is_one_hot = (
        report.task == "classification"
        and targets.ndim == np.ndim(report.prediction)
        and targets.shape[-1] > 1
    )
    return targets.argmax(axis=-1) if is_one_hot else targets.ravel()


def _weights_of_labels(report: Any) -> Any:
    """A place of a binary task may have several labels."""
    weight = report.sample_weight
    if weight is None or report.task != "binary":
        return weight
    return np.repeat(weight, len(_labels(report)) // len(weight))


def _probabilities(report: Any) -> Any:
    prediction = np.asarray(report.prediction)
    if report.task == "binary":
        return prediction.ravel()
    return prediction.reshape(-1, prediction.shape[-1])


def _table_lines(report: Any) -> list[str]:
    texts = {name: number(value) for name, value in report.items()}
    width = max(map(len, texts), default=0)
    digits = max(map(len, texts.values()), default=0)
    cells = [
        f"{name:{width}}  {text:>{digits}}" for name, text in texts.items()
    ]
    num_columns = max(1, LINE_LETTERS // (width + digits + 5))
    num_lines = -(-len(cells) // num_columns)
    # Down the columns, as names that belong together come in a row.
    return ["   ".join(cells[line::num_lines]) for line in range(num_lines)]


def _draw_table(ax: Any, report: Any, lines: list[str]) -> None:
    ax.set_axis_off()
    title = f"{report.task}, {report.num_samples:,} samples"
    title = f"{report.name}: {title}" if report.name else title.capitalize()
    ax.text(
        0.0,
        1.0,
        title,
        fontsize=LABEL_SIZE + 2,
        va="top",
        transform=ax.transAxes,
    )
    ax.text(
        0.0,
        0.0,
        "\n".join(lines),
        fontsize=TICK_SIZE - 0.5,
        family="monospace",
        va="bottom",
        transform=ax.transAxes,
        # A long line must not narrow the panels.
        in_layout=False,
    )
