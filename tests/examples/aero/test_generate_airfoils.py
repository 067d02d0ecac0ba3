"""Airfoils, with a program in XFOIL's place: no solver is needed."""

import fcntl
import json
import signal
import time

import numpy as np
import pytest

from tests.examples.aero.fake_solvers import run, start, write_xfoil

pytestmark = pytest.mark.backend("tensorflow")
SCRIPT = "generate_airfoils.py"
NAMES = [
    "naca_parameters",
    "nodes",
    "pressure_coefficient",
    "lift_to_drag",
    "lift_coefficient",
    "drag_coefficient",
    "moment_coefficient",
]


@pytest.fixture
def xfoil(tmp_path):
    return write_xfoil(tmp_path)


def arguments(xfoil, out, num, *more):
    return ["--solver", xfoil, "--out", out, "--num", num, *more]


def generate(xfoil, out, num, *more, **variables):
    """The file, the log's lines, and what was printed."""
    code, printed, errors = run(
        SCRIPT, *arguments(xfoil, out, num, *more), **variables
    )
    assert code == 0, errors
    return *read(out), printed + errors


def read(out):
    lines = (out / "airfoils.jsonl").read_text().splitlines()
    return (out / "airfoils.npz").read_bytes(), list(map(json.loads, lines))


def parameters_of(records):
    return [[*one["parameters"].values()] for one in records]


def test_the_file(xfoil, tmp_path):
    generate(xfoil, tmp_path / "out", 5)
    with np.load(tmp_path / "out" / "airfoils.npz") as data:
        data = dict(data)
    assert list(data) == NAMES
    shapes = [data[name].shape for name in NAMES]
    assert shapes == [(5, 3), (5, 160, 2), (5, 160), (5,), (5,), (5,), (5,)]
    assert {one.dtype for one in data.values()} == {np.dtype("float32")}
    np.testing.assert_allclose(
        data["lift_to_drag"], data["lift_coefficient"] / 0.01, rtol=1e-5
    )


def test_twice_the_same_whatever_the_workers(xfoil, tmp_path):
    first, records, _ = generate(xfoil, tmp_path / "a", 8, "--workers", 1)
    second, other, _ = generate(xfoil, tmp_path / "b", 8, "--workers", 4)
    assert first == second
    by_draw = sorted(other[1:], key=lambda one: one["draw"])
    assert parameters_of(by_draw) == parameters_of(records[1:])
    third, *_ = generate(xfoil, tmp_path / "c", 8, "--seed", 1)
    assert third != first


def test_what_is_asked_for_later_is_added(xfoil, tmp_path):
    generate(xfoil, tmp_path / "a", 4)
    more, records, printed = generate(xfoil, tmp_path / "a", 9)
    whole, *_ = generate(xfoil, tmp_path / "b", 9)
    assert more == whole
    assert len(records) == 10
    assert "9 to make, of which 4 are there" in printed


def wait_for_lines(path, num):
    end = time.monotonic() + 30
    while not path.exists() or path.read_text().count("\n") < num:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_killed_run_goes_on(xfoil, tmp_path):
    whole, *_ = generate(xfoil, tmp_path / "whole", 10)
    out = tmp_path / "killed"
    killed = start(SCRIPT, *arguments(xfoil, out, 10), FAKE_SECONDS="0.1")
    log = out / "airfoils.jsonl"
    wait_for_lines(log, 4)
    killed.kill()
    killed.communicate()
    before = log.read_text()
    assert before.count("\n") < 11
    with open(log, "a") as file:
        file.write('{"draw": 9, "sta')
    answer, records, _ = generate(xfoil, out, 10)
    assert answer == whole
    assert log.read_text().startswith(before)
    assert len(records) == 11


