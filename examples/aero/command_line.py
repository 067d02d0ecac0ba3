"""The command line that the generators share."""

import argparse
import os
import signal
import sys
from pathlib import Path

from generation import generate
from one_run import only_run
from solver_process import SolverMissing

# Of a timeout. The system waits for no more than some weeks at once.
MAX_SECONDS = 1e6
DATA_THERE = (
    "Data that were computed before need no solver: the experiments read them "
    "from the folder in KERAS_ZIGZAG_AERO_DIR."
)


def make_parser(description, num):
    """Options of both generators."""
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--num", type=_positive, default=num, help="samples in the file"
    )
    parser.add_argument("--seed", type=_seed, default=0, help="of the draws")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("outputs/aero"),
        help="folder; a run that was stopped goes on in it",
    )
    parser.add_argument(
        "--workers", type=_positive, default=_cores(), help="solvers at a time"
    )
    return parser


def run_generator(options, generator, processes):
    """Makes the data set, and says what became of the draws."""
    with only_run(options.out, generator.name):
        path, log = generate(
            generator,
            options.num,
            options.seed,
            options.out,
            options.workers,
            processes,
        )
    counts = ", ".join(f"{num} {name}" for name, num in log.counts().items())
    print(f"{path}: {len(log.answered(options.num))} samples.")
    print(f"{len(log.records)} draws: {counts}. See {log.path}.")


def main_of(run):
    """Runs a generator, with one line instead of a traceback for the user."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run()
    except SolverMissing as error:
        sys.exit(f"{error}\n{DATA_THERE}")
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped. The same command goes on.")


def seconds(text):
    """A timeout, for `argparse`."""
    number = float(text)
    if not 0 < number <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            f"a positive number, at most {MAX_SECONDS:.0f}, received: {text}"
        )
    return number


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"at least 1, received: {number}")
    return number


def _seed(text):
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"at least 0, received: {number}")
    return number


def _cores():
    """The cores that this process may use, where the system says so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
