"""Training that can stop at any moment, and goes on as if it had not."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

import keras_zigzag as kz
from keras_zigzag.baselines.member_batches import (
    OneMemberBatches,
    OrderOfEpoch,
    in_orders,
)
from keras_zigzag.benchmark.protocol import Training
from keras_zigzag.benchmark.results import DAMAGED


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
        values = {
            f"variable_{index}": ops.convert_to_numpy(variable)
            for index, variable in enumerate(_variables(model))
        }
        header = {"epoch": epoch, "seconds": seconds, "digest": self.digest}
        # Compressing would take longer than an epoch of a small network.
        write_arrays(self.path, {**values, **header}, np.savez)

    def restore(self, model: keras.Model) -> tuple[int, float]:
        """Takes the state; returns the epochs and the seconds it took."""
        state = self._read()
        if str(state.get("digest")) != self.digest:
            return 0, 0.0
        for index, variable in enumerate(_variables(model)):
            variable.assign(state[f"variable_{index}"])
        return int(state["epoch"]), float(state["seconds"])

    def _read(self) -> dict[str, np.ndarray]:
        """All arrays, before any is used; none if the file is damaged."""
        if not self.path.exists():
            return {}
        try:
            with self.path.open("rb") as file, np.load(file) as arrays:
                return dict(arrays)
        except DAMAGED:
            warnings.warn(
                f"{self.path} is damaged and is left aside; the training "
                "starts again.",
                stacklevel=2,
            )
            return {}

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

    The order of the samples depends on the seed and the epoch alone, so that
    it does not matter whether one process ran all epochs.

    Args:
        model: Compiled model.
        data: `(x, y)`, or a data set, which is taken as it comes; one with a
            method `begin_epoch` is told which epoch it is.
        training: `Training`.
        seed: Integer.
        backup: `EpochBackup`.
        on_epoch: Function that is told how many epochs are done.

    Returns:
        Float. The seconds that all epochs took, of all processes together.
    """
    epoch, seconds = backup.restore(model)
    on_epoch(epoch)
    watch = _Epochs(training, backup, seconds, on_epoch)
    # An ensemble draws the orders of its members when it is given arrays.
    keras.utils.set_random_seed(seed)
    x, y, options = _in_order(model, data, training.batch_size, seed)
    options["callbacks"] = [*options.get("callbacks", []), watch]
    if epoch < training.epochs:
        model.fit(
            x,
            y,
            initial_epoch=epoch,
            epochs=training.epochs,
            verbose=0,
            **options,
        )
    return watch.seconds


def to_first_epoch(data: Any) -> None:
    """Puts a data set into its first order, wherever it has come to.

    What is done before and after the training depends on the order as well,
    and must not on which epochs this process has run.
    """
    if hasattr(data, "begin_epoch"):
        data.begin_epoch(0)


class _Epochs(keras.callbacks.Callback):
    """Learning rate before, and backup after each epoch."""

    def __init__(
        self,
        training: Training,
        backup: EpochBackup,
        seconds: float,
        on_epoch: Callable[[int], None],
    ):
        super().__init__()
        self.training = training
        self.backup = backup
        self.seconds = seconds
        self.on_epoch = on_epoch

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        rates = self.training.learning_rates
        if rates is not None:
            self.model.optimizer.learning_rate = rates[epoch]
        self._start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seconds += time.perf_counter() - self._start
        self.backup.save(self.model, epoch + 1, self.seconds)
        self.on_epoch(epoch + 1)


def _in_order(
    model: keras.Model, data: Any, batch_size: int, seed: int
) -> tuple[Any, Any, dict[str, Any]]:
    """Inputs, targets and arguments for `fit`."""
    if not isinstance(data, tuple):
        has_orders = hasattr(data, "begin_epoch")
        callbacks = [OrderOfEpoch(data)] if has_orders else []
        # Keras would shuffle the batches of a `PyDataset`.
        return data, None, {"callbacks": callbacks, "shuffle": False}
    x, y = data
    options = {"batch_size": batch_size}
    if isinstance(model, kz.baselines.DeepEnsemble):
        return x, y, options
    return in_orders(model, x, y, options, [[seed]], OneMemberBatches)


def write_arrays(
    path: Path,
    arrays: dict[str, Any],
    save: Callable[..., None] = np.savez_compressed,
) -> None:
    """Writes an `.npz`, all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    try:
        with partial.open("wb") as file:
            save(file, **arrays)
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
