"""Ratios to the base model, and the table that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

COLUMNS = (
    "model",
    "quantity",
    "base",
    "ZigZag",
    "ratio (quartiles)",
    "target",
    "reached",
)


@dataclass(frozen=True)
class Spread:
    """The median and the quartiles of repeated measurements."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float] | np.ndarray) -> Spread:
        low, median, high = np.percentile(values, [25, 50, 75])
        return cls(float(median), float(low), float(high))


@dataclass(frozen=True)
class Row:
    """One quantity of one model.

    Args:
        model: String. Title of the case.
        quantity: String. What was measured.
        unit: String, one of `"parameters"`, `"s"` and `"bytes"`.
        base: Float. Median of the base model. `None` if it was not measured.
        zigzag: Float. Median of the ZigZag model.
        ratio: `Spread` of the ratio of the two.
        target: Float. Highest accepted median ratio. Defaults to `None`.
        skipped: String. Why nothing was measured. Defaults to `None`.
    """

    model: str
    quantity: str
    unit: str
    base: float | None = None
    zigzag: float | None = None
    ratio: Spread | None = None
    target: float | None = None
    skipped: str | None = None

    @property
    def reached(self) -> bool | None:
        if self.ratio is None or self.target is None:
            return None
        return self.ratio.median <= self.target


def compare(
    model: str,
    quantity: str,
    unit: str,
    base: Sequence[float] | np.ndarray,
    zigzag: Sequence[float] | np.ndarray,
    target: float | None = None,
) -> Row:
    """Returns the row of two series measured side by side.

    The ratio is taken within each repeat, where both met the same machine, and
    only then is the median taken.
    """
    if len(base) != len(zigzag) or not len(base):
        raise ValueError(
            "`base` and `zigzag` must be as long as each other and not empty. "
            f"Received: {len(base)} and {len(zigzag)} measurements"
        )
    return Row(
        model,
        quantity,
        unit,
        float(np.median(base)),
        float(np.median(zigzag)),
        Spread.of(np.divide(zigzag, base)),
        target,
    )


def format_table(rows: Sequence[Row]) -> str:
    """Returns the rows as a Markdown table."""
    lines = [join_cells(COLUMNS), join_cells(["---"] * len(COLUMNS))]
    return "\n".join(lines + [format_row(row) for row in rows])


def join_cells(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def format_row(row: Row) -> str:
    cells = [
        row.model,
        row.quantity,
        format_value(row.base, row.unit),
        format_value(row.zigzag, row.unit),
        row.skipped or format_ratio(row.ratio),
        "–" if row.target is None else f"≤ {row.target:.2f}",
        {True: "yes", False: "no", None: "–"}[row.reached],
    ]
    return join_cells(cells)


def format_ratio(ratio: Spread | None) -> str:
    if ratio is None:
        return "–"
    if ratio.low == ratio.high:
        return f"{ratio.median:.3f}"
    return f"{ratio.median:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"


def format_value(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    if unit == "s":
        return f"{1000 * value:.1f} ms"
    if unit == "bytes":
        return f"{value / 2**20:.0f} MiB"
    return f"{value:,.0f}"
