"""The runs that a report is made of."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_zigzag.benchmark.report_failures import judge
from keras_zigzag.benchmark.report_run import Run
from keras_zigzag.benchmark.results import (
    Record,
    check_alike,
    last_of_each,
    read_records,
)


@dataclasses.dataclass(frozen=True)
class Results:
    """All runs of one protocol.

    Args:
        name: String. The name of the protocol.
        lines: List of the JSON lines.
        runs: List of `Run`, those that did not train marked.
        title: String.
        task: String.
        group: String. Which protocols share a table with it.
        paper: String. Which table of the paper it repeats.
        units: String. Of the values of a regression.
        references: List of labels that others are compared with.
    """

    name: str
    lines: Sequence[Mapping[str, Any]]
    runs: Sequence[Run]
    title: str
    task: str
    group: str
    paper: str
    units: str
    references: Sequence[str] = ()

    @classmethod
    def from_lines(cls, lines: Sequence[Mapping[str, Any]]) -> "Results":
        first = lines[0]
        runs = judge(map(Run.from_json, lines), first["task"])
        # These are the same in all lines.
        about = {
            key: first.get(key) or ""
            for key in ("title", "task", "group", "paper", "units")
        }
        references = first.get("references") or []
        return cls(
            first["protocol"], lines, runs, **about, references=references
        )

    @property
    def ood_sets(self) -> list[str]:
        """Names of the OOD sets, in the order of the protocol."""
        end = "_roc_auc"
        names = [
            key.removesuffix(end)
            for run in self.runs
            for key in run.metrics
            if key.endswith(end)
        ]
        return list(dict.fromkeys(names))


def load_results(out: Path, merge: bool = False) -> list[Results]:
    """The protocols in a folder of results, in the order of their files."""
    by_protocol: dict[str, list[dict[str, Any]]] = {}
    for line in load_runs(out, merge):
        by_protocol.setdefault(line["protocol"], []).append(line)
    return [Results.from_lines(lines) for lines in by_protocol.values()]


def load_runs(out: Path, merge: bool = False) -> list[Record]:
    """The JSON lines of a folder; the last one of a method and seed counts."""
    files = sorted(Path(out).glob("*.jsonl"), key=lambda path: path.stem)
    records = [one for file in files for one in read_records(file, merge)]
    if not records:
        raise ValueError(
            f"There are no results: looked for lines in {out}/*.jsonl. Make "
            f"some with `python -m keras_zigzag.benchmark run digits --out "
            f"{out}`. Received: out={str(out)!r}"
        )
    records = last_of_each(records)
    if not merge:
        _check_alike(records, out)
    return records


def _check_alike(records: Iterable[Record], out: Path) -> None:
    """Numbers of different settings or versions are not to be compared."""
    by_protocol: dict[str, list[Record]] = {}
    for record in records:
        by_protocol.setdefault(record["protocol"], []).append(record)
    for protocol, some in by_protocol.items():
        check_alike(some, out / protocol)
