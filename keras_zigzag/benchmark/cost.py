"""What ZigZag costs, as ratios to the base model.

`python -m keras_zigzag.benchmark.cost` measures parameters, a step of `fit`,
`predict`, a call of the exported model and peak memory, for several models and
places of the prior, and what `import keras_zigzag` adds to `import keras`. It
prints a Markdown table beside the targets. With `--methods` it measures the
other methods instead, as ratios to a single model.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import keras

from keras_zigzag.benchmark import cost_methods
from keras_zigzag.benchmark.cost_cases import CASES, Case, build_contestant
from keras_zigzag.benchmark.cost_measure import CLOCKS, measure_case
from keras_zigzag.benchmark.cost_table import (
    Row,
    Spread,
    format_row,
    format_table,
)
from keras_zigzag.benchmark.protocol import NUM_SAMPLES

IMPORT_TARGET = 0.1
TIME_IMPORTS = """
import time
start = time.perf_counter()
import keras
middle = time.perf_counter()
import keras_zigzag
print(middle - start, time.perf_counter() - middle)
"""
NOTES = """
Medians of interleaved runs after two warm-up runs; a ratio is taken within each
repeat, its quartiles in brackets. A `fit` or `predict` step is one batch of a
call over several, with the same arrays for all; the exported call takes one
batch. Peak memory is how far the resident memory of a fresh process grows from
after the imports to after three batches: tracing and weights are in it, and so
are the base model's that a ZigZag model is copied from. A prior of 10 classes
and a presence channel; Adam; `passes="both"` unless said. "Five heads to one"
compares with a ZigZag model of one head, in the place of the base model.
"""
METHOD_NOTES = f"""
Ratios to `SingleModel`, each method in turn with it after two warm-up runs;
{NUM_SAMPLES} samples, members or masks; otherwise as `from_model`
makes them.
"""
ALL_METHODS = "all"
METHOD_MODELS = ["mlp", "cnn"]


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse_arguments(arguments)
    if options.methods:
        measure_all_methods(options)
        return
    cases = {name: scale(CASES[name], options) for name in options.models}
    repeats = 3 if options.quick else options.repeats
    rows: list[Row] = []
    for name, case in cases.items():
        report(f"{case.title}: building")
        measured = measure_case(
            name, case, repeats, (repeats + 2) // 3, options.clock
        )
        for row in measured:
            rows.append(row)
            report(format_row(row))
    report("imports")
    imports = time_imports(repeats)
    print(describe_setting(cases, repeats, options.clock))
    print()
    print(format_table(rows))
    print()
    print(format_imports(*imports))
    print(NOTES, end="")
    if options.json:
        write_json(options.json, rows, imports)


def measure_all_methods(options: argparse.Namespace) -> None:
    cases = {name: scale(CASES[name], options) for name in options.models}
    repeats = 3 if options.quick else options.repeats
    rows = []
    for case in cases.values():
        for row in cost_methods.measure_methods(
            case, options.methods, repeats, options.clock
        ):
            rows.append(row)
            report(cost_methods.format_method(row))
    print(describe_setting(cases, repeats, options.clock))
    print()
    print(cost_methods.format_methods(rows))
    print(METHOD_NOTES, end="")
    if options.json:
        content = [dataclasses.asdict(row) for row in rows]
        options.json.write_text(json.dumps(content, indent=2) + "\n")


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m keras_zigzag.benchmark.cost",
        description="What ZigZag costs, as ratios to the base model.",
    )
    known = cost_methods.method_names()
    parser.add_argument(
        "--models",
        nargs="+",
        choices=CASES,
        help="all, or with `--methods` the MLP and the CNN, if not given",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=[ALL_METHODS, *known],
        help="compare these methods with a single model",
    )
    parser.add_argument(
        "--repeats", type=int, default=9, help="timed runs of each kind"
    )
    parser.add_argument(
        "--batch-size", type=int, help="instead of the one of each model"
    )
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="cpu on a machine that is not free; of no use with a GPU",
    )
    parser.add_argument(
        "--quick", action="store_true", help="3 repeats of half the batches"
    )
    parser.add_argument(
        "--json", type=Path, metavar="OUT", help="write the rows here as well"
    )
    options = parser.parse_args(arguments)
    if options.methods and ALL_METHODS in options.methods:
        options.methods = known
    if options.models is None:
        options.models = METHOD_MODELS if options.methods else list(CASES)
    for name in ("repeats", "batch_size"):
        value = getattr(options, name)
        if value is not None and value < 1:
            flag = "--" + name.replace("_", "-")
            parser.error(f"`{flag}` must be at least 1. Received: {value}")
    return options


def scale(case: Case, options: argparse.Namespace) -> Case:
    """Returns the case with the batches that were asked for."""
    return dataclasses.replace(
        case,
        batch_size=options.batch_size or case.batch_size,
        num_steps=case.num_steps // 2 if options.quick else case.num_steps,
    )


def report(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def time_imports(repeats: int) -> tuple[Spread, Spread]:
    """Returns the seconds of `import keras`, and of ours right after it."""
    seconds = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", TIME_IMPORTS],
            check=True,
            capture_output=True,
            text=True,
        )
        seconds.append([float(value) for value in done.stdout.split()[-2:]])
    base, added = zip(*seconds, strict=True)
    return Spread.of(base), Spread.of(added)


def format_imports(base: Spread, added: Spread) -> str:
    verdict = "reached" if added.median < IMPORT_TARGET else "not reached"
    return (
        f"`import keras_zigzag` adds {added.median:.3f} s "
        f"({added.low:.3f}–{added.high:.3f}) to the {base.median:.2f} s of "
        f"`import keras`; target < {IMPORT_TARGET} s: {verdict}."
    )


def describe_setting(cases: dict[str, Case], repeats: int, clock: str) -> str:
    batches = ", ".join(
        f"{name} {case.batch_size} × {case.num_steps}"
        for name, case in cases.items()
    )
    first = build_contestant(next(iter(cases.values())), "base")
    return (
        f"Keras {keras.version()} on {keras.backend.backend()}, "
        f"{os.cpu_count()} cores ({platform.machine()}), "
        f"{keras.config.dtype_policy().name}, "
        f"jit_compile={first.jit_compile}; {repeats} repeats of {clock} time; "
        f"batch size × batches per run: {batches}."
    )


def write_json(
    path: Path, rows: Sequence[Row], imports: tuple[Spread, Spread]
) -> None:
    base, added = (dataclasses.asdict(spread) for spread in imports)
    content = {
        "keras": keras.version(),
        "backend": keras.backend.backend(),
        "rows": [dataclasses.asdict(row) for row in rows],
        "import_seconds": {"keras": base, "keras_zigzag_added": added},
    }
    path.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
