"""What an experiment does with broken files, odd names and bad arguments."""

import dataclasses
import json
import subprocess
import sys
import weakref

import keras
import numpy as np
import pytest

from keras_zigzag.benchmark import Data, Variant, results, run, runner
from keras_zigzag.benchmark.report_pictures import write_pictures
from keras_zigzag.benchmark.report_runs import load_results
from keras_zigzag.benchmark.report_section import Section
from keras_zigzag.benchmark.results import read_records
from tests.benchmark import tiny_protocol
from tests.benchmark.report_cases import classification_run, line, write

pytestmark = pytest.mark.one_quick_on("jax", "torch")


@pytest.fixture(autouse=True)
def costs_nothing(monkeypatch):
    monkeypatch.setattr(runner, "costs_of", lambda *arguments: {"size": 1})


@pytest.mark.first_quick_on("tensorflow", "jax", "torch")
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


class Shuffled(keras.utils.PyDataset):
    """Batches in an order of each epoch, as those of images are."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y
        self.begin_epoch(0)

    def __len__(self):
        return 6

    def __getitem__(self, index):
        rows = self.order[16 * index : 16 * index + 16]
        return self.x[rows], self.y[rows]

    def begin_epoch(self, epoch):
        self.epoch = epoch
        self.order = np.random.default_rng(epoch).permutation(len(self.x))

    def on_epoch_end(self):
        self.begin_epoch(self.epoch + 1)


def load_shuffled(seed):
    data = tiny_protocol.load_data(seed)
    return dataclasses.replace(data, train=Shuffled(*data.train))


def test_what_follows_the_training_is_in_the_same_order(tmp_path, monkeypatch):
    """Killed after the last epoch, a process goes on without one."""
    protocol = tiny_protocol.make(epochs=1, load=load_shuffled)
    label = "OrthonormalCertificates"
    run(protocol, label, 1, tmp_path / "whole", progress=False)
    save = runner.EpochBackup.save

    def save_and_stop(self, *arguments):
        save(self, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(runner.EpochBackup, "save", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            run(protocol, label, 1, tmp_path, progress=False)
    run(protocol, label, 1, tmp_path, progress=False)
    whole, resumed = (
        np.load(results.scores_path(out, "tiny", label, 0))["id_uncertainty"]
        for out in (tmp_path / "whole", tmp_path)
    )
    np.testing.assert_array_equal(resumed, whole)


def test_a_backup_of_what_is_done_is_deleted(tmp_path, monkeypatch):
    """A run may be killed when its line is there, and its backup as well."""
    protocol = tiny_protocol.make(epochs=1)
    with monkeypatch.context() as context:
        context.setattr(runner.EpochBackup, "delete", lambda self: None)
        run(protocol, "SingleModel", 1, tmp_path, progress=False)
    assert list((tmp_path / "backups").rglob("*.npz"))
    run(protocol, "SingleModel", 1, tmp_path, progress=False)
    assert not list((tmp_path / "backups").rglob("*.npz"))


def test_damaged_scores_are_as_none(tmp_path):
    labels = ("ZigZagModel", "SingleModel")
    write(tmp_path, [classification_run(tmp_path, one, 0) for one in labels])
    path = tmp_path / "scores" / "blobs" / "ZigZagModel-0.npz"
    path.write_bytes(path.read_bytes()[:-200])
    (results,) = load_results(tmp_path)
    with pytest.warns(UserWarning, match="ZigZagModel-0.npz is damaged"):
        _, scores = Section([results], tmp_path).scores
    assert list(scores) == ["SingleModel"]
    assert np.isfinite(scores["SingleModel"].id.uncertainty).all()


def test_numbers_that_json_does_not_know(tmp_path):
    protocol = tiny_protocol.make(
        epochs=1, settings={"far": float("inf"), "scale": np.array([1.0, 2.0])}
    )
    (record,) = run(protocol, "SingleModel", 1, tmp_path, progress=False)
    assert record["settings"]["far"] == "inf"
    assert record["settings"]["scale"] == [1.0, 2.0]
    (again,) = run(protocol, "SingleModel", 1, tmp_path, progress=False)
    assert again == record
    assert "Infinity" not in (tmp_path / "tiny.jsonl").read_text()


@pytest.mark.parametrize("name", ["a/b", "../a", "", "..", "a\nb", "x" * 300])
def test_names_that_cannot_be_files(name):
    with pytest.raises(ValueError, match="The name .* is also that of a file"):
        tiny_protocol.make(name=name)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a b", "a_b"], "'a b' and 'a_b'"),
        (["a/b", "a-b"], "'a/b' and 'a-b'"),
        (["x" * 300], "also that of a file"),
        (["two\nlines"], "also that of a file"),
    ],
)
def test_labels_whose_files_would_be_mixed_up(labels, message):
    variants = {label: Variant("SingleModel") for label in labels}
    with pytest.raises(ValueError, match=message):
        tiny_protocol.make(variants=variants)


def test_settings_do_not_hide_those_of_the_training():
    with pytest.raises(ValueError, match=r"known without them: \['training'\]"):
        tiny_protocol.make(settings={"training": 3})


@pytest.mark.parametrize("place", ["train", "validation", "test", "far"])
def test_what_can_be_read_only_once_is_refused(place):
    sets = {"train": (), "validation": (), "test": (), "far": ()}
    sets[place] = iter([(1, 2)])
    with pytest.raises(ValueError, match=f"again in each epoch.*{place}="):
        Data(ood={"far": sets.pop("far")}, **sets)


def test_a_folder_that_is_a_file_is_told_of_before_the_training(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(runner, "train", None)
    (tmp_path / "file").write_text("")
    protocol = tiny_protocol.make()
    with pytest.raises(OSError, match="exists"):
        run(protocol, "SingleModel", 1, tmp_path / "file", progress=False)


def test_lines_of_no_run_are_left_out(tmp_path):
    path = tmp_path / "some.jsonl"
    good = line("a")
    path.write_bytes(
        b'\r\n{"method": "b"}\r\n12\r\n'
        + json.dumps(good | {"unknown": 1}).encode()
        + b"\r\n\r\n"
    )
    with pytest.warns(UserWarning, match="line [23] is cut off or damaged"):
        (only,) = read_records(path)
    assert only == good | {"unknown": 1}


@pytest.mark.slow
def test_lines_of_two_processes_do_not_mix(tmp_path):
    """Long lines, written at once by as many processes as there are cores."""
    code = (
        "import sys; from pathlib import Path\n"
        "from keras_zigzag.benchmark.results import append_record\n"
        "for seed in range(40):\n"
        "    append_record(Path(sys.argv[1]), {'seed': seed, 'who': "
        "sys.argv[2], 'text': 'x' * 100_000})\n"
    )
    path = tmp_path / "some.jsonl"
    command = [sys.executable, "-c", code, str(path)]
    processes = [subprocess.Popen([*command, who]) for who in "ab"]
    assert [process.wait() for process in processes] == [0, 0]
    found = [json.loads(one) for one in path.read_text().splitlines()]
    assert len({(one["who"], one["seed"]) for one in found}) == 80


def test_the_data_of_one_seed_at_a_time():
    alive = weakref.WeakSet()

    class Some:
        def __init__(self):
            assert not alive
            alive.add(self)

    load = runner._OneAtATime(lambda seed: Some())
    assert load(0) is load(0)
    load(1)


def test_methods_of_different_settings_are_refused_before_the_training(
    tmp_path,
):
    run(tiny_protocol.make(epochs=1), "SingleModel", 1, tmp_path)
    other = tiny_protocol.make(epochs=2)
    with pytest.raises(ValueError, match="different settings(.|\n)*--merge"):
        run(other, "ZigZagModel", 1, tmp_path, progress=False)


def test_costs_are_not_those_of_other_settings(tmp_path, monkeypatch):
    for epochs, size in ((1, 1.0), (2, 2.0)):
        monkeypatch.setattr(runner, "costs_of", lambda *a, s=size: {"size": s})
        protocol = tiny_protocol.make(epochs=epochs)
        seeds = [epochs]
        (one,) = run(
            protocol, "SingleModel", seeds, tmp_path, merge=True, progress=False
        )
        assert one["cost"]["size"] == size


@pytest.mark.parametrize("seeds", [np.int64(1), [np.int64(0), 0], np.arange(1)])
def test_seeds_of_any_kind_run_once(seeds, tmp_path):
    protocol = tiny_protocol.make(epochs=1)
    (record,) = run(protocol, "SingleModel", seeds, tmp_path, progress=False)
    assert record["seed"] == 0
    assert len(read_records(tmp_path / "tiny.jsonl")) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": []}, "at least one method"),
        ({"seeds": []}, "integers, one or more"),
    ],
)
def test_nothing_to_run(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        run(tiny_protocol.make(), out=tmp_path, **arguments)


def test_pictures_of_sets_with_names_alike(tmp_path):
    one = classification_run(tmp_path, "SingleModel", 0)
    file = tmp_path / "scores" / "blobs" / "SingleModel-0.npz"
    arrays = dict(np.load(file))
    for name in ("a b", "a/b"):
        one["metrics"][f"{name}_roc_auc"] = 0.5
        for score in ("uncertainty", "entropy"):
            arrays[f"ood_{name}_{score}"] = arrays[f"ood_rings_{score}"]
    np.savez(file, **arrays)
    write(tmp_path, [one])
    (results,) = load_results(tmp_path)
    pictures = write_pictures(Section([results], tmp_path), tmp_path)
    files = [picture.file for picture in pictures]
    assert len(set(files)) == len(files)
    assert {"blobs-a-b-curves.png", "blobs-a-b-curves-2.png"} <= set(files)
