"""Runs an example as a user does and reads what it prints."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def run_example(script, *arguments, timeout):
    """The standard output of an example that has to succeed."""
    search_path = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    finished = subprocess.run(
        [sys.executable, EXAMPLES / script, *map(str, arguments)],
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join(filter(None, search_path)),
            "PYTHONIOENCODING": "utf-8",
        },
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def read_table(output):
    """The means in an example's last Markdown table, by row and column."""
    blocks = output.strip().split("\n\n")
    table = [block for block in blocks if block.startswith("|")][-1]
    lines = table.splitlines()
    header, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines
    ]
    return {
        row[0]: {
            column: float(cell.split("±")[0])
            for column, cell in zip(header[1:], row[1:], strict=True)
        }
        for row in rows
    }
