"""The cached scores of a run, for pictures and tests that need samples."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_zigzag.benchmark.report_rows import Row
from keras_zigzag.benchmark.results import scores_path
from keras_zigzag.benchmark.scoring import samples_of
from keras_zigzag.epoch_backup import DAMAGED
from keras_zigzag.evaluation.samples import Samples


def load_scores(file: Path, task: str, is_entropy: bool = False) -> Samples:
    """Reads what a run has left.

    Args:
        file: Path of an `.npz` file.
        task: String.
        is_entropy: Boolean. Whether the score is the entropy rather than
            the method's own uncertainty. Defaults to `False`.
    """
    score = "entropy" if is_entropy else "uncertainty"
    with file.open("rb") as content, np.load(content) as arrays:
        return samples_of(arrays, task, score)


def scores_of_one_seed(
    out: Path, protocol: str, task: str, rows: Sequence[Row]
) -> tuple[int, dict[str, Samples]]:
    """Scores by label, of the seed that most rows have trained with."""
    files = {
        (row.label, run.seed): scores_path(out, protocol, run.method, run.seed)
        for row in rows
        for run in row.trained(protocol)
    }
    there = {key: file for key, file in files.items() if file.exists()}
    seeds = [seed for _, seed in there]
    if not seeds:
        return 0, {}
    chosen = max(sorted(set(seeds)), key=seeds.count)
    found = {
        row.label: _scores(there[row.label, chosen], task, not row.is_main)
        for row in rows
        if (row.label, chosen) in there
    }
    return chosen, {k: one for k, one in found.items() if one is not None}


def _scores(file: Path, task: str, is_entropy: bool) -> Samples | None:
    """`None` if the file was cut off, as by a copy that was stopped."""
    try:
        return load_scores(file, task, is_entropy)
    except (*DAMAGED, KeyError):
        warnings.warn(
            f"{file} is damaged, and pictures and bootstraps are without it. "
            "Take its line off the results and run the experiment again.",
            stacklevel=2,
        )
        return None
