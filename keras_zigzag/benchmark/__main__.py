"""`python -m keras_zigzag.benchmark run | report | list`."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import keras

from keras_zigzag.benchmark.protocol import Protocol
from keras_zigzag.benchmark.protocol_files import (
    Protocols,
    find_protocols,
    load_file,
    protocol_files,
)
from keras_zigzag.benchmark.report import report
from keras_zigzag.benchmark.runner import run

OUT = "results"
NUM_SEEDS = 3
INTERRUPTED = 130  # What shells return after Ctrl-C.


def main(
    protocols: Protocols | None = None, arguments: Sequence[str] | None = None
) -> int:
    """The command line.

    Args:
        protocols: Function that makes the protocols to run, for a protocol
            file that is run itself. Defaults to `None`: named by the first
            argument.
        arguments: Sequence of strings. Defaults to those of the command line.

    Returns:
        Integer, 0 if all went well.
    """
    parser = argparse.ArgumentParser(
        prog="python -m keras_zigzag.benchmark" if protocols is None else None,
        description="Experiments that anyone can repeat.",
    )
    if protocols is None:
        commands = parser.add_subparsers(dest="command", required=True)
        running = commands.add_parser("run", help="train and evaluate")
        running.add_argument(
            "protocol",
            help="a name that `list` shows, a group, the name of a file, as "
            "uci, for all that it has, or a path",
        )
        _add_report(commands)
        commands.add_parser("list", help="which experiments there are")
    else:
        running = parser
        parser.set_defaults(command="run")
    _add_run(running)
    options = parser.parse_args(arguments)
    try:
        return COMMANDS[options.command](options, protocols)
    except ValueError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        again = shlex.join(["python", *sys.orig_argv[1:]])
        print(
            f"\nStopped. What is done is kept; to go on:\n    {again}",
            file=sys.stderr,
        )
        return INTERRUPTED
    except (OSError, ImportError) as error:
        print(
            f"\nStopped: {error}. What is done is kept; the same command goes "
            "on once there is room and everything that it needs is there.",
            file=sys.stderr,
        )
        return 1


def run_command(options: argparse.Namespace, given: Protocols | None) -> int:
    find = given or find_protocols(options.protocol)
    if options.dtype:
        keras.config.set_dtype_policy(options.dtype)
    failed = []
    for protocol in find(options.quick):
        if options.jit_compile:
            protocol = compiled(protocol)
        records = run(
            protocol,
            options.methods,
            options.seed or options.seeds,
            options.out,
            options.merge,
        )
        failed += [one for one in records if one["error"] is not None]
    for one in failed:
        print(
            f"Failed: {one['protocol']}, {one['method']}, seed {one['seed']}: "
            f"{one['error']}",
            file=sys.stderr,
        )
    print(f"The results are in {options.out}.")
    return 1 if failed else 0


def compiled(protocol: Protocol) -> Protocol:
    """The same experiment, with steps that XLA compiles."""
    training = dataclasses.replace(protocol.training, jit_compile=True)
    return dataclasses.replace(protocol, training=training)


def report_command(options: argparse.Namespace, given: Protocols | None) -> int:
    path = report(options.out, to=options.to, merge=options.merge)
    print(f"The report is in {path}.")
    return 0


def list_command(options: argparse.Namespace, given: Protocols | None) -> int:
    for name, path in protocol_files().items():
        try:
            found = load_file(path)(False)
        except (ValueError, OSError, ImportError) as error:
            print(f"{name}: not here. {error}")
            continue
        except Exception as error:
            # A file that people are writing must not hide the others.
            print(f"{name}: broken. {type(error).__name__}: {error}")
            continue
        for protocol in found:
            print(describe(protocol))
    return 0


def describe(protocol: Protocol) -> str:
    """One line for the list."""
    training = protocol.training
    group = f"group {protocol.group}, " if protocol.group else ""
    return (
        f"{protocol.name}: {protocol.title} ({group}{protocol.task}, "
        f"{len(protocol.all_variants())} methods, {training.epochs} epochs "
        f"of batches of {training.batch_size})"
    )


COMMANDS = {
    "run": run_command,
    "report": report_command,
    "list": list_command,
}


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--methods",
        nargs="+",
        default=["all"],
        metavar="METHOD",
        help="names, or all (the default)",
    )
    parser.add_argument(
        "--seeds", type=int, default=NUM_SEEDS, help="how many (3)"
    )
    parser.add_argument(
        "--seed", type=int, nargs="+", help="these, instead of the first few"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(OUT),
        help="folder of the results (results)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="minutes on two cores"
    )
    parser.add_argument(
        "--merge",
        action="store_true",
        help="beside results of other versions or settings",
    )
    parser.add_argument(
        "--jit-compile", action="store_true", help="compile all steps by XLA"
    )
    parser.add_argument(
        "--dtype", help="policy of all layers, as mixed_bfloat16"
    )


def _add_report(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("report", help="tables and figures")
    parser.add_argument("out", type=Path, help="folder of the results")
    parser.add_argument(
        "--to", type=Path, help="the page, instead of report/report.md in it"
    )
    parser.add_argument(
        "--merge",
        action="store_true",
        help="results of several versions or settings in one table",
    )


if __name__ == "__main__":
    sys.exit(main())
