"""How far an experiment is."""

import io

import pytest

from keras_zigzag.benchmark import progress
from keras_zigzag.benchmark.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


def test_time_left_is_by_the_epochs_of_each_method(clock):
    shown = Progress("Tiny", {"fast": 4, "slow": 2}, io.StringIO())
    assert shown.seconds_left() is None
    for method, seconds in (("fast", 1.0), ("slow", 10.0)):
        shown.start(method, 0)
        clock[0] += seconds
        shown.epoch(1)
    # Three of a second each, one of ten.
    assert shown.seconds_left() == 13.0


def test_a_method_not_seen_yet_takes_the_mean(clock):
    shown = Progress("Tiny", {"fast": 1, "other": 3}, io.StringIO())
    shown.start("fast", 0)
    clock[0] += 2.0
    shown.epoch(1)
    assert shown.seconds_left() == 6.0


def test_epochs_of_a_backup_are_done_and_took_no_time(clock):
    shown = Progress("Tiny", {"fast": 5}, io.StringIO())
    shown.start("fast", 0)
    shown.epoch(3)
    assert shown.seconds_left() is None
    clock[0] += 4.0
    shown.epoch(4)
    assert shown.seconds_left() == 4.0


def test_a_file_gets_one_line_for_each_run(clock):
    stream = io.StringIO()
    shown = Progress("Tiny", {"fast": 2}, stream)
    shown.start("fast", 7)
    for epoch in (1, 2):
        clock[0] += 90.0
        shown.epoch(epoch)
    shown.end("accuracy 0.900")
    assert stream.getvalue() == (
        "fast, seed 7: accuracy 0.900. Tiny: 2 of 2 epochs\n"
    )


def test_a_terminal_gets_a_line_that_is_rewritten(clock):
    stream = Terminal()
    shown = Progress("Tiny", {"fast": 3}, stream)
    shown.start("fast", 0)
    clock[0] += 3700.0
    shown.epoch(1)
    last = stream.getvalue().split("\r")[-1]
    assert last.endswith(
        "fast, seed 0: epoch 1. Tiny: 1 of 3 epochs, about 2 h 3 min left"
    )
    assert "\n" not in stream.getvalue()
