r"""Tables in LaTeX, for a document that loads `booktabs`."""

import re
from collections.abc import Sequence

from keras_zigzag.benchmark.report_table import Cell, Table

PREAMBLE = r"""% Needs \usepackage{booktabs} and \usepackage{graphicx}.
"""
MARKS = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}
SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "→": r"$\to$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "†": r"$^\dagger$",
    "Δ": r"$\Delta$",
    "ρ": r"$\rho$",
    "√": r"$\surd$",
    "²": r"$^2$",
    "…": r"\dots{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "“": "``",
    "”": "''",
}


def escaped(text: str) -> str:
    """Text whose every sign LaTeX prints."""
    return "".join(SIGNS.get(sign, sign) for sign in text)


def to_latex(table: Table, label: str = "") -> str:
    """A `table` environment.

    Args:
        table: `Table`.
        label: String. For `\\ref`, after `tab:`. Defaults to `""`.
    """
    columns = "l" + "r" * (len(table.header) - 1)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(table.caption)}}}",
        *([rf"\label{{tab:{label}}}"] if label else []),
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line([escaped(name) for name in table.header]),
        r"\midrule",
        *(_line([_marked(cell) for cell in row]) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}}",
        *_notes(table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines)


def to_figure(path: str, caption: str) -> str:
    """A `figure` environment of a file beside the document."""
    return "\n".join(
        [
            r"\begin{figure}",
            r"\centering",
            rf"\includegraphics[width=\linewidth]{{{path}}}",
            rf"\caption{{{escaped(caption)}}}",
            r"\end{figure}",
        ]
    )


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _marked(cell: Cell) -> str:
    return MARKS[cell.mark] % escaped(cell.text)


def _notes(notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    # What is code or emphasis in Markdown is plain here.
    plain = [re.sub(r"[`*]", "", note) for note in notes]
    text = r"\\ ".join(map(escaped, plain))
    return [rf"\par\smallskip{{\footnotesize\raggedright {text}\par}}"]
