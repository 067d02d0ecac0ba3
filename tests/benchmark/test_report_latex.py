import re

import pytest

from keras_zigzag.benchmark.report_latex import escaped, to_latex
from keras_zigzag.benchmark.report_table import Cell, Table


@pytest.fixture
def table():
    rows = [
        [Cell("a_b†"), Cell("0.9 ± 0.1", "best"), Cell("–")],
        [Cell("c"), Cell("50 %", "second"), Cell("−1 & {2}")],
    ]
    return Table("From A → B", ["", "x ↑", "y"], rows, ["† **a** `b_c`"])


def check(latex):
    """Braces, environments and ampersands, without a LaTeX at hand."""
    plain = re.sub(r"\\[{}&%_$#]", "", latex)
    depth = 0
    for sign in plain:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    assert plain.count("$") % 2 == 0
    begun = re.findall(r"\\begin{(\w+)}", latex)
    assert sorted(begun) == sorted(re.findall(r"\\end{(\w+)}", latex))
    for columns, body in re.findall(
        r"\\begin{tabular}{(\w+)}(.*?)\\end{tabular}", plain, re.DOTALL
    ):
        rows = [row for row in body.split("\n") if row.endswith(r"\\")]
        assert rows
        assert {row.count("&") for row in rows} == {len(columns) - 1}
    assert all(ord(sign) < 128 for sign in latex), "not in plain LaTeX"


def test_table(table):
    latex = to_latex(table, "one")
    check(latex)
    assert r"\caption{From A $\to$ B}" in latex
    assert r"\label{tab:one}" in latex
    assert r"\begin{tabular}{lrr}" in latex
    first = r"a\_b$^\dagger$ & \textbf{0.9 $\pm$ 0.1} & -- \\"
    assert first in latex.splitlines()
    assert r"c & \underline{50 \%} & $-$1 \& \{2\} \\" in latex.splitlines()
    assert r"$^\dagger$ a b\_c" in latex


def test_without_notes():
    latex = to_latex(Table("", ["", "x"], [[Cell("a"), Cell("1")]]))
    assert "footnotesize" not in latex and "label" not in latex


def test_escaped():
    assert escaped(r"a\b~^#$") == (
        r"a\textbackslash{}b\textasciitilde{}\textasciicircum{}\#\$"
    )
