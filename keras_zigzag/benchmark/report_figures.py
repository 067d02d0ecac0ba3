"""The pictures of a report."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag import metrics
from keras_zigzag.benchmark.protocol import SINGLE
from keras_zigzag.benchmark.report_measures import COSTS, Measure
from keras_zigzag.benchmark.report_panels import (
    add_shared_legend,
    add_title,
    line_style,
    panels,
    shared_labels,
    style,
)
from keras_zigzag.benchmark.report_rows import ENTROPY, Row
from keras_zigzag.benchmark.report_run import ZIGZAG
from keras_zigzag.benchmark.report_tables import at_samples
from keras_zigzag.evaluation.samples import Samples
from keras_zigzag.plots import error_against_uncertainty, reliability_diagram
from keras_zigzag.plots.axes import (
    LINE,
    TICK_SIZE,
    draw_reference,
    show_unit_square,
)
from keras_zigzag.plots.inputs import finite_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID = 4  # small panels in a row
PANEL_TITLE = 24  # characters, for which one of these is wide enough
# A few samples far away must not press all others into a corner.
SHOWN = 0.995
FEW = 5  # samples, of which a bin has no accuracy to speak of
DODGE = 0.05  # of a sample, so that bars do not cover each other


def samples_figure(
    rows: Sequence[Row], measures: Sequence[Measure]
) -> "Figure | None":
    """OOD ROC-AUC against the number of samples, as in the paper's Fig. 6.

    Methods whose number is fixed are lines across.
    """
    labels = [row.label for row in rows]
    # A method that failed has nothing to draw, and no place in the legend.
    drawn = [row for row in rows if _has_any(row, measures)]
    sampling = [row for row in drawn if row.is_main and _numbers(row)]
    if not sampling:
        return None
    fixed = _references(drawn)
    num = len(measures)
    legend_lines = -(-(len(sampling) + len(fixed)) // 4)
    figure, axes = panels(num, min(num, 2), 2.4, legend_lines)
    handles: dict[str, Any] = {}
    for ax, measure in zip(axes, measures, strict=True):
        for index, row in enumerate(sampling):
            shift = DODGE * (index - (len(sampling) - 1) / 2.0)
            handles[row.label] = _draw_samples(ax, row, measure, labels, shift)
        for row in fixed:
            handles[row.label] = _draw_fixed(ax, row, measure, labels)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="number of samples", ylabel=measure.heading)
    add_shared_legend(figure, handles)
    return figure


def curves_figure(scores: Mapping[str, Samples], ood: str) -> "Figure | None":
    """ROC and precision–recall curves of all methods, of one seed."""
    # Data may have got another set later.
    scores = {label: one for label, one in scores.items() if ood in one.ood}
    if not scores:
        return None
    labels = list(scores)
    figure, (roc, pr) = panels(2, 2, 2.6, -(-len(scores) // 2))
    handles = {}
    for label, one in scores.items():
        sets: dict[str, Any] = {
            "id_uncertainty": one.id.uncertainty,
            "ood_uncertainty": one.ood[ood].uncertainty,
            "nan_policy": "worst",
        }
        curve = metrics.detection_curves(**sets)
        looks = LINE | line_style(label, labels)
        area = metrics.roc_auc(**sets)
        precision = metrics.average_precision(**sets)
        text = f"{label}, AUC {area:.3f}, AP {precision:.3f}"
        (handles[text],) = roc.plot(curve.fpr, curve.tpr, **looks)
        # At a recall of 0 nothing is flagged, and there is no precision.
        pr.plot(curve.tpr[1:], curve.precision[1:], **looks)
    draw_reference(roc, [0.0, 1.0], [0.0, 1.0], "random")
    draw_reference(pr, [0.0, 1.0], [curve.prevalence] * 2, "random")
    for ax in (roc, pr):
        show_unit_square(ax)
    roc.set(xlabel="ID samples taken for OOD", ylabel="OOD samples found")
    pr.set(xlabel="recall, OOD samples found", ylabel="precision")
    add_shared_legend(figure, handles, num_columns=2)
    return figure


def reliability_figure(scores: Mapping[str, Samples]) -> "Figure":
    """How often predictions of a confidence are right, a panel each."""
    figure, axes = panels(len(scores), GRID, 1.75)
    for ax, (label, one) in zip(axes, scores.items(), strict=True):
        _draw_reliability(ax, label, one)
    shared_labels(figure, "confidence", "accuracy, share")
    return figure


def error_figure(scores: Mapping[str, Samples], units: str = "") -> "Figure":
    """True against estimated error with Pearson's r, a panel each."""
    figure, axes = panels(len(scores), GRID, 1.75)
    for ax, (label, one) in zip(axes, scores.items(), strict=True):
        try:
            _draw_error(ax, label, one)
        except ValueError:
            _finish(ax, label, "constant uncertainty")
    name = f"error, {units}" if units else "absolute error"
    shared_labels(figure, "uncertainty", name)
    return figure


