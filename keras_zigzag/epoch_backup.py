"""The state of a training after its last epoch, in a file."""

from __future__ import annotations

import os
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

# What NumPy raises for an `.npz` that was cut off or overwritten.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError)


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
            f"variable_{index}": _plain(ops.convert_to_numpy(variable))
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


def _plain(values: np.ndarray) -> np.ndarray:
    """In a type that a file can hold; bfloat16 is none, and is exact so."""
    return values if values.dtype.kind in "biufc" else values.astype("float32")
