"""Several methods side by side, as in the tables of papers."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_zigzag.evaluation import tables
from keras_zigzag.evaluation.metric_sets import (
    arrow,
    direction,
    heading,
    in_order,
)
from keras_zigzag.evaluation.report import UncertaintyReport

# What reports of each method have to be.
Reports = dict[str, list[UncertaintyReport]]


@dataclasses.dataclass(frozen=True)
class Cell:
    """Mean and standard deviation over the seeds, of those that have it."""

    values: tuple[float, ...]
    num_missing: int

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    def __str__(self) -> str:
        text = tables.number(self.mean)
        if len(self.values) > 1:
            text += f" ± {tables.number(float(np.std(self.values, ddof=1)))}"
        return text + "†" * bool(self.values and self.num_missing)


class Comparison:
    """A table with one row per method and one column per metric.

    Made by `keras_zigzag.compare`. The best of each column is `**bold**`, the
    second best `_underlined_`; methods with the same number share the mark.

    Args:
        reports: Dictionary from a method's name to its reports, one per
            seed.
        columns: Dictionary from metrics to headings.
    """

    def __init__(self, reports: Reports, columns: Mapping[str, str]):
        self.reports = reports
        self.columns = dict(columns)
        self.cells = {
            (name, key): _cell(seeds, key)
            for name, seeds in reports.items()
            for key in columns
        }

    def mean(self, name: str, metric: str) -> float | None:
        """Mean over the seeds, `None` where no report has the metric."""
        return self.cells[name, metric].mean

    def to_markdown(self, mark_best: bool = True) -> str:
        """A Markdown table, mean ± standard deviation over the seeds.

        Args:
            mark_best: Boolean. Whether to mark the best and the second best
                of each column. Defaults to `True`.

        Returns:
            String.
        """
        table = tables.markdown(*self._table(mark_best))
        return "\n\n".join([table, *self._notes()])

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"<Comparison of {list(self.reports)}>"

    def _repr_html_(self) -> str:
        notes = tables.paragraphs(self._notes())
        return tables.as_html(*self._table(mark_best=True)) + notes

    def _table(self, mark_best: bool) -> tuple[list[str], list[list[str]]]:
        marks = self._marks() if mark_best else {}
        rows = [
            [name]
            + [
                _mark(str(self.cells[name, key]), marks.get((name, key), ""))
                for key in self.columns
            ]
            for name in self.reports
        ]
        return ["", *self.columns.values()], rows

    def _marks(self) -> dict[tuple[str, str], str]:
        marks = {}
        for key in self.columns:
            means = {
                name: _rounded(mean) * direction(key)
                for name in self.reports
                if (mean := self.mean(name, key)) is not None
            }
            if direction(key) == 0 or len(means) < 2:
                continue
            best, *others = sorted(set(means.values()), reverse=True)
            for name, value in means.items():
                if value == best:
                    marks[name, key] = "**"
                elif others and value == others[0]:
                    marks[name, key] = "_"
        return marks

    def _notes(self) -> list[str]:
        notes = []
        for (name, key), cell in self.cells.items():
            if not cell.num_missing:
                continue
            total = len(cell.values) + cell.num_missing
            reasons = [r.missing.get(key) for r in self.reports[name]]
            reason = next(filter(None, reasons), "not in the report.")
            sign = "†" if cell.values else tables.MISSING
            share = f" {cell.num_missing} of {total}:" if total > 1 else ""
            notes.append(f"{sign} {name}, {heading(key)}:{share} {reason}")
        return notes


def compare(
    reports: Sequence[UncertaintyReport]
    | Mapping[str, UncertaintyReport | Sequence[UncertaintyReport]],
    metrics: Sequence[str] | Mapping[str, str] | None = None,
) -> Comparison:
    """Reports of several methods in one table.

    Args:
        reports: Sequence of `UncertaintyReport`, each with a name of its own;
            or dictionary from a name to a report or to a list of reports,
            one per seed, which are shown as mean ± standard deviation.
        metrics: Which columns: sequence of metrics, or dictionary from
            metrics to headings. Defaults to all that some report has.

    Returns:
        A `Comparison`: print it, or see `to_markdown`.

    Raises:
        ValueError: If names are missing or used twice, or no report has a
            metric that was asked for.

    Example:

    >>> first, second = (
    ...     keras_zigzag.evaluate_scores(
    ...         targets=[0, 1, 1], prediction=[0, 1, 0], uncertainty=scores,
    ...         name=name)
    ...     for name, scores in {"a": [1, 2, 3], "b": [1, 3, 2]}.items())
    >>> keras_zigzag.compare([first, second], metrics=["raulc"])
    <Comparison of ['a', 'b']>
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    by_name = _by_name(reports)
    every = [report for seeds in by_name.values() for report in seeds]
    known = in_order(key for report in every for key in report)
    chosen = known if metrics is None else list(metrics)
    missing = {key for report in every for key in report.missing}
    unknown = [key for key in chosen if key not in {*known, *missing}]
    if unknown:
        raise ValueError(
            f"No report has {unknown}. Known metrics: {known}. "
            f"Received: metrics={metrics!r}"
        )
    headings = metrics if isinstance(metrics, Mapping) else {}
    return Comparison(
        by_name,
        {key: headings.get(key, heading(key) + arrow(key)) for key in chosen},
    )


def _by_name(reports: Any) -> Reports:
    if isinstance(reports, Mapping):
        result = {
            name: _as_list(seeds, name) for name, seeds in reports.items()
        }
    else:
        reports = list(reports)
        names = [getattr(report, "name", "") for report in reports]
        if "" in names or len(set(names)) < len(names):
            raise ValueError(
                "Each report needs a name of its own: give the evaluation a "
                "`name`, or a dictionary from names to reports. "
                f"Received: names {names}."
            )
        result = {report.name: [report] for report in reports}
    if not result or not all(result.values()):
        raise ValueError(
            "There must be at least one report of each method. Received: "
            f"{ {name: len(seeds) for name, seeds in result.items()} }."
        )
    return result


def _as_list(seeds: Any, name: str) -> list[UncertaintyReport]:
    if isinstance(seeds, UncertaintyReport):
        return [seeds]
    if isinstance(seeds, (list, tuple)) and all(
        isinstance(report, UncertaintyReport) for report in seeds
    ):
        return list(seeds)
    raise ValueError(
        "Reports are what `evaluate_uncertainty` and `evaluate_scores` return. "
        f"Received: under {name!r} an object of type {type(seeds).__name__}."
    )


def _cell(seeds: Sequence[UncertaintyReport], key: str) -> Cell:
    values = tuple(report[key] for report in seeds if key in report)
    return Cell(values, len(seeds) - len(values))


def _mark(text: str, mark: str) -> str:
    return f"{mark}{text}{mark}"


def _rounded(mean: float) -> float:
    """A mean without what the order of its sum has left."""
    return 0.0 if abs(mean) < tables.ROUNDING else float(f"{mean:.12g}")
