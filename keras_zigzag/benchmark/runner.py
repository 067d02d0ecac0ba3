"""One protocol, run over methods and seeds."""

from __future__ import annotations

import dataclasses
import datetime
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_zigzag.benchmark import results
from keras_zigzag.benchmark.progress import Progress
from keras_zigzag.benchmark.protocol import Data, Protocol, Variant
from keras_zigzag.benchmark.recipes import Recipe, check_built_anew
from keras_zigzag.benchmark.run_costs import costs_of
from keras_zigzag.benchmark.scoring import (
    Scores,
    has_entropy_of_its_own,
    metrics_of,
    numbers_of_samples,
    scores_of,
)
from keras_zigzag.benchmark.training import to_first_epoch, train
from keras_zigzag.epoch_backup import EpochBackup, write_arrays
from keras_zigzag.number_checks import checked_count, checked_seed

EVALUATION_BATCH = 500


def run(
    protocol: Protocol,
    methods: str | Sequence[str] = "all",
    seeds: int | Sequence[int] = 3,
    out: str | Path = "results",
    merge: bool = False,
    progress: bool = True,
) -> list[results.Record]:
    """Trains and evaluates methods, and writes down what came out.

    What is done already is not done again; a run that was stopped goes on
    after its last complete epoch and ends with the same numbers. If a method
    fails, that is written down and the others go on; it is tried again the
    next time, from the end of its last complete epoch. Costs that cannot be
    measured are left out, with a warning.

    Args:
        protocol: `Protocol`.
        methods: `"all"`, or labels of its variants. Defaults to `"all"`.
        seeds: Integer, how many, or a sequence of seeds. Defaults to `3`.
        out: Path of a folder. `<protocol>.jsonl` gets one line for each
            method and seed, `scores/` what they were computed from.
            Defaults to `"results"`.
        merge: Boolean. Whether results of other versions or settings may be
            in the file. Defaults to `False`.
        progress: Boolean. Whether to show the progress. Defaults to `True`.

    Returns:
        List of dictionaries, the lines of these methods and seeds.

    Raises:
        ValueError: If a method is unknown or not defined for the task, the
            file holds results of other versions or settings, or the base
            models of the protocol share weights; and whatever `load` raises.
        OSError: If nothing can be written. What is done is kept.

    Example:

    ```python
    records = benchmark.run(protocol, ["SingleModel", "ZigZagModel"], seeds=3)
    print(benchmark.report("results").read_text())
    ```
    """
    variants = protocol.chosen(methods)
    seeds = _seeds(seeds)
    out = Path(out)
    # Better now than after the first epoch, if it cannot be written to.
    out.mkdir(parents=True, exist_ok=True)
    path = results.results_path(out, protocol.name)
    wanted = [(label, seed) for seed in seeds for label in variants]
    records = _records(path, merge, protocol, variants)
    left = [pair for pair in wanted if not _is_done(records, pair)]
    shown = _progress(protocol, left, progress)
    if shown is not None:
        shown.skipped(len(wanted) - len(left), len(wanted), path)
    if left:
        check_built_anew(protocol)
    load = _OneAtATime(protocol.load)
    runs: list[_Run] = []
    done: list[_Run] = []
    for label, seed in wanted:
        one = _Run(protocol, label, variants[label], seed, out, shown)
        (runs if (label, seed) in left else done).append(one)
    for one in done:
        # Of a run that was killed when its line was just written.
        one.clean(runs, records)
    for number, one in enumerate(runs, start=1):
        costs = _measured(records, one.label, one.settings)
        record = results.plain(one.record(load, costs))
        results.append_record(path, record)
        records[one.label, one.seed] = record
        one.clean(runs[number:], records)
    return [records[pair] for pair in wanted]


class _OneAtATime:
    """Keeps the data of one seed, and not while those of another load."""

    def __init__(self, load: Callable[[int], Data]):
        self.load = load
        self.kept: dict[int, Data] = {}

    def __call__(self, seed: int) -> Data:
        if seed not in self.kept:
            self.kept.clear()
            self.kept[seed] = self.load(seed)
        return self.kept[seed]


