"""What the paper and its authors' code report, to be put beside our runs."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from keras_zigzag.benchmark.protocol import check_known

FILE = "paper_results.json"
NOTEBOOK = "notebook"  # the number of what is in no table of the paper


@dataclass(frozen=True)
class PublishedValue:
    """One number that was published, and where.

    Attributes:
        value: Float.
        spread: Float, the standard deviation over runs, or `None` if none
            was published.
        number: String. The number of the table in the paper; `"notebook"`
            for what a notebook in the authors' repository prints.
        source: String. Address of the page on which it was read.
    """

    value: float
    spread: float | None
    number: str
    source: str

    @property
    def place(self) -> str:
        """Where it is, in the words of a caption."""
        if self.number == NOTEBOOK:
            return "authors' notebook"
        return f"Table {self.number}"


def published(table: str, method: str, metric: str) -> PublishedValue | None:
    """What was published of a method, if anything.

    A result of ours says more with the published one beside it. Only numbers
    that were read in their source are here, so that most are missing.

    Reference:

    - [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML)

    Args:
        table: String. One of `tables()`.
        method: String. Name of a class, as in `keras_zigzag.methods()`.
        metric: String. Key of a report of `keras_zigzag.evaluate_scores`,
            such as `"accuracy"` or `"fashion_mnist_roc_auc"`.

    Returns:
        A `PublishedValue`, or `None` where there is none.

    Raises:
        ValueError: If there is no such table.

    Example:

    >>> published = keras_zigzag.benchmark.paper_results.published
    >>> published("cifar10-notebook", "ZigZagModel", "svhn_roc_auc").value
    0.901
    """
    check_known("table", table, _read()["tables"])
    entry = _read()["tables"][table]
    number = entry["values"].get(method, {}).get(metric)
    if number is None:
        return None
    value, spread = number if isinstance(number, list) else (number, None)
    return PublishedValue(value, spread, entry["number"], entry["source"])


def tables() -> dict[str, str]:
    """The tables there are, with their titles.

    A protocol names one of them as its `paper`.

    Returns:
        Dictionary from keys of tables to titles.

    Example:

    >>> list(keras_zigzag.benchmark.paper_results.tables())[0]
    'mnist-notebook'
    """
    return {name: one["title"] for name, one in _read()["tables"].items()}


@functools.cache
def _read() -> dict[str, Any]:
    file = resources.files("keras_zigzag.benchmark") / FILE
    return json.loads(file.read_text(encoding="utf-8"))
