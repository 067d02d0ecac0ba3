"""A table that can be written in Markdown and in LaTeX."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from keras_zigzag.evaluation import tables

MARKS = {"best": "**", "second": "_", "": ""}


class Cell(NamedTuple):
    """A text, and whether it is the `"best"` or the `"second"` of a column."""

    text: str
    mark: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """What stands in a table and below it.

    Args:
        caption: String.
        header: List of strings.
        rows: List of lists of `Cell`, the row's name first.
        notes: List of strings, what has to be said of the numbers.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def to_markdown(self) -> str:
        rows = [
            [f"{MARKS[mark]}{text}{MARKS[mark]}" for text, mark in row]
            for row in self.rows
        ]
        table = tables.markdown(self.header, rows)
        notes = "<br>\n".join(self.notes)
        parts = [f"*{self.caption}*" if self.caption else "", table, notes]
        return "\n\n".join(filter(None, parts))


def cells(texts: Sequence[str]) -> list[Cell]:
    return [Cell(text) for text in texts]
