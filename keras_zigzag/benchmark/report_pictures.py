"""Which pictures a section has, and their files."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from keras_zigzag.benchmark.report_figures import (
    FEW,
    SHOWN,
    calibration_figure,
    cost_figure,
    curves_figure,
    error_figure,
    reliability_figure,
    samples_figure,
)
from keras_zigzag.benchmark.report_runs import Results
from keras_zigzag.benchmark.report_section import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure that was written.

    Args:
        file: String. Its name in the folder.
        caption: String.
        is_shown: Boolean. Whether the page shows it, or links it as one of
            many alike. Defaults to `True`.
    """

    file: str
    caption: str
    is_shown: bool = True


def write_pictures(
    section: Section, folder: Path, taken: set[str] | None = None
) -> list[Picture]:
    """Writes all figures of a section.

    Args:
        section: `Section`.
        folder: Path.
        taken: Set of the names of files that the page has already; those of
            this section come to it. Defaults to `None`, for none.
    """
    taken = set() if taken is None else taken
    pictures: list[Picture] = []
    for picture, figure in _all(section):
        if figure is not None:
            picture = dataclasses.replace(
                picture, file=_unused(picture.file, taken)
            )
            taken.add(picture.file)
            figure.savefig(folder / picture.file, dpi=DPI)
            pictures.append(picture)
    return pictures


def without_scores(section: Section) -> list[str]:
    """Names of the protocols whose scores are not there."""
    return [
        result.name
        for result in section.results
        if not section.scores_of(result)[1]
    ]


def _all(section: Section) -> Iterator[tuple[Picture, "Figure | None"]]:
    name, measures = section.name, section.detections
    mean = " Mean over the data sets." if section.is_group else ""
    if measures:
        yield (
            Picture(
                _file(f"{name}-samples"),
                "OOD ROC-AUC against the number of samples, as in the paper's "
                "figure 6; bars are standard deviations over the seeds. Lines "
                f"across: no samples are taken.{mean}",
            ),
            samples_figure(section.rows, measures),
        )
        yield (
            Picture(
                _file(f"{name}-cost"),
                f"{measures[0].heading} against time.{mean}",
            ),
            cost_figure(section.rows, measures[0]),
        )
    for result in section.results:
        yield from _of_scores(section, result)


def _of_scores(
    section: Section, result: Results
) -> Iterator[tuple[Picture, "Figure | None"]]:
    seed, scores = section.scores_of(result)
    if not scores:
        return
    is_shown = not section.is_group
    of = f"{result.title or result.name}, seed {seed}"
    for ood in result.ood_sets:
        yield (
            Picture(
                _file(f"{result.name}-{ood}-curves"),
                f"ROC and precision–recall curves, {ood.replace('_', ' ')}. "
                f"{of}.",
                is_shown,
            ),
            curves_figure(scores, ood),
        )
    main = [row.label for row in section.rows if row.is_main]
    own = {label: one for label, one in scores.items() if label in main}
    if result.task == "regression":
        yield (
            Picture(
                _file(f"{result.name}-error"),
                "True against estimated error, with Pearson's r; the axes "
                f"leave out the outermost {100 * (1 - SHOWN):g} %. {of}.",
                is_shown,
            ),
            error_figure(own, result.units),
        )
        yield (
            Picture(
                _file(f"{result.name}-calibration"),
                "Calibration: the share of all error against the share of all "
                "uncertainty, the most certain samples first; the area is "
                f"that between a curve and the diagonal. {of}.",
                is_shown,
            ),
            calibration_figure(own),
        )
    else:
        yield (
            Picture(
                _file(f"{result.name}-reliability"),
                "Calibration: how often a confidence is right, in bins of "
                f"{FEW} samples or more. {of}.",
                is_shown,
            ),
            reliability_figure(own),
        )


def _unused(file: str, taken: set[str]) -> str:
    """Sets called "a b" and "a/b" have pictures of their own."""
    stem, number = file.removesuffix(".png"), 2
    while file in taken:
        file, number = f"{stem}-{number}.png", number + 1
    return file


def _file(name: str) -> str:
    """A name that needs no quoting in Markdown and LaTeX."""
    return re.sub(r"[^\w.]+", "-", name) + ".png"
