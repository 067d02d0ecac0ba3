"""The cached scores of a run, for pictures and tests that need samples."""

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_zigzag.benchmark.report_rows import Row
from keras_zigzag.benchmark.results import scores_path
from keras_zigzag.benchmark.scoring import ood_names
from keras_zigzag.epoch_backup import DAMAGED
from keras_zigzag.metrics.decisions import most_probable
from keras_zigzag.metrics.inputs import Array


@dataclasses.dataclass(frozen=True)
class Scores:
    """What one run answered.

    Args:
        task: String.
        targets: Array of class indices or values.
        prediction: Array of probabilities or values.
        uncertainty: Array of shape `(num_samples,)`, or of one number per
            place one after the other.
        ood: Dictionary from OOD sets to uncertainties.
    """

    task: str
    targets: Array
    prediction: Array
    uncertainty: Array
    ood: dict[str, Array]

    @property
    def loss(self) -> Array:
        """1 where the answer is wrong, or the mean absolute error."""
        num = len(self.uncertainty)
        if self.task == "regression":
            errors = self.prediction.reshape(num, -1) - self.targets.reshape(
                num, -1
            )
            return np.abs(errors.astype("float64")).mean(axis=-1)
        wrong = most_probable(self.prediction).ravel() != self.labels
        return wrong.reshape(num, -1).mean(axis=-1)

    @property
    def labels(self) -> Array:
        """Class indices of all places, from those or from one-hot targets."""
        if self.targets.shape == self.prediction.shape:
            return self.targets.argmax(axis=-1).ravel()
        return self.targets.ravel()


def load_scores(file: Path, task: str, is_entropy: bool = False) -> Scores:
    """Reads what a run has left.

    Args:
        file: Path of an `.npz` file.
        task: String.
        is_entropy: Boolean. Whether the score is the entropy rather than
            the method's own uncertainty. Defaults to `False`.
    """
    score = "entropy" if is_entropy else "uncertainty"
    with file.open("rb") as content, np.load(content) as arrays:
        ood = {
            name: arrays[f"ood_{name}_{score}"].ravel()
            for name in ood_names(arrays)
        }
        return Scores(
            task,
            arrays["id_targets"],
            arrays["id_prediction"],
            arrays[f"id_{score}"].ravel(),
            ood,
        )


def scores_of_one_seed(
    out: Path, protocol: str, task: str, rows: Sequence[Row]
) -> tuple[int, dict[str, Scores]]:
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


def _scores(file: Path, task: str, is_entropy: bool) -> Scores | None:
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
