"""One protocol, or the protocols of one group, as tables."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from keras_zigzag.benchmark.protocol import SINGLE
from keras_zigzag.benchmark.report_header import made_with
from keras_zigzag.benchmark.report_measures import (
    COSTS,
    Measure,
    detections,
    metric,
    quality,
)
from keras_zigzag.benchmark.report_noise import draw, sample_table, seed_table
from keras_zigzag.benchmark.report_paper import Lookup, paper_table
from keras_zigzag.benchmark.report_rows import Row, find, rows_of
from keras_zigzag.benchmark.report_run import ZIGZAG
from keras_zigzag.benchmark.report_runs import Results
from keras_zigzag.benchmark.report_scores import scores_of_one_seed
from keras_zigzag.benchmark.report_table import Table
from keras_zigzag.benchmark.report_tables import (
    deviations_table,
    main_table,
    set_table,
    two_sample_table,
)
from keras_zigzag.benchmark.significance import Drawn
from keras_zigzag.evaluation.samples import Samples

Titled = tuple[str, Table]
BOLD = (
    "Bold: larger than noise at 95 %, adjusted after Holm for the number of "
    "methods."
)


@dataclasses.dataclass(frozen=True)
class Section:
    """Results that are shown together.

    Args:
        results: List of `Results`, of one protocol or of one group.
        out: Path of the folder of results.
    """

    results: Sequence[Results]
    out: Path

    @property
    def is_group(self) -> bool:
        return len(self.results) > 1

    @property
    def name(self) -> str:
        first = self.results[0]
        return first.group if self.is_group else first.name

    @property
    def title(self) -> str:
        if self.is_group:
            return f"{self.name}: {len(self.results)} data sets"
        return self.results[0].title or self.name

    @property
    def task(self) -> str:
        return self.results[0].task

    @property
    def seeds(self) -> set[int]:
        return {run.seed for result in self.results for run in result.runs}

    @property
    def about(self) -> list[str]:
        return made_with(self.results)

    @functools.cached_property
    def rows(self) -> list[Row]:
        return rows_of(self.results)

    @functools.cached_property
    def detections(self) -> list[Measure]:
        return detections(self.results, "roc_auc")

    @property
    def quality(self) -> list[Measure]:
        """Errors in different units have no mean."""
        measures = quality(self.task)
        units = {result.units for result in self.results}
        return measures if len(units) == 1 else measures[1:]

    @property
    def measures(self) -> list[Measure]:
        """The columns of the main table, those of a set side by side."""
        both = zip(
            self.detections, detections(self.results, "pr_auc"), strict=True
        )
        found = [measure for pair in both for measure in pair]
        return [*self.quality, *COSTS, *found]

    @property
    def tested(self) -> list[Measure]:
        """What the tests of significance are made on."""
        key = "raulc"
        if self.task == "regression":
            key = "prediction_rejection_ratio"
        return [metric(key), *self.detections]

    @property
    def tested_over_runs(self) -> list[Measure]:
        """What has a mean over seeds or sets: the errors besides."""
        errors = [m for m in self.quality if m.key in ("accuracy", "mae")]
        return [*errors, *self.tested]

    @functools.cached_property
    def scores(self) -> tuple[int, dict[str, Samples]]:
        """Of the first protocol, the seed and the scores by label."""
        return self.scores_of(self.results[0])

    def scores_of(self, result: Results) -> tuple[int, dict[str, Samples]]:
        return scores_of_one_seed(self.out, result.name, result.task, self.rows)

    def tables(self, lookup: Lookup | None) -> Iterator[Titled]:
        """Headings and tables, in order."""
        yield "", self._main()
        if self.is_group:
            yield from self._by_set()
        yield (
            "Standard deviations",
            _captioned(
                deviations_table(self.rows, self.measures),
                "Over the seeds; of times, the quartiles of the measurements.",
            ),
        )
        two = two_sample_table(self.rows, self.measures)
        if two:
            yield (
                "Two samples",
                _captioned(
                    two,
                    "Sampling methods at two samples, beside the single model "
                    "and ZigZag, which takes two passes.",
                ),
            )
        if lookup:
            yield from self._beside_paper(lookup)
        yield from self._noise()

    def _main(self) -> Table:
        num = len(self.seeds)
        over = "1 seed" if num == 1 else f"{num} seeds"
        what = "Mean over the data sets and" if self.is_group else "Mean over"
        caption = f"{self.title}. {what} {over}, ± standard deviation."
        units = self.results[0].units
        if units and self.quality[0].key == "mae":
            caption += f" MAE in {units}."
        return _captioned(main_table(self.rows, self.measures), caption)

    def _by_set(self) -> Iterator[Titled]:
        """Method × data set, of the OOD detection and of the ranking."""
        shown = [self.tested[0], *self.detections]
        for measure in reversed(shown):
            table = set_table(self.rows, [measure])
            yield (
                f"By data set: {measure.heading}",
                _captioned(table, f"{measure.title}, mean over the seeds."),
            )

    def _beside_paper(self, lookup: Lookup) -> Iterator[Titled]:
        keys = dict.fromkeys(r.paper for r in self.results if r.paper)
        for key in keys:
            names = [r.name for r in self.results if r.paper == key]
            rows = [_restricted(row, names) for row in self.rows]
            table = paper_table(rows, self.measures, key, lookup)
            if table:
                of = "" if len(keys) == 1 else f": {', '.join(names)}"
                caption = f"Our values and the published ones{of}."
                yield f"Beside the paper{of}", _captioned(table, caption)

    def _noise(self) -> Iterator[Titled]:
        for reference in self._references():
            heading = f"Against {reference.label}, over the"
            pairs = "data sets" if self.is_group else "seeds"
            tested = self._tested_over(pairs, reference)
            if tested:
                yield f"{heading} {pairs}", tested
            # Over data sets there is a test already, with more to say.
            drawn = None if self.is_group else self._drawn(reference)
            if drawn:
                yield f"{heading} test samples", drawn

    def _references(self) -> list[Row]:
        """ZigZag, the single model, and those that the protocol names."""
        labels = self.results[0].references
        found = [find(self.rows, name) for name in (ZIGZAG, SINGLE)]
        found += [row for row in self.rows if row.label in labels]
        return list({row.label: row for row in found if row}.values())

    def _tested_over(self, pairs: str, reference: Row) -> Table | None:
        table = seed_table(self.rows, self.tested_over_runs, reference)
        if table is None:
            return None
        num = len(self.results) if self.is_group else len(self.seeds)
        caption = (
            f"Mean difference to {reference.label}, and the 95 % interval of "
            f"a paired t-test over the {pairs}, up to {num}. {BOLD}"
        )
        return _captioned(table, caption)

    @functools.cached_property
    def _draws(self) -> list[dict[str, Drawn]]:
        """Of all references, as drawing takes a while."""
        return draw(self.tested, self.scores[1])

    def _drawn(self, reference: Row) -> Table | None:
        seed, _ = self.scores
        table = sample_table(self.rows, self.tested, reference, self._draws)
        if table is None:
            return None
        caption = (
            f"Difference to {reference.label} with seed {seed}, and the 95 % "
            f"interval of a paired bootstrap over the test samples. {BOLD}"
        )
        return _captioned(table, caption)


def sections(results: Sequence[Results], out: Path) -> list[Section]:
    """One per protocol; those of a group together, where its first one is."""
    grouped: dict[str, list[Results]] = {}
    for result in results:
        key = f"group {result.group}" if result.group else result.name
        grouped.setdefault(key, []).append(result)
    return [Section(some, out) for some in grouped.values()]


def _captioned(table: Table, caption: str) -> Table:
    return dataclasses.replace(table, caption=caption)


def _restricted(row: Row, names: Sequence[str]) -> Row:
    runs = {name: row.runs[name] for name in names}
    return dataclasses.replace(row, runs=runs)
