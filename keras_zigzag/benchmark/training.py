"""Training that can stop at any moment, and goes on as if it had not."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.benchmark.protocol import Training

NUM_SEEDS = 2**32


class EpochBackup:
    """The state of a model after its last complete epoch, in a file.

    Weights, the state of the optimizer and those of the random generators:
    what goes on from it gives the same numbers as what never stopped.
    `keras.callbacks.BackupAndRestore` leaves the generators out.

    Args:
        path: Path of a file, written after each epoch.
        digest: String. What the run is; a file of another run is left aside.
    """

    def __init__(self, path: Path, digest: str):
        self.path = path
        self.digest = digest

    def save(self, model: keras.Model, epoch: int, seconds: float) -> None:
        """Writes the state after an epoch; the file is never half written."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        values = {
            f"variable_{index}": ops.convert_to_numpy(variable)
            for index, variable in enumerate(_variables(model))
        }
        header = {"epoch": epoch, "seconds": seconds, "digest": self.digest}
        write_arrays(self.path, {**values, **header})

    def restore(self, model: keras.Model) -> tuple[int, float]:
        """Takes the state; returns the epochs and the seconds it took."""
        if not self.path.exists():
            return 0, 0.0
        with np.load(self.path) as file:
            if str(file["digest"]) != self.digest:
                return 0, 0.0
            for index, variable in enumerate(_variables(model)):
                variable.assign(file[f"variable_{index}"])
            return int(file["epoch"]), float(file["seconds"])

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)


def train(
    model: keras.Model,
    data: Any,
    training: Training,
    seed: int,
    backup: EpochBackup,
    on_epoch: Callable[[int], None] = lambda epoch: None,
) -> float:
    """Trains a compiled model, from where a backup ends.

    Each epoch draws from a seed of its own, so that it does not matter
    whether one process ran all of them.

    Args:
        model: Compiled model.
        data: `(x, y)`, or a data set.
        training: `Training`.
        seed: Integer.
        backup: `EpochBackup`.
        on_epoch: Function that is told how many epochs are done.

    Returns:
        Float. The seconds that all epochs took, of all processes together.
    """
    epoch, seconds = backup.restore(model)
    on_epoch(epoch)
    x, y = data if isinstance(data, tuple) else (data, None)
    while epoch < training.epochs:
        keras.utils.set_random_seed(seed_of_epoch(seed, epoch))
        if training.learning_rates is not None:
            model.optimizer.learning_rate = training.learning_rates[epoch]
        start = time.perf_counter()
        model.fit(
            x,
            y,
            batch_size=None if y is None else training.batch_size,
            initial_epoch=epoch,
            epochs=epoch + 1,
            verbose=0,
        )
        seconds += time.perf_counter() - start
        epoch += 1
        backup.save(model, epoch, seconds)
        on_epoch(epoch)
    return seconds


def seed_of_epoch(seed: int, epoch: int) -> int:
    """A seed that is different for each epoch of each run."""
    sequence = np.random.SeedSequence([seed, epoch])
    return int(sequence.generate_state(1)[0]) % NUM_SEEDS


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Writes a compressed `.npz`, all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    try:
        with partial.open("wb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _variables(model: Any) -> list[Any]:
    """All state, in an order that is the same for models built alike."""
    model.optimizer.build(model.trainable_variables)
    variables, seen = [], set()
    for variable in [*model.variables, *model.optimizer.variables]:
        if id(variable) not in seen:
            seen.add(id(variable))
            variables.append(variable)
    return variables
