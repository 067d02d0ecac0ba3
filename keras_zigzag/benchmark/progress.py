"""How far an experiment is, and how long it will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO


class Progress:
    """Progress over all methods, seeds and epochs, with the time left.

    On a terminal one line that is rewritten; in a file one line for each
    method and seed.

    Args:
        title: String.
        epochs: Dictionary from methods to the number of epochs that are to be
            trained, of all seeds together.
        stream: Text file. Defaults to `None`: the standard error.
    """

    def __init__(
        self,
        title: str,
        epochs: Mapping[str, int],
        stream: TextIO | None = None,
    ):
        self.title = title
        self.left = dict(epochs)
        self.total = sum(epochs.values())
        self.stream = stream or sys.stderr
        self.seconds: dict[str, list[float]] = {}
        self.current = ""
        self._epoch = 0
        self._last = time.perf_counter()

    def start(self, method: str, seed: int) -> None:
        self.current = method
        self._text = f"{method}, seed {seed}"
        self._epoch = 0
        self._last = time.perf_counter()
        self._show("training")

    def skipped(self, done: int, num: int, path: Path) -> None:
        """Says of what is left out that it is, and how to have it again."""
        if done:
            self._write(
                f"{self.title}: {done} of {num} runs are done already, in "
                f"{path}; to do them again, take another folder.",
                "\n",
            )

    def epoch(self, done: int) -> None:
        """An epoch ended; epochs of a backup may be done from the start."""
        now = time.perf_counter()
        if done == self._epoch + 1:
            taken = self.seconds.setdefault(self.current, [])
            taken.append(now - self._last)
        self.left[self.current] -= done - self._epoch
        self._epoch, self._last = done, now
        self._show(f"epoch {done}")

    def say(self, what: str) -> None:
        """What goes on after the epochs."""
        self._show(what)

    def end(self, what: str) -> None:
        """One line that stays."""
        self._write(f"{self._text}: {what}. {self._overall()}", "\n")

    def seconds_left(self) -> float | None:
        """An estimate, by the epochs that were seen, or `None`."""
        every = [one for taken in self.seconds.values() for one in taken]
        if not every:
            return None
        mean = sum(every) / len(every)
        total = 0.0
        for method, number in self.left.items():
            taken = self.seconds.get(method)
            total += number * (sum(taken) / len(taken) if taken else mean)
        return total

    def _overall(self) -> str:
        done = self.total - sum(self.left.values())
        text = f"{self.title}: {done} of {self.total} epochs"
        left = self.seconds_left()
        if left is None or done >= self.total:
            return text
        return f"{text}, about {_duration(left)} left"

    def _show(self, what: str) -> None:
        if self.stream.isatty():
            self._write(f"{self._text}: {what}. {self._overall()}", "")

    def _write(self, text: str, end: str) -> None:
        start = "\r\033[K" if self.stream.isatty() else ""
        print(f"{start}{text}", end=end, file=self.stream, flush=True)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{seconds} s"
