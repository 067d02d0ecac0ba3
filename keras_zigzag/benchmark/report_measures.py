"""Columns of the tables: what they are called, and their number of a run."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from keras_zigzag.benchmark.report_failures import mean
from keras_zigzag.benchmark.report_run import Run
from keras_zigzag.benchmark.report_runs import Results
from keras_zigzag.evaluation.metric_sets import HEADINGS, direction

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


def quality(task: str) -> list[Measure]:
    """The ID columns of the paper's main tables."""
    if task == "regression":
        keys = ["mae", "pearson", "raulc", "prediction_rejection_ratio"]
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
