"""The tables of numbers: the paper's main table and those around it."""

import dataclasses
import os
from collections.abc import Callable, Sequence

from keras_zigzag.benchmark.protocol import SINGLE
from keras_zigzag.benchmark.recipes import AFTER_TRAINING
from keras_zigzag.benchmark.report_failures import mean
from keras_zigzag.benchmark.report_measures import Measure
from keras_zigzag.benchmark.report_rows import Estimate, Row, marks
from keras_zigzag.benchmark.report_run import ZIGZAG
from keras_zigzag.benchmark.report_table import Cell, Table
from keras_zigzag.evaluation import tables

FAILED = "failed"
LETTERS = 200  # of a reason
Text = Callable[[Row, Measure], str]


def main_table(rows: Sequence[Row], measures: Sequence[Measure]) -> Table:
    """Mean ± standard deviation over the seeds, costs as ratios."""
    notes = failure_notes(rows) + missing_notes(rows, measures)
    notes += time_notes(rows, measures)
    return _table("", rows, measures, _mean_text, notes)


def deviations_table(rows: Sequence[Row], measures: Sequence[Measure]) -> Table:
    """Standard deviations alone, and the quartiles of what was timed."""
    measures = [measure for measure in measures if measure.key not in _EXACT]
    table = _table("", rows, measures, _deviation_text, [], has_marks=False)
    header = [name.rstrip(" ↑↓") for name in table.header]
    return dataclasses.replace(table, header=header)


def two_sample_table(
    rows: Sequence[Row], measures: Sequence[Measure]
) -> Table | None:
    """Sampling methods at two samples, beside what takes two passes."""
    beside = [row for row in rows if row.class_name in (SINGLE, ZIGZAG)]
    at_two = [at_samples(row, "2") for row in rows if row.is_main]
    at_two = [row for row in at_two if row.every]
    if not at_two:
        return None
    measures = [measure for measure in measures if not measure.is_cost]
    return _table("", [*beside, *at_two], measures, _mean_text, [])


