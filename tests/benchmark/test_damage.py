"""Files of an experiment that were cut off, and names that cannot be files."""

import numpy as np
import pytest

from keras_zigzag.benchmark import run, runner
from keras_zigzag.benchmark.report_runs import load_results
from keras_zigzag.benchmark.report_section import Section
from tests.benchmark import tiny_protocol
from tests.benchmark.report_cases import classification_run, write

pytestmark = pytest.mark.one_quick_on("jax", "torch")


@pytest.fixture(autouse=True)
def costs_nothing(monkeypatch):
    monkeypatch.setattr(runner, "costs_of", lambda *arguments: {"size": 1})


@pytest.mark.parametrize("num_bytes", [0, 100, -300])
def test_a_damaged_backup_is_left_aside(num_bytes, tmp_path, monkeypatch):
    protocol = tiny_protocol.make(epochs=2)
    save = runner.EpochBackup.save

    def save_and_stop(self, *arguments):
        save(self, *arguments)
        content = self.path.read_bytes()
        self.path.write_bytes(content[:num_bytes])
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(runner.EpochBackup, "save", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            run(protocol, "SingleModel", 1, tmp_path, progress=False)
    with pytest.warns(UserWarning, match="SingleModel-0.npz is damaged"):
        (again,) = run(protocol, "SingleModel", 1, tmp_path, progress=False)
    (whole,) = run(protocol, "SingleModel", 1, tmp_path / "w", progress=False)
    assert again["error"] is None and again["metrics"] == whole["metrics"]


def test_damaged_scores_are_as_none(tmp_path):
    labels = ("ZigZagModel", "SingleModel")
    write(tmp_path, [classification_run(tmp_path, one, 0) for one in labels])
    path = tmp_path / "scores" / "blobs" / "ZigZagModel-0.npz"
    path.write_bytes(path.read_bytes()[:-200])
    (results,) = load_results(tmp_path)
    with pytest.warns(UserWarning, match="ZigZagModel-0.npz is damaged"):
        _, scores = Section([results], tmp_path).scores
    assert list(scores) == ["SingleModel"]
    assert np.isfinite(scores["SingleModel"].uncertainty).all()
