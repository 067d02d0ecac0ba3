"""Runs a flow solver that may crash, hang or find no solution."""

import os
import signal
import subprocess
import threading

CRASHED, HUNG, NOT_CONVERGED = "crashed", "hung", "not converged"


class SolverFailure(Exception):
    """One try of a solver that gave no result.

    Args:
        status: String. `"crashed"`, `"hung"` or `"not converged"`.
        detail: String. What is known of the reason.
    """

    def __init__(self, status, detail):
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


class SolverMissing(Exception):
    """There is no solver that can run; the message says what to install."""


class Processes:
    """The solvers that run now, each in a process group of its own.

    A group, since a solver may start others: all of them end with it.
    """

    def __init__(self):
        self._running = set()
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, command, folder, output, timeout, text="", environment=None):
        """Waits for a command, and ends its group once it takes too long.

        Args:
            command: List of strings.
            folder: Path of the working folder.
            output: Path of the file for all that the command prints.
            timeout: Float. Seconds.
            text: String. What the command reads. Defaults to `""`.
            environment: Dictionary of all variables. Defaults to `None`:
                those of this process.

        Raises:
            SolverFailure: If it ended badly or was ended.
        """
        with open(output, "wb") as printed:
            process = self._start(command, folder, printed, environment)
        try:
            process.communicate(text.encode(), timeout)
        except subprocess.TimeoutExpired:
            raise SolverFailure(
                HUNG, f"{command[0]} ran for more than {timeout:g} s"
            ) from None
        finally:
            self._end(process)
        if process.returncode != 0:
            ended = _how_it_ended(process.returncode)
            raise SolverFailure(CRASHED, f"{command[0]} {ended}")

    def stop(self):
        """Ends what runs, and lets nothing start any more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill_group(process)

    def _start(self, command, folder, printed, environment):
        with self._lock:
            if self._stopped:
                raise InterruptedError("The run is being stopped.")
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running.add(process)
        return process

    def _end(self, process):
        with self._lock:
            self._running.discard(process)
            _kill_group(process)
            stopped = self._stopped
        process.wait()
        if stopped:
            raise InterruptedError("The run is being stopped.")


def _kill_group(process):
    """Also after the leader's end: others of its group may be left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _how_it_ended(code):
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
