"""Tables of text, for a terminal, for Markdown and for a notebook."""

import html
import re
from collections.abc import Sequence

Rows = Sequence[Sequence[str]]
MISSING = "–"
# What is left of zero in sums that should cancel.
ROUNDING = 1e-12


def number(value: float | None) -> str:
    """Three decimals, or three digits where those would not show it."""
    if value is None:
        return MISSING
    if abs(value) < ROUNDING:
        return "0.000"
    if not 1e-3 <= abs(value) < 1e4:
        return f"{value:.3g}"
    return f"{value:.3f}"


def markdown(header: Sequence[str], rows: Rows) -> str:
    """A Markdown table that is aligned, so that a terminal can show it."""
    header, *rows = (
        [cell.replace("|", r"\|") for cell in row] for row in (header, *rows)
    )
    columns = zip(header, *rows, strict=True)
    widths = [max(map(len, column)) for column in columns]
    rule = ["-" * (width + 2) for width in widths]
    rule[1:] = [f"{'-' * (width + 1)}:" for width in widths[1:]]
    return "\n".join(
        [
            _line(header, widths),
            f"|{'|'.join(rule)}|",
            *(_line(row, widths) for row in rows),
        ]
    )


def as_html(header: Sequence[str], rows: Rows) -> str:
    """The same table in HTML, with the marks of Markdown in it."""
    head = "".join(f"<th>{_marked(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{_marked(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraphs(lines: Sequence[str]) -> str:
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    padded = [f"{first[0]:{first[1]}}"]
    padded += [f"{cell:>{width}}" for cell, width in others]
    return f"| {' | '.join(padded)} |"


def _marked(cell: str) -> str:
    cell = html.escape(cell)
    cell = re.sub(r"\*\*(.+)\*\*", r"<b>\1</b>", cell)
    return re.sub(r"^_(.+)_$", r"<u>\1</u>", cell)
