"""What the metrics cost, beside one `numpy.argsort` of the same scores.

`python -m keras_zigzag.benchmark.metrics` prints a Markdown table of CPU time,
as a ratio to the sort in the same run, and of peak memory, in arrays of the
size of the scores, inputs not counted; and a table of what the callback that
computes them while training costs, beside the predictions it needs.
"""

import argparse
import functools
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from keras_zigzag import metrics
from keras_zigzag.benchmark import callback

NUM_SCORES = 10_000_000
NUM_IMAGES = 10_000
TIME_TARGET, MEMORY_TARGET = 3.0, 6.0
ON_LOSSES = (
    metrics.risk_coverage_curve,
    metrics.aurc,
    metrics.excess_aurc,
    metrics.ause,
    metrics.augrc,
    metrics.prediction_rejection_ratio,
    metrics.risk_at_coverage,
    metrics.coverage_at_risk,
    metrics.lift_curve_regression,
    metrics.aulc_regression,
    metrics.raulc_regression,
    metrics.pearson,
    metrics.spearman,
    metrics.cumulative_calibration_error,
)
ON_CORRECT = (metrics.lift_curve, metrics.aulc, metrics.raulc)
ON_TWO_SETS = (
    metrics.roc_auc,
    metrics.average_precision,
    metrics.pr_auc,
    metrics.fpr_at_tpr,
    metrics.detection_curves,
)
Run = Callable[[], object]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m keras_zigzag.benchmark.metrics",
        description="What the metrics cost, beside one sort of the scores.",
    )
    parser.add_argument("--scores", type=int, default=NUM_SCORES)
    parser.add_argument("--images", type=int, default=NUM_IMAGES)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    # Not negative, as the cumulative calibration needs it.
    score = np.random.default_rng(0).lognormal(size=options.scores)
    print(
        f"{options.scores:,} scores, fastest of {options.repeats}; targets: "
        f"{TIME_TARGET:g} times one `numpy.argsort`, "
        f"{MEMORY_TARGET:g} arrays.\n"
    )
    print("| metric | distinct | tied | memory |\n|---|---:|---:|---:|")
    sort = cpu_seconds(lambda: np.argsort(score), options.repeats)
    # Some thousand distinct values: the sort itself is quicker on those.
    tied = np.round(score, 2)
    tied_sort = cpu_seconds(lambda: np.argsort(tied), options.repeats)
    for (name, run), (_, on_ties) in zip(runs(score), runs(tied), strict=True):
        ratio = cpu_seconds(run, options.repeats) / sort
        tied_ratio = cpu_seconds(on_ties, options.repeats) / tied_sort
        arrays = peak_bytes(run) / score.nbytes
        print(
            f"| `{name}` | {ratio:.2f} | {tied_ratio:.2f} | {arrays:.1f} |",
            flush=True,
        )
    print(f"\n{callback.table(options.images, options.repeats)}")


def runs(score: np.ndarray) -> Iterator[tuple[str, Run]]:
    """Every metric that goes by the order of the scores, ready to run."""
    rng = np.random.default_rng(1)
    loss = rng.uniform(0.1, 1.0, size=len(score))
    correct = rng.uniform(size=len(score)) < 0.9
    half = len(score) // 2
    for group, arrays in (
        (ON_CORRECT, (correct, score)),
        (ON_LOSSES, (loss, score)),
        (ON_TWO_SETS, (score[:half], score[half:])),
    ):
        for metric in group:
            yield metric.__name__, functools.partial(metric, *arrays)


def cpu_seconds(run: Run, repeats: int) -> float:
    """CPU time does not see what else the machine does."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def peak_bytes(run: Run) -> int:
    """How much memory NumPy has at most while it runs."""
    tracemalloc.start()
    run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


if __name__ == "__main__":
    main()
