"""The state of a training after its last epoch, in a file."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import time
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
STALE = 3600.0  # seconds without a byte; whoever wrote it was killed


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
        variables = _variables(model)
        if not _fits(state, variables):
            self._leave_aside("is of a model with other weights")
            return 0, 0.0
        for index, variable in enumerate(variables):
            variable.assign(state[f"variable_{index}"])
        return int(state["epoch"]), float(state["seconds"])

    def _read(self) -> dict[str, np.ndarray]:
        """All arrays, before any is used; none if the file is damaged."""
        try:
            with self.path.open("rb") as file, np.load(file) as arrays:
                return dict(arrays)
        except FileNotFoundError:
            # Another process with this training may have just ended it.
            return {}
        except DAMAGED:
            self._leave_aside("is damaged")
            return {}

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)
        _delete_stale(self.path)

    def _leave_aside(self, what: str) -> None:
        warnings.warn(
            f"{self.path} {what} and is left aside; the training starts again.",
            stacklevel=3,
        )


def write_arrays(
    path: Path,
    arrays: dict[str, Any],
    save: Callable[..., None] = np.savez_compressed,
) -> None:
    """Writes an `.npz`, all of it or nothing.

    Processes that write the same file do not know of each other, and the last
    one counts.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _delete_stale(path)
    # Not by the number of the process, which machines may have in common.
    partial = path.with_suffix(f".{secrets.token_hex(4)}.partial")
    try:
        with partial.open("wb") as file:
            save(file, **arrays)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _delete_stale(path: Path) -> None:
    """Deletes what processes that were killed have left half written."""
    for partial in path.parent.glob(f"{glob.escape(path.stem)}.*partial"):
        # Another process may be faster, or have it open.
        with contextlib.suppress(OSError):
            if time.time() - partial.stat().st_mtime > STALE:
                partial.unlink()


def _fits(state: dict[str, np.ndarray], variables: list[Any]) -> bool:
    """Whether there are values of the shape of each variable."""
    shapes = {name: value.shape for name, value in state.items()}
    return all(
        shapes.get(f"variable_{index}") == tuple(variable.shape)
        for index, variable in enumerate(variables)
    )


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
