"""The project's own promises: its version, its types, its commands."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from keras_zigzag.version import __version__

ROOT = Path(__file__).parents[1]


def test_version_is_the_installed_one():
    assert metadata.version("keras-zigzag") == __version__


def test_changelog_knows_the_version():
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_types_are_shipped():
    assert (ROOT / "keras_zigzag" / "py.typed").is_file()


@pytest.mark.parametrize(
    "name, expected",
    [
        ("main-job", ["examples/digits.py"]),
        ("tests", ["pytest", "KERAS_BACKEND=jax", "KERAS_BACKEND=torch"]),
        ("experiment", ["benchmark run digits", "benchmark report"]),
        ("airfoils", ["pip install", "out outputs/a", "out outputs/b", "cmp"]),
    ],
)
def test_readme_commands_can_be_read(name, expected):
    lines = subprocess.run(
        ["bash", ROOT / ".ci" / "readme_commands", name],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert len(lines) == len(expected)
    assert all(part in line for part, line in zip(expected, lines, strict=True))


def test_every_public_name_is_there_and_what_is_not_needed_is_lazy():
    code = """
import sys, keras_zigzag as kz
lazy = {"metrics", "plots", "callbacks", "thresholds"}
assert not {f"keras_zigzag.{name}" for name in lazy} & {*sys.modules}
assert {*lazy, "compare", "ZigZagModel"} <= {*dir(kz)}
assert all(hasattr(kz, name) for name in dir(kz))
assert not hasattr(kz, "magic")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
