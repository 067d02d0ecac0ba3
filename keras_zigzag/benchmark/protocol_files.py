"""Finds the files that define experiments."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import keras_zigzag
from keras_zigzag.benchmark.protocol import Protocol

FOLDER = Path("examples") / "protocols"
FUNCTION = "protocols"
Protocols = Callable[[bool], list[Protocol]]


def protocol_folders() -> list[Path]:
    """Where protocols are looked for, the first one first."""
    clone = Path(keras_zigzag.__file__).parent.parent
    folders = [Path.cwd() / FOLDER, clone / FOLDER]
    return list(dict.fromkeys(folders))


def protocol_files() -> dict[str, Path]:
    """The files by their names, those of the working directory first."""
    found: dict[str, Path] = {}
    for folder in protocol_folders():
        for path in sorted(folder.glob("*.py")):
            if defines_protocols(path):
                found.setdefault(path.stem, path)
    return found


def find_protocols(name: str) -> Protocols:
    """The function that makes the protocols of a name.

    Args:
        name: String. Name of a file in `examples/protocols`, as `"mnist"`,
            for its protocol of that name, or all if none has it, as
            `"uci"`; name of one of the protocols that such a file defines,
            as `"mnist-notebook"`, or of a group of them, as `"heads-uci"`;
            or a path to a file with a function `protocols(quick)`, for all
            of it.

    Raises:
        ValueError: If there is none.
    """
    if name.endswith(".py"):
        return load_file(_existing(Path(name)))
    files = protocol_files()
    if name in files:
        return _named(load_file(files[name]), name, is_file=True)
    # Longer names first: "toy_regression-x" is not of a file "toy".
    for stem in sorted(files, key=len, reverse=True):
        if name.startswith(f"{stem}-"):
            return _named(load_file(files[stem]), name, is_file=False)
    raise ValueError(
        f"Unknown protocol. Expected one of {sorted(files)}, one of their "
        "parts, or the path of a file with a function `protocols(quick)`. "
        f"Received: {name!r}. Looked in: "
        f"{', '.join(map(str, protocol_folders()))}"
    )


def load_file(path: Path) -> Protocols:
    """The function `protocols` of a file."""
    module = _module(path)
    function = getattr(module, FUNCTION, None)
    if not callable(function):
        raise ValueError(
            "A protocol file has a function `protocols(quick)` that returns "
            f"a list of `Protocol`s. Received: {path}, which has none."
        )
    return function


def defines_protocols(path: Path) -> bool:
    """Whether a file is a protocol, and not what protocols share."""
    return f"def {FUNCTION}(" in path.read_text(encoding="utf-8")


def _module(path: Path) -> ModuleType:
    # What the files of a folder share is beside them.
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = f"keras_zigzag_protocol_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} cannot be read as a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"There is no such file. Received: {path}")
    return path


def _named(function: Protocols, name: str, is_file: bool) -> Protocols:
    """The protocols of a name; of a file's name, without any, all of it."""

    def found(quick: bool) -> list[Protocol]:
        every = function(quick)
        chosen = [protocol for protocol in every if protocol.name == name]
        if not chosen and is_file:
            return every
        chosen = chosen or [one for one in every if one.group == name]
        if not chosen:
            groups = {one.group: None for one in every if one.group}
            raise ValueError(
                f"Unknown protocol. Expected one of "
                f"{[protocol.name for protocol in every]}, or of the groups "
                f"{[*groups]}. Received: {name!r}"
            )
        return chosen

    return found
