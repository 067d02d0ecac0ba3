"""Rows and numbers of the tables, before they are text."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

import keras_zigzag as kz
from keras_zigzag.benchmark.report_failures import mean
from keras_zigzag.benchmark.report_measures import Measure
from keras_zigzag.benchmark.report_run import ZIGZAG, Run
from keras_zigzag.benchmark.report_runs import Results

ENTROPY = ", entropy"


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean with its standard deviation over the seeds."""

    mean: float | None = None
    std: float | None = None
    num: int = 0


@dataclasses.dataclass(frozen=True)
class Row:
    """A method, or one of its scores, with its runs of each protocol.

    Args:
        label: String. What the table calls it.
        class_name: String.
        runs: Dictionary from protocols to runs, failed ones among them.
        is_main: Boolean. Whether the score is the method's own uncertainty.
    """

    label: str
    class_name: str
    runs: Mapping[str, Sequence[Run]]
    is_main: bool = True

    @property
    def every(self) -> list[Run]:
        return [run for runs in self.runs.values() for run in runs]

    @property
    def failed(self) -> list[Run]:
        return [run for run in self.every if run.failure]

    @property
    def untrained(self) -> list[str]:
        """Protocols without a run that counts."""
        return [name for name in self.runs if not self.trained(name)]

    def trained(self, protocol: str) -> list[Run]:
        return [run for run in self.runs[protocol] if not run.failure]

    def values(self, measure: Measure, protocol: str) -> dict[int, float]:
        """By seed, of the runs that count and have the number."""
        found = {run.seed: measure.value(run) for run in self.trained(protocol)}
        return {s: value for s, value in found.items() if value is not None}

    def of_protocol(self, measure: Measure, protocol: str) -> Estimate:
        values = list(self.values(measure, protocol).values())
        std = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return Estimate(mean(values), std, len(values))

    def estimate(self, measure: Measure) -> Estimate:
        """Mean over the protocols; the deviation is that of this mean."""
        parts = [self.of_protocol(measure, name) for name in self.runs]
        parts = [part for part in parts if part.mean is not None]
        if not parts:
            return Estimate()
        stds = [part.std for part in parts if part.std is not None]
        std = None
        if len(stds) == len(parts):
            std = math.sqrt(math.fsum(s**2 for s in stds)) / len(stds)
        means = [part.mean for part in parts if part.mean is not None]
        return Estimate(mean(means), std, sum(part.num for part in parts))

    def lacks(self, measure: Measure) -> list[Run]:
        """Runs that count without this number."""
        return [
            run
            for name in self.runs
            for run in self.trained(name)
            if measure.value(run) is None
        ]


def rows_of(results: Sequence[Results]) -> list[Row]:
    """One row per method in the package's order, and those of entropies."""
    runs = [run for result in results for run in result.runs]
    classes = {run.method: run.class_name for run in runs}
    known = list(kz.methods())
    order = [*known, *classes.values()]
    rows: list[Row] = []
    for label in sorted(classes, key=lambda name: order.index(classes[name])):
        by_protocol = {
            result.name: [run for run in result.runs if run.method == label]
            for result in results
        }
        row = Row(label, classes[label], by_protocol)
        rows += [row, *_entropy_rows(row, rows)]
    return rows


def _entropy_rows(row: Row, known: Sequence[Row]) -> list[Row]:
    """None if another variant of the same network has it already."""
    if not any(run.entropy_metrics for run in row.every):
        return []
    by_entropy = with_runs(
        row,
        lambda run: dataclasses.replace(
            run, metrics=run.entropy_metrics, missing={}, cost={}
        ),
    )
    if any(_numbers(by_entropy) == _numbers(one) for one in known):
        return []
    label = row.label + ENTROPY + " of y0" * (row.class_name == ZIGZAG)
    return [dataclasses.replace(by_entropy, label=label, is_main=False)]


def _numbers(row: Row) -> list[tuple[str, int, Mapping[str, float]]]:
    return [(run.protocol, run.seed, run.metrics) for run in row.every]


def with_runs(row: Row, change: Callable[[Run], Run]) -> Row:
    runs = {name: [*map(change, some)] for name, some in row.runs.items()}
    return dataclasses.replace(row, runs=runs)


def find(rows: Iterable[Row], class_name: str) -> Row | None:
    """The row of a class: under its name, else with the fewest options."""
    rows = [r for r in rows if r.is_main and r.class_name == class_name]
    rows.sort(key=lambda r: (r.label != class_name, len(r.every[0].options)))
    return rows[0] if rows else None


def marks(rows: Sequence[Row], measure: Measure) -> dict[str, str]:
    """`"best"` and `"second"` by label; equal numbers share the mark.

    Costs have no marks: the single model's are the lowest by definition. Nor
    has a row that lacks a protocol of its group, as its mean is of others.
    """
    if measure.is_cost:
        return {}

    def measured(row: Row, protocol: str) -> bool:
        return row.of_protocol(measure, protocol).mean is not None

    means = {
        row.label: value * measure.direction
        for row in rows
        if not row.untrained
        and all(measured(row, name) for name in row.runs)
        and (value := row.estimate(measure).mean) is not None
    }
    best = sorted(set(means.values()), reverse=True)[:2]
    if len(means) < 2:
        return {}
    names = dict(zip(best, ("best", "second"), strict=False))
    return {
        label: names[value] for label, value in means.items() if value in names
    }
