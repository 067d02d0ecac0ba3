"""Which runs did not train: they are compared with no other."""

import dataclasses
import math
from collections.abc import Iterable, Sequence

from keras_zigzag.benchmark.protocol import SINGLE
from keras_zigzag.benchmark.report_run import Run

ACCURACY_BELOW = 0.05  # the single model's mean
ERROR_TIMES = 1.5  # the single model's mean
PROPER = "nll"  # which any probabilities have


def judge(runs: Iterable[Run], task: str) -> list[Run]:
    """Marks the runs that are far from the single model's as failed.

    The single model is judged first, by the mean of its own runs, so that
    one that did not train hides no other.
    """
    runs = list(runs)
    key = "mae" if task == "regression" else "accuracy"
    singles = [run for run in runs if run.method == SINGLE] or [
        run for run in runs if run.class_name == SINGLE
    ]
    own = mean([run.metrics[key] for run in singles if _has(run, key)])
    rest = [run for run in singles if not _failure(run, key, own)]
    expected = mean([run.metrics[key] for run in rest])
    return [
        dataclasses.replace(run, failure=_failure(run, key, expected))
        for run in runs
    ]


def mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _has(run: Run, key: str) -> bool:
    """Of NaN the first class is the likeliest, which has an accuracy."""
    return key in run.metrics and PROPER not in run.missing


def _failure(run: Run, key: str, expected: float | None) -> str:
    if run.failure:
        return run.failure
    if not _has(run, key):
        reason = run.missing.get(key) or run.missing.get(PROPER)
        return reason or f"there is no {key} in its results"
    value = run.metrics[key]
    if expected is None:
        return ""
    if key == "mae" and value > ERROR_TIMES * expected:
        return (
            f"MAE {value:.3g} is more than {ERROR_TIMES:g} times the single "
            f"model's {expected:.3g}"
        )
    if key == "accuracy" and value < expected - ACCURACY_BELOW:
        return (
            f"accuracy {value:.3f} is more than {ACCURACY_BELOW:g} below the "
            f"single model's {expected:.3f}"
        )
    return ""