class _Run:
    """One method with one seed."""

    def __init__(
        self,
        protocol: Protocol,
        label: str,
        variant: Variant,
        seed: int,
        out: Path,
        progress: Progress | None,
    ):
        self.protocol = protocol
        self.label = label
        self.variant = variant
        self.seed = seed
        self.progress = progress
        self.settings = protocol.settings_of(variant)
        self.scores_path = results.scores_path(out, protocol.name, label, seed)
        self.backup = self._backup(out)

    def record(self, load: Any, costs: dict[str, Any]) -> results.Record:
        """The line of this run, whether it went well or not.

        Args:
            load: Function of a seed that returns the `Data`.
            costs: Dictionary. What the method costs, measured with another
                seed, or an empty one.
        """
        # What is wrong with the data is so for all methods.
        data = load(self.seed)
        if self.progress is not None:
            self.progress.start(self.label, self.seed)
        try:
            found = self._results(data, costs)
        except OSError:
            # A full disk is not the method's fault.
            raise
        except Exception as error:
            found = self._failure(error)
        self._tell_end(found)
        return self._header() | found

    def clean(
        self,
        left: Sequence[_Run],
        records: dict[tuple[str, int], results.Record],
    ) -> None:
        """Deletes the backup, unless a run goes on from it.

        One of the same training may be left, or may have failed, so that it
        is tried again.
        """
        if any(self.backup.path == other.backup.path for other in left):
            return
        alike = self.protocol.trained_alike(self.label)
        found = [records.get((label, self.seed)) for label in alike]
        if all(one is None or one["error"] is None for one in found):
            self.backup.delete()

    def _backup(self, out: Path) -> EpochBackup:
        """One for all variants with this training, as its end is theirs."""
        trained = dataclasses.replace(self.variant, inference={})
        settings = self.protocol.settings_of(trained)
        label = self.protocol.trained_alike(self.label)[0]
        name = results.scores_path(out, "", label, self.seed).name
        return EpochBackup(
            out / "backups" / self.protocol.name / name,
            results.digest_of([settings, results.versions()]),
        )

    def _results(self, data: Data, costs: dict[str, Any]) -> results.Record:
        keras.utils.clear_session()
        keras.utils.set_random_seed(self.seed)
        recipe = Recipe(self.protocol, self.variant)
        to_first_epoch(data.train)
        trainee = recipe.trainee(data)
        training = self.protocol.training
        seconds = train(
            trainee, data.train, training, self.seed, self.backup, self._epoch
        )
        self._tell("evaluating")
        to_first_epoch(data.train)
        keras.utils.set_random_seed(self.seed)
        model = recipe.finished(trainee, data)
        scores = scores_of(model, data, self.protocol.task, EVALUATION_BATCH)
        write_arrays(self.scores_path, scores)
        found = evaluated(scores, self.protocol.task)
        costs = costs or self._costs(data)
        return {
            "error": None,
            **found,
            "cost": costs | {"fit_seconds": seconds},
        }

    def _costs(self, data: Data) -> dict[str, Any]:
        """What the method costs, nothing if it cannot be measured."""
        self._tell("measuring what it costs")
        try:
            costs = costs_of(self.protocol, self.variant, data)
        except Exception as error:
            # The results do not depend on it.
            warnings.warn(
                f"What {self.label!r} costs could not be measured with seed "
                f"{self.seed}, and is left out of this run; one with another "
                f"seed tries again. {_as_text(error)}",
                stacklevel=2,
            )
            return {}
        return costs | {"measured_with_seed": self.seed}

    def _failure(self, error: Exception) -> results.Record:
        return {
            "error": _as_text(error),
            "metrics": {},
            "entropy_metrics": {},
            "missing": {},
            "by_samples": {},
            "cost": {},
        }

    def _header(self) -> results.Record:
        now = datetime.datetime.now(datetime.UTC)
        return {
            "protocol": self.protocol.name,
            "title": self.protocol.title,
            "group": self.protocol.group,
            "paper": self.protocol.paper,
            "task": self.protocol.task,
            "units": self.protocol.units,
            "references": list(self.protocol.references),
            "method": self.label,
            "class": self.variant.method,
            "seed": self.seed,
            "settings": self.settings,
            "digest": results.digest_of(self.settings),
            "versions": results.versions(),
            "revision": results.revision(),
            "finished": now.isoformat(timespec="seconds"),
        }

    def _epoch(self, done: int) -> None:
        if self.progress is not None:
            self.progress.epoch(done)

    def _tell(self, what: str) -> None:
        if self.progress is not None:
            self.progress.say(what)

    def _tell_end(self, found: results.Record) -> None:
        if self.progress is None:
            return
        if found["error"] is not None:
            self.progress.end(f"failed: {found['error'].rstrip('.')}")
            return
        name = "accuracy" if "accuracy" in found["metrics"] else "mae"
        value = found["metrics"].get(name, float("nan"))
        self.progress.end(f"{name} {value:.3f}")


def evaluated(scores: Scores, task: str) -> results.Record:
    """All metrics of the arrays of one run, as its line has them."""
    report = metrics_of(scores, task)
    entropy = {}
    if has_entropy_of_its_own(scores):
        entropy = dict(metrics_of(scores, task, "entropy"))
    return {
        "metrics": dict(report),
        "entropy_metrics": entropy,
        "missing": report.missing,
        "by_samples": {
            str(number): dict(metrics_of(scores, task, num_samples=number))
            for number in numbers_of_samples(scores)
        },
    }


def _records(
    path: Path, merge: bool, protocol: Protocol, variants: dict[str, Variant]
) -> dict[tuple[str, int], results.Record]:
    """What is done, refused if it does not belong to this protocol."""
    records = results.read_records(path, merge)
    if not merge:
        planned = [
            {
                "method": label,
                "settings": (settings := protocol.settings_of(variant)),
                "digest": results.digest_of(settings),
                "versions": results.versions(),
            }
            for label, variant in variants.items()
        ]
        results.check_alike([*records, *planned], path)
    return {(one["method"], one["seed"]): one for one in records}


def _is_done(records: dict, pair: tuple[str, int]) -> bool:
    return pair in records and records[pair]["error"] is None


def _measured(
    records: dict, label: str, settings: dict[str, Any]
) -> dict[str, Any]:
    """What the method costs, from its run with another seed here."""
    same = {
        "method": label,
        "digest": results.digest_of(settings),
        "versions": results.versions(),
        "error": None,
    }
    for record in records.values():
        is_same = all(record[key] == value for key, value in same.items())
        # One without them could not measure them.
        if is_same and "size" in record["cost"]:
            return dict(record["cost"])
    return {}


def _as_text(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


def _progress(
    protocol: Protocol, left: list[tuple[str, int]], wanted: bool
) -> Progress | None:
    if not wanted:
        return None
    epochs: dict[str, int] = {}
    for label, _ in left:
        epochs[label] = epochs.get(label, 0) + protocol.training.epochs
    return Progress(protocol.title, epochs)


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    """Each of them once."""
    if isinstance(seeds, (int, np.integer)):
        return list(range(checked_count("seeds", seeds)))
    found = [checked_seed(one) for one in seeds]
    if not found or None in found:
        raise ValueError(
            "Give the number of seeds, or integers, one or more. "
            f"Received: seeds={seeds!r}"
        )
    return list(dict.fromkeys(one for one in found if one is not None))
