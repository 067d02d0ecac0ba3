"""Files that are written whole, also by several processes, and left aside."""

import os
import time
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_zigzag.epoch_backup import STALE, EpochBackup, write_arrays


def _model(units=1):
    layers = [keras.Input((2,)), keras.layers.Dense(units)]
    model = keras.Sequential(layers)
    model.compile("sgd", "mse")
    return model


def test_two_processes_may_write_one_file(tmp_path):
    path = tmp_path / "a.npz"

    def save_while_another_does(file, **arrays):
        write_arrays(path, {"by": 2}, np.savez)
        np.savez(file, **arrays)

    write_arrays(path, {"by": 1}, save_while_another_does)
    with np.load(path) as arrays:
        assert arrays["by"] == 1
    assert list(tmp_path.iterdir()) == [path]


def test_what_stops_while_it_writes_leaves_nothing(tmp_path):
    def stop(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_arrays(tmp_path / "a.npz", {}, stop)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("does", ["write", "delete"])
def test_what_a_killed_process_left_is_deleted(does, tmp_path):
    """Not what another process may be writing, nor files of anyone else."""
    names = ["a.partial", "a.12ab.partial", "a.new.partial", "mine.partial"]
    old, older, new, other = (tmp_path / name for name in names)
    then = time.time() - STALE - 10
    for path in (old, older, new, other):
        path.write_bytes(b"half")
        if path != new:
            os.utime(path, (then, then))
    path = tmp_path / "a.npz"
    if does == "write":
        write_arrays(path, {})
    else:
        EpochBackup(path, "").delete()
    assert {*tmp_path.iterdir()} - {path} == {new, other}


def test_a_backup_that_another_process_deletes_is_none(tmp_path, monkeypatch):
    # It is gone when the file is opened.
    monkeypatch.setattr(Path, "exists", lambda self: True)
    backup = EpochBackup(tmp_path / "a.npz", "")
    assert backup.restore(_model()) == (0, 0.0)
    backup.delete()


def test_a_backup_of_other_weights_is_left_aside(tmp_path):
    """Of a base model that was mended after it had failed."""
    backup = EpochBackup(tmp_path / "a.npz", "some")
    backup.save(_model(), epoch=2, seconds=1.0)
    assert backup.restore(_model()) == (2, 1.0)
    for other in (_model(units=2), _model(units=3)):
        other.compile("sgd", "mse")
        other.build((None, 2))
        with pytest.warns(UserWarning, match="a.npz is of a model with other"):
            assert backup.restore(other) == (0, 0.0)
    assert EpochBackup(backup.path, "other").restore(_model()) == (0, 0.0)