def set_table(rows: Sequence[Row], measures: Sequence[Measure]) -> Table:
    """One metric of each data set of a group, a column each.

    Args:
        rows: List of `Row`.
        measures: List with the `Measure` of the metric.
    """
    (measure,) = measures
    names = list(rows[0].runs)
    table = _table("", rows, measures, _mean_text, [])
    columns = [_of_one(rows, measure, name) for name in names]
    lines = [
        [row[0], *(column[index] for column in columns), row[1]]
        for index, row in enumerate(table.rows)
    ]
    header = ["", *map(short_names(names).__getitem__, names), "mean"]
    return Table("", header, lines)


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names of protocols without what all of them start and end with."""
    if len(names) < 2:
        return {name: name for name in names}
    start = os.path.commonprefix(names)
    start = start[: start.rfind("-") + 1]
    ends = [name.removeprefix(start)[::-1] for name in names]
    end = os.path.commonprefix(ends)
    end = end[: end.rfind("-") + 1][::-1]
    return {name: name.removeprefix(start).removesuffix(end) for name in names}


def at_samples(row: Row, number: str) -> Row:
    """The row as if the method had taken so many samples.

    Without runs if it takes none; those that failed stay.
    """
    runs = {
        name: [
            dataclasses.replace(
                run, metrics=run.by_samples.get(number, {}), missing={}, cost={}
            )
            for run in some
            if number in run.by_samples or run.failure
        ]
        for name, some in row.runs.items()
    }
    if not any(number in run.by_samples for run in row.every):
        runs = {}
    return dataclasses.replace(row, runs=runs)


def failure_notes(rows: Sequence[Row]) -> list[str]:
    """Which runs are left out, and why."""
    notes = [
        f"† {row.label}: {len(row.failed)} of {len(row.every)} "
        f"run{'s' * (len(row.every) > 1)} failed: {_reasons(row)}."
        for row in rows
        if row.is_main and row.failed
    ]
    for row in rows:
        num = len(row.runs) - len(row.untrained)
        if row.is_main and 0 < num < len(row.runs):
            notes.append(
                f"† {row.label}: the mean is over {num} of {len(row.runs)} "
                "data sets, so that it is not compared."
            )
    return notes


def missing_notes(
    rows: Sequence[Row], measures: Sequence[Measure]
) -> list[str]:
    """Which numbers some runs do not have, and why."""
    notes = []
    for row in rows:
        for measure in measures:
            lacking = row.lacks(measure)
            if not lacking or measure.is_cost:
                continue
            total = len(row.every) - len(row.failed)
            reasons = [run.missing.get(measure.full_key) for run in lacking]
            reason = next(filter(None, reasons), "not in the results.")
            sign = "†" if len(lacking) < total else tables.MISSING
            notes.append(
                f"{sign} {row.label}, {measure.heading}: {len(lacking)} of "
                f"{total} without it: {_shortened(reason)}"
            )
    return notes


def time_notes(rows: Sequence[Row], measures: Sequence[Measure]) -> list[str]:
    """Of which methods the time of the training is not all that they take."""
    times = [one for one in measures if one.key == "training_time"]
    labels = [
        row.label
        for row in rows
        if row.class_name in AFTER_TRAINING
        and any(row.estimate(time).mean is not None for time in times)
    ]
    if not labels:
        return []
    return [
        f"{', '.join(labels)}: Time is that of training the base model, "
        "without what the method does after it."
    ]


def number(estimate: Estimate) -> str:
    """Three digits, the deviation as many decimals as the mean."""
    mean, std = estimate.mean, estimate.std
    if mean is None:
        return tables.MISSING
    if std is None:
        return digits(mean, mean)
    decimals = decimals_of(std)
    if abs(mean) < 10.0**-decimals <= std:
        # What is lost in its deviation has no more digits than that.
        return f"{mean:z.{decimals}f} ± {std:.{decimals}f}"
    return f"{digits(mean, mean)} ± {deviation(std, mean)}"


def deviation(value: float, mean: float) -> str:
    """As many decimals as the mean has, or that there are more of them."""
    text = digits(mean, mean)
    if "e" in text:
        return digits(value, mean)
    decimals = len(text.partition(".")[2])
    step = 10.0**-decimals
    if 0 < value < step / 2:
        return f"<{step:.{decimals}f}"
    return f"{value:.{decimals}f}"


def digits(value: float, like: float | None = None) -> str:
    """Three decimals, fewer of numbers of 10 or more."""
    decimals = decimals_of(value if like is None else like)
    # A deviation may be too small for the decimals of its mean.
    if abs(value) < 10.0**-decimals:
        return tables.number(value)
    return f"{value:.{decimals}f}"


def decimals_of(value: float) -> int:
    return sum(abs(value) < limit for limit in (10, 100, 1000))


_EXACT = ("changed_layers", "size")


def _table(
    caption: str,
    rows: Sequence[Row],
    measures: Sequence[Measure],
    text: Text,
    notes: Sequence[str],
    has_marks: bool = True,
) -> Table:
    marked = [marks(rows, m) if has_marks else {} for m in measures]
    lines = []
    for row in rows:
        texts = [text(row, measure) for measure in measures]
        if row.failed and len(row.failed) == len(row.every):
            texts[0] = FAILED
        found = [some.get(row.label, "") for some in marked]
        name = row.label + "†" * bool(row.failed or row.untrained)
        lines.append([Cell(name), *map(Cell, texts, found)])
    header = ["", *(measure.title for measure in measures)]
    return Table(caption, header, lines, notes)


def _mean_text(row: Row, measure: Measure) -> str:
    estimate = row.estimate(measure)
    if estimate.mean is None:
        return tables.MISSING
    if measure.key == "changed_layers":
        return f"{100 * estimate.mean:.0f} %"
    if measure.is_cost:
        return f"{estimate.mean:.2f}"
    return number(estimate) + "†" * bool(row.lacks(measure))


def _deviation_text(row: Row, measure: Measure) -> str:
    if measure.spread is None:
        return tables.number(row.estimate(measure).std)
    trained = [run for name in row.runs for run in row.trained(name)]
    ranges = [measure.spread(run) for run in trained]
    ends = [mean(end) for end in zip(*filter(None, ranges), strict=True)]
    if not ends:
        return tables.MISSING
    low, high = ends
    return f"{low:.2f}–{high:.2f}"


def _of_one(rows: Sequence[Row], measure: Measure, name: str) -> list[Cell]:
    """The column of one protocol."""
    some = [
        dataclasses.replace(row, runs={name: row.runs[name]}) for row in rows
    ]
    return [line[1] for line in _table("", some, [measure], _short, []).rows]


def _short(row: Row, measure: Measure) -> str:
    """The mean alone: a table of many sets is wide enough."""
    (name,) = row.runs
    estimate = row.estimate(measure)
    is_partial = len(row.trained(name)) < len(row.runs[name])
    if estimate.mean is None:
        return tables.MISSING
    return digits(estimate.mean) + "†" * is_partial


def _reasons(row: Row) -> str:
    """Each reason once, with the sets and seeds that it was seen in."""
    seen: dict[str, list[str]] = {}
    names = short_names(list(row.runs))
    for run in row.failed:
        where = f"{names[run.protocol]} " * (len(names) > 1)
        place = f"{where}seed {run.seed}"
        seen.setdefault(_shortened(run.failure), []).append(place)
    return "; ".join(
        f"{reason} ({', '.join(places)})" for reason, places in seen.items()
    )


def _shortened(text: str) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"
