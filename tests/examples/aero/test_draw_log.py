"""What a run that was stopped, or a disk that was full, may leave behind."""

import json
import os

import numpy as np
import pytest
from draw_log import DrawLog
from generation import Generator, generate
from solver_process import Processes

pytestmark = pytest.mark.backend("tensorflow")
RECORD = {"draw": 1, "status": "ok", "parameters": {"a": 1.0}, "tries": []}


class Answer(dict):
    """As the named tuples that solvers return."""

    def _asdict(self):
        return self


def run_again(folder, solved):
    """Makes three samples, and notes the parameters that are solved."""

    def solve(parameters, variant):
        solved.append(float(parameters[0]))
        return Answer(doubled=2 * parameters, name=np.float32(variant))

    bounds = {"a": (0.0, 1.0)}
    generator = Generator("x", bounds, solve, (1.0,), "parameters", {}, {})
    path, log = generate(generator, 3, 0, folder, 1, Processes())
    return path.read_bytes(), log


def damages(whole):
    """Files that are not what was written."""
    middle = len(whole) // 2
    yield from (b"", whole[:20], whole[:middle], b"text", bytes(len(whole)))
    yield whole[:middle] + bytes(100) + whole[middle + 100 :]


@pytest.mark.parametrize("damage", range(6))
def test_damaged_answers_are_computed_again(tmp_path, damage):
    solved = []
    whole, log = run_again(tmp_path, solved)
    path = tmp_path / "x-draws" / "000001.npz"
    answer = path.read_bytes()
    path.write_bytes([*damages(answer)][damage])
    again, log = run_again(tmp_path, solved)
    assert again == whole and path.read_bytes() == answer
    assert solved[3:] == [log.records[1]["parameters"]["a"]]
    assert log.counts() == {"ok": 3}
    assert not [*tmp_path.rglob("*.partial.npz")]


def test_files_are_on_the_disk_before_they_have_their_name(
    tmp_path, monkeypatch
):
    steps = []
    monkeypatch.setattr("os.fsync", lambda file: steps.append("fsync"))
    replace = os.replace

    def noted(*paths):
        steps.append("replace")
        replace(*paths)

    monkeypatch.setattr("os.replace", noted)
    log = DrawLog(tmp_path, "x", {})
    steps.clear()
    log.add(0, RECORD | {"draw": 0}, Answer(a=np.ones(2)))
    assert steps == ["fsync", "replace", "fsync"]


@pytest.mark.parametrize(
    "line",
    [
        {},
        [],
        [["draw", 1]],
        None,
        {"draw": 1},
        {"settings": {}},
        RECORD | {"draw": "2"},
        RECORD | {"draw": True},
        RECORD | {"draw": -1},
        RECORD | {"status": None},
        RECORD | {"parameters": [1.0]},
        RECORD | {"tries": {}},
    ],
)
def test_lines_that_are_no_records(tmp_path, line):
    lines = [{"settings": {}}, RECORD, line]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    message = "is not a log of draws: .*Received: line 3 .*another folder"
    with pytest.raises(ValueError, match=message):
        DrawLog(tmp_path, "x", {})


@pytest.mark.parametrize("line", [{}, [], {"settings": 3}, RECORD])
def test_logs_that_do_not_begin_with_settings(tmp_path, line):
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(line)}\n")
    with pytest.raises(ValueError, match="is not a log of draws"):
        DrawLog(tmp_path, "x", {})
