"""Results as lines of JSON: written one by one, read and merged."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import math
import os
import platform
import subprocess
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_zigzag.version import __version__

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

Record = dict[str, Any]
# What two runs must have in common to be put into one table.
COMPARED_VERSIONS = ("keras_zigzag", "keras", "backend")
# A line without these is of no run.
NEEDED = {"protocol", "method", "seed", "digest", "versions", "error"}


def results_path(out: Path, protocol: str) -> Path:
    """The file of the results of one protocol."""
    return out / f"{protocol}.jsonl"


def scores_path(out: Path, protocol: str, method: str, seed: int) -> Path:
    """The file of the scores of one run."""
    name = f"{label_in_file(method)}-{seed}.npz"
    return out / "scores" / protocol / name


def label_in_file(label: str) -> str:
    """A label as it is in the names of files."""
    return label.translate(str.maketrans('/ \\:*?"<>|', "-_--------"))


def append_record(path: Path, record: Record) -> None:
    """Adds a line, so that it is on the disk when this returns.

    What a run that was killed left of a line is taken off before. Processes
    that write to one file wait for each other, where the system has locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _lock(file)
        _cut_off_partial_line(file)
        file.write((json.dumps(record, allow_nan=False) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def plain(value: Any) -> Any:
    """The value as JSON has it, which knows neither NaN nor infinity."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def read_records(path: Path, merge: bool = False) -> list[Record]:
    """The last line of each method and seed, of those without an error first.

    Args:
        path: Path of a file of lines, also of several that were concatenated.
        merge: Boolean. Whether results of different versions or settings may
            be in one file. Defaults to `False`.

    Returns:
        List of dictionaries; an empty one if there is no file.

    Raises:
        ValueError: If results were made with different settings or versions.
    """
    if not path.exists():
        return []
    lines = enumerate(path.read_bytes().splitlines(), 1)
    parsed = (_parsed(line, f"{path}, line {number}") for number, line in lines)
    records = last_of_each(one for one in parsed if one is not None)
    if not merge:
        check_alike(records, path)
    return records


def last_of_each(records: Iterable[Record]) -> list[Record]:
    """The last of each protocol, method and seed.

    A failure does not take the place of what went well: of two machines whose
    results were concatenated, one may have failed.
    """
    latest: dict[tuple[Any, ...], Record] = {}
    for record in records:
        key = record["protocol"], record["method"], record["seed"]
        if record["error"] is None or key not in latest:
            latest[key] = record
        elif latest[key]["error"] is not None:
            latest[key] = record
    return list(latest.values())


def check_alike(records: Iterable[Record], path: Path) -> None:
    """Raises a `ValueError` for results that do not belong together."""
    digests: dict[str, set[str]] = {}
    shared: dict[str, set[str]] = {}
    versions = set()
    for record in records:
        label = record["method"]
        digests.setdefault(label, set()).add(record["digest"])
        known = record["versions"]
        versions.add(tuple(known.get(key) for key in COMPARED_VERSIONS))
        kind = json.dumps(without_own(record.get("settings")), sort_keys=True)
        shared.setdefault(kind, set()).add(label)
    mixed = sorted(name for name, found in digests.items() if len(found) > 1)
    what = ""
    if mixed:
        what = f"settings of {mixed}"
    elif len(versions) > 1:
        what = f"versions {sorted(map(str, versions))}"
    elif len(shared) > 1:
        each = [f"- {sorted(some)}: {kind}" for kind, some in shared.items()]
        what = "settings:\n" + "\n".join(each) + "\n"
    if what:
        raise ValueError(
            f"{path} holds results of different {what}, and a mean over them "
            "would mean little. Use another folder, or ask for them to be "
            "merged with `merge=True` (`--merge`)."
        )


def without_own(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings that all methods of a protocol have in common."""
    own = ("class", "options")
    return {k: v for k, v in (settings or {}).items() if k not in own}


def digest_of(settings: Any) -> str:
    """A short name for settings, the same on all machines."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def versions() -> dict[str, str]:
    """The versions that may have to do with a result."""
    backend = keras.backend.backend()
    # Packages are called as Keras calls the backends.
    module = importlib.import_module(backend)
    return {
        "keras_zigzag": __version__,
        "keras": keras.version(),
        "backend": f"{backend} {module.__version__}",
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def revision() -> str | None:
    """The git revision of the package, `None` outside of a clone."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=Path(__file__).parent,
            capture_output=True,
            check=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _parsed(line: bytes, where: str) -> Record | None:
    if not line.strip():
        return None
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if isinstance(record, dict) and NEEDED <= record.keys():
        return record
    warnings.warn(
        f"{where} is cut off or damaged and is left out; run the experiment "
        "again, which repeats what is missing.",
        stacklevel=3,
    )
    return None


def _lock(file: Any) -> None:
    """Until it is closed. Some systems and network drives have no locks."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)


def _cut_off_partial_line(file: Any) -> None:
    size = file.seek(0, os.SEEK_END)
    if not size:
        return
    file.seek(0)
    content = file.read()
    end = content.rfind(b"\n") + 1
    if end < size:
        file.truncate(end)