def calibration_figure(scores: Mapping[str, Samples]) -> "Figure | None":
    """The share of all error against that of all uncertainty.

    Methods with an uncertainty that is constant, negative or not finite have
    no such curve.
    """
    labels = list(scores)
    figure, (ax,) = panels(1, 1, 2.6, -(-len(scores) // 2))
    handles = {}
    for label, one in scores.items():
        given = one.loss, one.id.uncertainty
        try:
            curve = metrics.cumulative_calibration_curve(*given)
            area = metrics.cumulative_calibration_error(*given)
        except ValueError:
            continue
        (handles[f"{label}, area {area:.3f}"],) = ax.plot(
            curve.uncertainty_share,
            curve.error_share,
            **LINE | line_style(label, labels),
        )
    if not handles:
        return None
    draw_reference(ax, [0.0, 1.0], [0.0, 1.0], "proportional")
    show_unit_square(ax)
    ax.set(xlabel="share of all uncertainty", ylabel="share of all error")
    add_shared_legend(figure, handles, num_columns=2)
    return figure


def cost_figure(rows: Sequence[Row], measure: Measure) -> "Figure | None":
    """Quality against the time of a prediction and of the training."""
    rows = [row for row in rows if row.is_main]
    times = COSTS[1:3]
    titles = ("time of a prediction", "time of the training")
    labels = [row.label for row in rows]
    figure, axes = panels(2, 2, 2.4, -(-len(rows) // 4))
    handles: dict[str, Any] = {}
    for ax, time, title in zip(axes, times, titles, strict=True):
        for row in rows:
            x, y = row.estimate(time).mean, row.estimate(measure)
            if x is None or y.mean is None:
                continue
            looks = style(row.label, labels) | {"linestyle": "none"}
            handles[row.label] = ax.errorbar(
                x, y.mean, y.std, markersize=5, elinewidth=0.8, **looks
            )
        _show_ratios(ax)
        ax.set(
            xlabel=f"{title}, single model = 1, log scale",
            ylabel=measure.heading,
        )
    if not handles:
        return None
    add_shared_legend(figure, handles)
    return figure


def _references(rows: Sequence[Row]) -> list[Row]:
    """ZigZag and the single model, of several settings the first.

    Of ZigZag the entropy too: it is the score to beat.
    """
    first: dict[str, str] = {}
    for row in rows:
        if row.class_name in (SINGLE, ZIGZAG):
            first.setdefault(row.class_name, row.label.split(ENTROPY)[0])
    labels = first.values()
    return [row for row in rows if row.label.split(ENTROPY)[0] in labels]


def _has_any(row: Row, measures: Sequence[Measure]) -> bool:
    return any(row.estimate(one).mean is not None for one in measures)


def _numbers(row: Row) -> list[int]:
    """At how many samples the row was evaluated."""
    found = {int(key) for run in row.every for key in run.by_samples}
    return sorted(found)


def _draw_samples(
    ax: "Axes",
    row: Row,
    measure: Measure,
    labels: Sequence[str],
    shift: float,
) -> Any:
    numbers = _numbers(row)
    found = [at_samples(row, str(k)).estimate(measure) for k in numbers]
    return ax.errorbar(
        np.add(numbers, shift),
        [np.nan if one.mean is None else one.mean for one in found],
        [one.std or 0.0 for one in found],
        markersize=3.5,
        elinewidth=0.8,
        capsize=2,
        **(LINE | style(row.label, labels)),
    )


def _draw_fixed(
    ax: "Axes", row: Row, measure: Measure, labels: Sequence[str]
) -> Any:
    height = row.estimate(measure).mean
    looks = LINE | line_style(row.label, labels)
    if row.is_main:
        looks["linestyle"] = "-."
    return ax.axhline(np.nan if height is None else height, **looks)


def _draw_reliability(ax: "Axes", label: str, scores: Samples) -> None:
    answers: dict[str, Any] = {
        "labels": scores.id.targets,
        "probabilities": scores.id.prediction,
    }
    reliability_diagram(**answers, ax=ax)
    text = ax.get_legend_handles_labels()[1][0].split(", ")[-1]
    curve = metrics.reliability_curve(**answers)
    is_full = curve.share * len(scores.id.targets) > FEW - 0.5
    ax.lines[0].set_data(curve.confidence[is_full], curve.frequency[is_full])
    ax.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    _finish(ax, label, text)


def _draw_error(ax: "Axes", label: str, scores: Samples) -> None:
    error_against_uncertainty(scores.loss, scores.id.uncertainty, ax=ax)
    text = ax.get_legend_handles_labels()[1][-1].split(", ")[-1]
    (error, score), _ = finite_samples(
        error=scores.loss, score=scores.id.uncertainty
    )
    low, high = np.quantile(score, [1.0 - SHOWN, SHOWN])
    if high > low:
        edge = 0.05 * (high - low)
        ax.set_xlim(low - edge, high + edge)
    ax.set_ylim(0.0, 1.05 * np.quantile(error, SHOWN))
    _finish(ax, label, text)


def _finish(ax: "Axes", label: str, text: str) -> None:
    """A small panel has a title and no legend."""
    title = "\n".join([*textwrap.wrap(label, PANEL_TITLE), text])
    if ax.get_legend():
        ax.get_legend().remove()
    ax.set(xlabel="", ylabel="")
    add_title(ax, title)
    ax.title.set_size(TICK_SIZE)
    ax.tick_params(labelsize=TICK_SIZE - 1)


def _show_ratios(ax: "Axes") -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator([0.5, 1, 2, 3, 5, 10, 20, 50]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    low, high = ax.get_xlim()
    ax.set_xlim(min(low, 0.8), max(high, 2.5))
