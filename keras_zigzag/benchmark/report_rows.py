"""Rows, columns and numbers of the tables, before they are text."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

import keras_zigzag as kz
from keras_zigzag.benchmark.report_runs import (
    ZIGZAG,
    Results,
    Run,
    mean,
)
from keras_zigzag.evaluation.metric_sets import HEADINGS, direction

ENTROPY = ", entropy"
Value = Callable[[Run], float | None]


@dataclasses.dataclass(frozen=True)
class Measure:
    """A column: what it is called, and its number of a run.

    Args:
        key: String. As in the paper's table: `"roc_auc"`, `"size"`.
        heading: String. Without the arrow.
        value: Function from a `Run` to a number, or to `None`.
        direction: Integer. 1 if more is better, −1 if less is.
        spread: Function from a `Run` to two quartiles, for numbers that are
            medians of measurements. Defaults to `None`.
        ood: String. The OOD set. Defaults to `""`.
    """

    key: str
    heading: str
    value: Value
    direction: int = 1
    spread: Callable[[Run], tuple[float, float] | None] | None = None
    ood: str = ""

    @property
    def full_key(self) -> str:
        return f"{self.ood}_{self.key}" if self.ood else self.key

    @property
    def is_cost(self) -> bool:
        return self.spread is not None

    @property
    def title(self) -> str:
        return self.heading + {1: " ↑", -1: " ↓", 0: ""}[self.direction]


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


def metric(key: str) -> Measure:
    """A metric of the ID samples."""
    return Measure(
        key, HEADINGS[key], lambda run: run.metrics.get(key), direction(key)
    )


def detection(key: str, ood: str) -> Measure:
    """A metric of one OOD set."""
    name = ood.replace("_", " ")
    full = f"{ood}_{key}"
    return Measure(
        key,
        f"{name} {HEADINGS[key]}",
        lambda run: run.metrics.get(full),
        direction(full),
        ood=ood,
    )


def mean_detection(key: str, sets: Mapping[str, Sequence[str]]) -> Measure:
    """The mean over the OOD sets, which differ from protocol to protocol."""

    def value(run: Run) -> float | None:
        found = [run.metrics.get(f"{ood}_{key}") for ood in sets[run.protocol]]
        values = [one for one in found if one is not None]
        return mean(values) if len(values) == len(found) else None

    return Measure(
        key, f"OOD {HEADINGS[key]}", value, direction(key), ood="OOD"
    )


def cost(key: str, heading: str) -> Measure:
    """A cost column: a number, or a median with its quartiles."""

    def value(run: Run) -> float | None:
        found = run.cost.get(key)
        return found[0] if isinstance(found, Sequence) else found

    def spread(run: Run) -> tuple[float, float] | None:
        found = run.cost.get(key)
        if not isinstance(found, Sequence):
            return None
        return found[1], found[2]

    return Measure(key, heading, value, -1, spread)


COSTS = (
    cost("size", "Size"),
    cost("inference_time", "Inf. Time"),
    cost("training_time", "Time"),
    cost("changed_layers", "Simple"),
)


def rows_of(results: Sequence[Results]) -> list[Row]:
    """One row per method in the package's order, and those of entropies."""
    runs = [run for result in results for run in result.runs]
    classes = {run.method: run.class_name for run in runs}
    known = list(kz.methods())
    order = [*known, *classes.values()]
    rows = []
    for label in sorted(classes, key=lambda name: order.index(classes[name])):
        by_protocol = {
            result.name: [run for run in result.runs if run.method == label]
            for result in results
        }
        row = Row(label, classes[label], by_protocol)
        rows += [row, *_entropy_rows(row)]
    return rows


def _entropy_rows(row: Row) -> list[Row]:
    if not any(run.entropy_metrics for run in row.every):
        return []
    by_entropy = with_runs(
        row,
        lambda run: dataclasses.replace(
            run, metrics=run.entropy_metrics, missing={}, cost={}
        ),
    )
    label = row.label + ENTROPY + " of y0" * (row.class_name == ZIGZAG)
    return [dataclasses.replace(by_entropy, label=label, is_main=False)]


def with_runs(row: Row, change: Callable[[Run], Run]) -> Row:
    runs = {name: [*map(change, some)] for name, some in row.runs.items()}
    return dataclasses.replace(row, runs=runs)


def find(rows: Iterable[Row], class_name: str) -> Row | None:
    """The row of a class, under its own name rather than another label."""
    rows = [r for r in rows if r.is_main and r.class_name == class_name]
    rows.sort(key=lambda row: row.label != class_name)
    return rows[0] if rows else None


def marks(rows: Sequence[Row], measure: Measure) -> dict[str, str]:
    """`"best"` and `"second"` by label; equal numbers share the mark.

    Costs have no marks: the single model's are the lowest by definition. Nor
    has a row that lacks a protocol of its group, as its mean is of others.
    """
    if measure.is_cost:
        return {}
    means = {
        row.label: value * measure.direction
        for row in rows
        if not row.untrained
        and (value := row.estimate(measure).mean) is not None
    }
    best = sorted(set(means.values()), reverse=True)[:2]
    if len(means) < 2:
        return {}
    names = dict(zip(best, ("best", "second"), strict=False))
    return {
        label: names[value] for label, value in means.items() if value in names
    }


def quality(task: str) -> list[Measure]:
    """The ID columns of the paper's main tables."""
    if task == "regression":
        keys = ["mae", "pearson", "prediction_rejection_ratio"]
    else:
        keys = ["accuracy", "raulc"]
    return [metric(key) for key in keys]


def detections(results: Sequence[Results], key: str) -> list[Measure]:
    """One column per OOD set, or their mean where the sets differ."""
    sets = {result.name: result.ood_sets for result in results}
    first, *others = sets.values()
    if all(other == first for other in others):
        return [detection(key, ood) for ood in first]
    return [mean_detection(key, sets)]
