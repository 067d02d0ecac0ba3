"""How far a data set is, and how long it will take."""

import sys
import time

WIDTH = 30  # characters of the bar
STEPS = 10  # lines where the output is no terminal


class DrawProgress:
    """A bar on a terminal; elsewhere a line for each tenth.

    Args:
        name: String. What is made.
        num: Integer. How many samples.
        log: A `DrawLog`.
        stream: Text file. Defaults to `None`: the standard error.
    """

    def __init__(self, name, num, log, stream=None):
        self.name, self.num, self.log = name, num, log
        self.stream = stream or sys.stderr
        self.before = self._answers()
        self.start = time.perf_counter()
        self._step = STEPS * self.before // num
        there = f", of which {self.before} are there" if self.before else ""
        self._print(f"{name}: {num} to make{there}")

    def show(self):
        """Shows what the log has now."""
        answers = self._answers()
        bar = ("#" * (WIDTH * answers // self.num)).ljust(WIDTH, ".")
        counts = self.log.counts()
        failed = sum(counts.values()) - counts["ok"]
        text = f"{self.name} [{bar}] {answers}/{self.num}, {failed} failed"
        text += self._time_left(answers)
        step = STEPS * answers // self.num
        if self.stream.isatty():
            print(f"\r\033[K{text}", end="", file=self.stream, flush=True)
        elif step > self._step:
            self._print(text)
        self._step = step

    def close(self):
        if self.stream.isatty():
            print(file=self.stream)

    def _answers(self):
        return len(self.log.answered(self.num))

    def _time_left(self, answers):
        new, left = answers - self.before, self.num - answers
        if not new or not left:
            return ""
        seconds = (time.perf_counter() - self.start) / new * left
        minutes, seconds = divmod(round(seconds), 60)
        return f", about {minutes} min {seconds} s left"

    def _print(self, text):
        print(text, file=self.stream, flush=True)
