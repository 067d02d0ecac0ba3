"""What became of each draw, on the disk as soon as it is known."""

import json
import os
import zipfile
from collections import Counter

import numpy as np

OK = "ok"
# What NumPy raises for a file that was cut short or is none of its own.
DAMAGE = (FileNotFoundError, EOFError, ValueError, zipfile.BadZipFile)


class DrawLog:
    """A line of JSON for each draw, and a file for what each one gave.

    The first line has the settings. A line is written after the file that it
    speaks of, so that a run that is killed loses what ran at that moment and
    nothing else.

    Args:
        folder: Path.
        name: String. The names of the files begin with it.
        settings: Dictionary. What the answers depend on.

    Raises:
        ValueError: If the log is damaged or has other settings.
    """

    def __init__(self, folder, name, settings):
        self.folder, self.name = folder, name
        self.path = folder / f"{name}.jsonl"
        self.records = {}
        (folder / f"{name}-draws").mkdir(parents=True, exist_ok=True)
        # As it is read back: tuples become lists.
        settings = json.loads(json.dumps(settings))
        lines = self._read_lines()
        if not lines:
            self._append({"settings": settings})
        elif lines[0].get("settings") != settings:
            raise ValueError(
                f"{self.path} has draws of other settings. Take another "
                f"folder, or go on with those: {lines[0].get('settings')}. "
                f"Received: {settings}"
            )
        for record in lines[1:]:
            self._keep(record)

    def add(self, draw, record, answer):
        """Keeps a draw, with its answer if it has one."""
        if answer is not None:
            _write_arrays(self._answer_path(draw), answer._asdict())
        record = {"draw": draw, **record}
        self._append(record)
        self._keep(record)

    def counts(self):
        """How many draws have each status, answers first."""
        found = Counter(one["status"] for one in self.records.values())
        return {OK: found.pop(OK, 0), **dict(sorted(found.items()))}

    def answered(self, num):
        """The first draws that have an answer, at most `num`."""
        draws = sorted(self.records)
        return [d for d in draws if self.records[d]["status"] == OK][:num]

    def needed(self, num):
        """Draws without a record among the first that can give `num`."""
        needed, answers, draw = [], 0, 0
        while answers < num:
            record = self.records.get(draw)
            if record is None:
                needed.append(draw)
            answers += record is None or record["status"] == OK
            draw += 1
        return needed

    def write(self, num, parameters, constants):
        """Puts the first `num` answers into one file, and returns its path."""
        draws = self.answered(num)
        drawn = [[*self.records[d]["parameters"].values()] for d in draws]
        columns = {parameters: np.float32(drawn)}
        for draw in draws:
            for key, value in self._read_answer(draw).items():
                columns.setdefault(key, []).append(value)
        path = self.folder / f"{self.name}.npz"
        arrays = {key: np.float32(value) for key, value in columns.items()}
        _write_arrays(path, arrays | constants)
        return path

    def _keep(self, record):
        """An answer whose file is gone or damaged is computed again."""
        draw = record["draw"]
        if record["status"] != OK or self._has_answer(draw):
            self.records[draw] = record

    def _has_answer(self, draw):
        try:
            return bool(self._read_answer(draw))
        except DAMAGE:
            return False

    def _read_answer(self, draw):
        # NumPy does not close a damaged file that it has opened itself.
        with open(self._answer_path(draw), "rb") as file:
            with np.load(file) as answer:
                return dict(answer)

    def _answer_path(self, draw):
        return self.folder / f"{self.name}-draws" / f"{draw:06d}.npz"

    def _read_lines(self):
        """All whole lines; what a killed run left of another is taken off."""
        if not self.path.exists():
            return []
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            os.truncate(self.path, len(whole))
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            _check_lines(lines)
            return lines
        except ValueError as error:
            raise ValueError(
                f"{self.path} is not a log of draws: {error}. Take another "
                "folder."
            ) from None

    def _append(self, record):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _check_lines(lines):
    """Raises a `ValueError` for the first that does not belong into a log."""
    for number, line in enumerate(lines, start=1):
        if not (_is_record(line) if number > 1 else _is_settings(line)):
            raise ValueError(
                "the first line has settings, each other the draw, status, "
                "parameters and tries of a draw. "
                f"Received: line {number} with {json.dumps(line)}"
            )


def _is_settings(line):
    return isinstance(line, dict) and isinstance(line.get("settings"), dict)


def _is_record(line):
    kinds = {"draw": int, "status": str, "parameters": dict, "tries": list}
    if not isinstance(line, dict):
        return False
    fits = [isinstance(line.get(key), kind) for key, kind in kinds.items()]
    draw = line.get("draw")
    # `True` is an integer for Python.
    return all(fits) and not isinstance(draw, bool) and draw >= 0


def _write_arrays(path, arrays):
    """A file under its name is always whole."""
    partial = path.with_name(f"{path.stem}.partial.npz")
    with open(partial, "wb") as file:
        np.savez(file, **arrays)
        file.flush()
        # Or the name may be on the disk before what the file has.
        os.fsync(file.fileno())
    os.replace(partial, path)
