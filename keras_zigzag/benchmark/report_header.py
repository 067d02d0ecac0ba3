"""What results were made with, in words."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import keras_zigzag as kz
from keras_zigzag.benchmark.protocol import SINGLE
from keras_zigzag.benchmark.report_runs import Results
from keras_zigzag.benchmark.results import without_own

# Of an optimizer, if they are set; the rest is Keras's default or follows.
OPTIMIZER_SETTINGS = ("learning_rate", "momentum", "nesterov", "weight_decay")


def made_with(results: Sequence[Results]) -> list[str]:
    """Lines of a list: versions, revision, seeds, settings, what is missing."""
    lines = [line for result in results for line in result.lines]
    versions = _distinct(_versions(line) for line in lines)
    revisions = _distinct((line.get("revision") or "unknown") for line in lines)
    dates = sorted(filter(None, (line.get("finished") for line in lines)))
    seeds = sorted({line["seed"] for line in lines})
    told = [
        f"Seeds {in_words(seeds)}; {_size(lines)} settings.",
        f"Made with {' / '.join(versions)}; revision {', '.join(revisions)}"
        + (f"; {_days(dates)}." if dates else "."),
    ]
    told += [f"Settings: {text}." for text in _settings(lines)]
    told += [f"Options: {text}." for text in [_options(lines)] if text]
    return told + missing(results)


def missing(results: Sequence[Results]) -> list[str]:
    """Which methods lack which seeds."""
    runs = [run for result in results for run in result.runs]
    labels = _distinct(run.method for run in runs)
    seeds = sorted({run.seed for run in runs})
    told = []
    for result in results:
        there = {(run.method, run.seed) for run in result.runs}
        absent = [
            f"{label} ({', '.join(map(str, some))})"
            for label in labels
            if (some := [s for s in seeds if (label, s) not in there])
        ]
        if absent:
            told.append(
                f"Not run in `{result.name}`, seed in brackets: "
                f"{', '.join(absent)}."
            )
    if not any(run.class_name == SINGLE for run in runs):
        told.append("Without a single model no run is judged by its errors.")
    others = [
        name
        for name, method in kz.methods().items()
        if results[0].task in method.tasks and name not in labels
    ]
    # Where labels are of variants, it is on purpose that others are not there.
    if others and all(run.method == run.class_name for run in runs):
        told.append(f"Not run at all: {', '.join(others)}.")
    return told


def in_words(value: Any) -> str:
    """A JSON value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(
            f"{_name(key)} {_nested(one)}" for key, one in value.items()
        )
    if isinstance(value, (list, tuple)):
        return ", ".join(
            _repeated(text, len(list(some)))
            for text, some in groupby(map(in_words, value))
        )
    return str(value)


def _nested(value: Any) -> str:
    text = in_words(value)
    return f"({text})" if isinstance(value, (Mapping, list, tuple)) else text


def _name(key: Any) -> str:
    return str(key).replace("_", " ")


def _repeated(text: str, num: int) -> str:
    return text if num == 1 else f"{num} × {text}"


def _settings(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """One text, or several where protocols or merged results differ."""
    texts: dict[str, list[str]] = {}
    for line in lines:
        settings = without_own(line.get("settings"))
        settings.pop("quick", None)
        training = _training(settings.pop("training", None) or {})
        text = in_words({**training, **settings})
        if text:
            texts.setdefault(text, []).append(line["protocol"])
    if len(texts) < 2:
        return list(texts)
    return [
        f"of {', '.join(f'`{name}`' for name in _distinct(names))}: {text}"
        for text, names in texts.items()
    ]


def _training(training: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is at Keras's default."""
    told = dict(training)
    config = told.pop("optimizer_config", None) or {}
    chosen = {key: config.get(key) for key in OPTIMIZER_SETTINGS}
    if told.get("learning_rates"):
        del chosen["learning_rate"]
    chosen = {key: value for key, value in chosen.items() if value}
    return {key: value for key, value in (told | chosen).items() if value}


def _options(lines: Iterable[Mapping[str, Any]]) -> str:
    """What each method was made with, apart from its defaults."""
    texts = _distinct(
        f"{line['method']} ({in_words(options)})"
        for line in lines
        if (options := (line.get("settings") or {}).get("options"))
    )
    return ", ".join(texts)


def _size(lines: Iterable[Mapping[str, Any]]) -> str:
    is_quick = {
        bool((line.get("settings") or {}).get("quick")) for line in lines
    }
    if len(is_quick) > 1:
        return "quick and full"
    return "**quick**" if is_quick == {True} else "full"


def _versions(line: Mapping[str, Any]) -> str:
    versions = line.get("versions") or {}
    return ", ".join(f"{key} {value}" for key, value in versions.items())


def _days(dates: Sequence[str]) -> str:
    first, last = dates[0][:10], dates[-1][:10]
    return first if first == last else f"{first} to {last}"


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
