"""A report's numbers as JSON."""

import json
from typing import Any

import keras
import numpy as np

from keras_zigzag.version import __version__

FORMAT = 1


def dumps(report: Any) -> str:
    """The numbers of an `UncertaintyReport`, and what computed them."""
    content = {
        "format": FORMAT,
        "versions": {
            "keras_zigzag": __version__,
            "keras": keras.__version__,
            "numpy": np.__version__,
            "backend": keras.backend.backend(),
        },
        **_as_dict(report),
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def loads(text: str) -> dict[str, Any]:
    """What `dumps` wrote, as a dictionary, after a check of its format."""
    content = json.loads(text)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(
            "This is no report that this version can read. Expected `format` "
            f"{FORMAT}. Received: {text[:60]!r}"
        )
    return content


def _as_dict(report: Any) -> dict[str, Any]:
    return {
        "name": report.name,
        "task": report.task,
        "metrics": dict(report),
        "missing": report.missing,
        "intervals": report.intervals,
        "confidence": report.confidence,
        "hints": report.hints,
        "entropy": None if report.entropy is None else _as_dict(report.entropy),
    }