def test_two_runs_do_not_share_a_folder(xfoil, tmp_path):
    with open(tmp_path / "airfoils.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, _, errors = run(SCRIPT, *arguments(xfoil, tmp_path, 1))
    assert code == 1
    assert (
        "Another run makes airfoils in" in errors and "Traceback" not in errors
    )
    generate(xfoil, tmp_path, 1)


def test_lost_answers_are_computed_again(xfoil, tmp_path):
    whole, *_ = generate(xfoil, tmp_path, 3)
    lost, cut_short = (
        tmp_path / "airfoils-draws" / f"00000{draw}.npz" for draw in (1, 2)
    )
    lost.unlink()
    cut_short.write_bytes(cut_short.read_bytes()[:1000])
    again, records, _ = generate(xfoil, tmp_path, 3, "--workers", 1)
    assert again == whole
    assert [one["draw"] for one in records[-2:]] == [1, 2]


def test_stopping_ends_the_solvers_and_what_they_started(xfoil, tmp_path):
    child = tmp_path / "child"
    process = start(
        SCRIPT,
        *arguments(xfoil, tmp_path / "out", 3, "--workers", 1),
        FAKE_DOES="hang",
        FAKE_BELOW="9",
        FAKE_CHILD=str(child),
    )
    end = time.monotonic() + 30
    while not child.exists() or not child.read_text():
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 143
    assert_ended(int(child.read_text()))


def assert_ended(pid):
    """Nobody may be there to collect its exit status."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.02)
    raise AssertionError(f"{pid} is still running")


@pytest.mark.parametrize(
    "does, status, detail",
    [
        ("SIGSEGV", "crashed", "SIGSEGV"),
        ("exit", "crashed", "exit status 3"),
        ("hang", "hung", "more than 1 s"),
        ("no row", "not converged", "no row"),
    ],
)
def test_failures_are_recorded_skipped_and_counted(
    xfoil, tmp_path, does, status, detail
):
    out = tmp_path / "out"
    _, records, printed = generate(
        xfoil,
        out,
        2,
        *("--timeout", 1) if does == "hang" else (),
        FAKE_DOES=does,
        FAKE_BELOW="0.12",
        FAKE_CHILD=str(tmp_path / "child"),
    )
    records = sorted(records[1:], key=lambda one: one["draw"])
    failed = [one for one in records if one["status"] != "ok"]
    assert {one["status"] for one in failed} == {status}
    for one in failed:
        assert one["parameters"]["thickness"] < 0.13
        tries = [attempt["variant"] for attempt in one["tries"]]
        assert tries == [1.0, 0.95, 1.05, 0.9, 1.1]
        assert all(detail in attempt["detail"] for attempt in one["tries"])
    answered = [one for one in records if one["status"] == "ok"]
    with np.load(out / "airfoils.npz") as data:
        np.testing.assert_allclose(
            data["naca_parameters"], parameters_of(answered), rtol=1e-6
        )
    assert f"2 ok, {len(failed)} {status}" in printed
    assert f"2/2, {len(failed)} failed" in printed


def test_other_panels_are_tried(xfoil, tmp_path):
    _, records, _ = generate(
        xfoil, tmp_path / "out", 2, FAKE_DOES="1.05", FAKE_BELOW="9"
    )
    for one in records[1:]:
        tried = [(a["variant"], a["status"]) for a in one["tries"]]
        missed = "not converged"
        assert tried == [(1.0, missed), (0.95, missed), (1.05, "ok")]
        assert all(attempt["seconds"] > 0 for attempt in one["tries"])


def test_a_solver_that_answers_nothing_is_no_data(xfoil, tmp_path):
    code, _, errors = run(
        SCRIPT,
        *arguments(xfoil, tmp_path / "out", 30),
        FAKE_DOES="exit",
        FAKE_BELOW="9",
    )
    assert code == 1
    assert "no answer to any of the first 10 draws" in errors
    assert "exit status 3" in errors and "Traceback" not in errors
    assert not (tmp_path / "out" / "airfoils.npz").exists()


def test_no_solver(tmp_path):
    code, _, errors = run(SCRIPT, *arguments("no-xfoil", tmp_path, 1))
    assert code == 1
    assert "apt-get install xfoil" in errors
    assert "KERAS_ZIGZAG_AERO_DIR" in errors
    assert "Received: solver='no-xfoil'" in errors


def test_no_compiler_where_one_is_needed(xfoil, tmp_path):
    code, _, errors = run(
        SCRIPT,
        *arguments(xfoil, tmp_path / "out", 1),
        PATH="/nowhere",
        FAKE_DOES="SIGFPE",
        FAKE_BELOW="9",
    )
    assert code == 1
    assert "apt-get install gcc" in errors and "Traceback" not in errors


def test_another_seed_needs_another_folder(xfoil, tmp_path):
    generate(xfoil, tmp_path, 1)
    code, _, errors = run(SCRIPT, *arguments(xfoil, tmp_path, 1, "--seed", 1))
    assert code == 1
    assert "draws of other settings" in errors and "'seed': 0" in errors


@pytest.mark.parametrize("line", ["no JSON", "3", "{}"])
def test_a_log_that_is_none(xfoil, tmp_path, line):
    (tmp_path / "airfoils.jsonl").write_text(f"{line}\n")
    code, _, errors = run(SCRIPT, *arguments(xfoil, tmp_path, 1))
    assert code == 1
    assert "is not a log of draws" in errors and "Traceback" not in errors


@pytest.mark.parametrize("option", ["--num", "--workers"])
def test_numbers_have_to_be_positive(xfoil, tmp_path, option):
    code, _, errors = run(SCRIPT, *arguments(xfoil, tmp_path, 1, option, 0))
    assert code == 2
    assert "at least 1, received: 0" in errors
