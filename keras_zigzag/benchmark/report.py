"""The page of results: tables in Markdown and LaTeX, and figures."""

import os
from collections.abc import Sequence
from pathlib import Path

from keras_zigzag.benchmark.paper_results import published
from keras_zigzag.benchmark.report_failures import ACCURACY_BELOW, ERROR_TIMES
from keras_zigzag.benchmark.report_latex import PREAMBLE, to_figure, to_latex
from keras_zigzag.benchmark.report_paper import Lookup
from keras_zigzag.benchmark.report_pictures import (
    Picture,
    without_scores,
    write_pictures,
)
from keras_zigzag.benchmark.report_runs import load_results
from keras_zigzag.benchmark.report_section import Section, Titled, sections

REMARKS = "remarks.md"
NOTES = f"""
±: standard deviation over the seeds. Size, Inf. Time and Time are ratios to
the single model, medians of runs measured in turn with it; Simple is the share
of the layers of a method's model that the base model does not have. Of each
other column the best is **bold** and the second best is _underlined_. PR-AUC is
the area by trapezoids, as in the paper. The uncertainty of a method is its own;
a row "entropy" scores the same network by the entropy of its prediction; of
variants that differ in nothing else the first one has it.

A run counts as failed if it ended in an error or answers NaN, if its accuracy
is more than {ACCURACY_BELOW:g} below the mean of the single models that
trained, or if its MAE is more than {ERROR_TIMES:g} times theirs. Failed runs
are left out of all means and pictures, which a dagger (†) shows.
"""


def report(
    out: str | os.PathLike[str],
    to: str | os.PathLike[str] | None = None,
    paper: bool | Lookup = True,
    merge: bool = False,
) -> Path:
    """Writes the tables and figures of a folder of results.

    `report.md`, `report.tex` with the same tables, and PNG figures. Tables
    need the JSON lines alone; figures and bootstraps that need scores are
    left out where these are not there, and the page says so. Runs that did
    not train are marked and left out of all means. A file `remarks.md` in the
    folder, with what there is to say about the results, opens the page.

    Reference: the layout is that of
    [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML).

    Args:
        out: Path of the folder that runs have written to.
        to: Path of the Markdown page; the other files go beside it. Defaults
            to `None`: `out/report/report.md`.
        paper: Boolean, whether to compare with the published values; or a
            function `(table, method, metric)` that returns a
            `PublishedValue`, or `None`. Defaults to `True`.
        merge: Boolean. Whether to take results of different versions or
            settings as one. Defaults to `False`.

    Returns:
        The path of the page.

    Raises:
        ValueError: If the folder holds no results, or results of different
            versions or settings under one name.

    Example:

    ```python
    page = keras_zigzag.benchmark.report("results")
    print(page.read_text())
    ```
    """
    out = Path(out)
    page = Path(to) if to else out / "report" / "report.md"
    parts = sections(load_results(out, merge), out)
    lookup = _lookup(paper)
    page.parent.mkdir(parents=True, exist_ok=True)
    told, latex = ["# Results", *_remarks(out), NOTES.strip()], [PREAMBLE]
    taken: set[str] = set()
    for section in parts:
        tables = list(section.tables(lookup))
        pictures = write_pictures(section, page.parent, taken)
        told += _markdown(section, tables, pictures)
        latex += _latex(section, tables, pictures)
    page.write_text("\n\n".join(told) + "\n", encoding="utf-8")
    page.with_suffix(".tex").write_text(
        "\n\n".join(latex) + "\n", encoding="utf-8"
    )
    return page


def _remarks(out: Path) -> list[str]:
    """What people wrote about these results."""
    file = out / REMARKS
    return [file.read_text("utf-8").strip()] if file.is_file() else []


def _lookup(paper: bool | Lookup) -> Lookup | None:
    if callable(paper):
        return paper
    return published if paper else None


def _markdown(
    section: Section, tables: Sequence[Titled], pictures: Sequence[Picture]
) -> list[str]:
    about = "\n".join(f"- {line}" for line in section.about)
    parts = [f"## {section.title}", about]
    for heading, table in tables:
        parts += [f"### {heading}"] * bool(heading)
        parts.append(table.to_markdown())
    if pictures:
        parts.append("### Figures")
    for picture in pictures:
        if picture.is_shown:
            short = picture.caption.split(". ")[0]
            parts.append(f"![{short}]({picture.file})")
            parts.append(f"*{picture.caption}*")
    linked = [
        f"- [{picture.caption}]({picture.file})"
        for picture in pictures
        if not picture.is_shown
    ]
    parts += ["\n".join(linked)] * bool(linked)
    absent = without_scores(section)
    if absent:
        parts.append(
            "Pictures and bootstraps that need the scores of each sample are "
            f"left out of {', '.join(f'`{name}`' for name in absent)}: the "
            "files are not in `scores/`."
        )
    return parts


def _latex(
    section: Section, tables: Sequence[Titled], pictures: Sequence[Picture]
) -> list[str]:
    parts = [f"% {section.name}"]
    parts += [
        to_latex(table, f"{section.name}-{number}")
        for number, (_, table) in enumerate(tables, start=1)
    ]
    return parts + [
        to_figure(picture.file, picture.caption)
        for picture in pictures
        if picture.is_shown
    ]
