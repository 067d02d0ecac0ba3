"""Tables that say which differences are larger than noise."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean

import numpy as np

from keras_zigzag.benchmark.report_measures import Measure
from keras_zigzag.benchmark.report_paper import signed
from keras_zigzag.benchmark.report_rows import Row
from keras_zigzag.benchmark.report_table import Cell, Table
from keras_zigzag.benchmark.report_tables import decimals_of
from keras_zigzag.benchmark.significance import (
    Difference,
    Drawn,
    Metric,
    holm,
    paired_bootstrap,
    paired_t_test,
    resample,
)
from keras_zigzag.evaluation import tables
from keras_zigzag.evaluation.places import Places
from keras_zigzag.evaluation.resampling import Order, Ranked
from keras_zigzag.evaluation.samples import OodScores, Samples
from keras_zigzag.metrics.inputs import Array

LEVEL = 0.05
SMALL = 5e-3  # Three decimals say little of less.
Differences = Mapping[str, Difference | None]


def seed_table(
    rows: Sequence[Row], measures: Sequence[Measure], reference: Row
) -> Table | None:
    """Paired t-tests against a reference: over seeds, or over data sets."""
    others = [row for row in rows if row.label != reference.label]
    columns = [
        {row.label: _over_pairs(row, reference, m) for row in others}
        for m in measures
    ]
    return _table(others, measures, columns)


def sample_table(
    rows: Sequence[Row],
    measures: Sequence[Measure],
    reference: Row,
    drawn: Sequence[Mapping[str, Drawn]],
) -> Table | None:
    """Paired bootstraps over the test samples of one seed.

    Args:
        rows: List of `Row`.
        measures: List of `Measure`.
        reference: `Row` to compare the others with.
        drawn: What `draw` returned.
    """
    others = [row for row in rows if row.label != reference.label]
    columns = [
        {
            row.label: paired_bootstrap(
                found[row.label], found[reference.label]
            )
            for row in others
            if {row.label, reference.label} <= found.keys()
        }
        for found in drawn
    ]
    return _table(others, measures, columns)


def draw(
    measures: Sequence[Measure], scores: Mapping[str, Samples]
) -> list[dict[str, Drawn]]:
    """For each measure the metric of each method, drawn alike for all.

    Methods that did not see the samples that the first one saw are left out.
    """
    if not scores:
        return [{} for _ in measures]
    first = next(iter(scores.values()))
    alike = {
        label: one for label, one in scores.items() if _same_samples(one, first)
    }
    return [
        _draw(measure, first, alike)
        if not measure.ood or measure.ood in first.ood
        else {}
        for measure in measures
    ]


def _over_pairs(
    row: Row, reference: Row, measure: Measure
) -> Difference | None:
    """One pair per seed, or per data set with its seeds averaged."""
    first: list[float] = []
    second: list[float] = []
    for name in row.runs:
        ours = row.values(measure, name)
        theirs = reference.values(measure, name)
        common = sorted(ours.keys() & theirs.keys())
        pair = [ours[s] for s in common], [theirs[s] for s in common]
        if len(row.runs) > 1 and common:
            pair = [fmean(pair[0])], [fmean(pair[1])]
        first += pair[0]
        second += pair[1]
    return paired_t_test(first, second)


def _table(
    rows: Sequence[Row],
    measures: Sequence[Measure],
    columns: Sequence[Differences],
) -> Table | None:
    columns = [_known(column) for column in columns]
    if not any(columns):
        return None
    adjusted = [_adjusted(column) for column in columns]
    lines = [
        [
            Cell(row.label),
            *(
                _cell(column.get(row.label), p.get(row.label, 1.0))
                for column, p in zip(columns, adjusted, strict=True)
            ),
        ]
        for row in rows
    ]
    return Table("", ["", *(f"Δ {m.title}" for m in measures)], lines)


def _known(column: Differences) -> dict[str, Difference]:
    return {name: one for name, one in column.items() if one is not None}


def _adjusted(column: Differences) -> dict[str, float]:
    return holm({name: one.p for name, one in _known(column).items()})


def _cell(difference: Difference | None, p: float) -> Cell:
    """In bold if the adjusted p-value is below the level."""
    if difference is None:
        return Cell(tables.MISSING)
    decimals = _decimals(max(map(abs, difference[:3])))
    mid, low, high = (signed(one, decimals) for one in difference[:3])
    return Cell(f"{mid} [{low}, {high}]", "best" if p < LEVEL else "")


def _decimals(largest: float) -> int:
    """As many as show two digits of numbers that are all small."""
    if not 0 < largest < SMALL:
        return decimals_of(largest)
    return 1 - math.floor(math.log10(largest))


def _same_samples(first: Samples, second: Samples) -> bool:
    return (
        np.array_equal(first.id.targets, second.id.targets)
        and np.array_equal(first.id.sample, second.id.sample)
        and first.ood.keys() == second.ood.keys()
        and all(
            np.array_equal(first.ood[n].sample, second.ood[n].sample)
            for n in first.ood
        )
    )


def _draw(
    measure: Measure, first: Samples, scores: Mapping[str, Samples]
) -> dict[str, Drawn]:
    sizes = [first.id.num_samples]
    make: Callable[[Samples], Metric] = _rejection_ratio
    if measure.ood:
        sizes.append(first.ood[measure.ood].num_samples)
        make = partial(_roc_auc, ood=measure.ood)
    elif measure.key == "raulc":
        make = _raulc
    return resample({name: make(one) for name, one in scores.items()}, sizes)


def _of_places(weights: Array, places: Places | OodScores) -> Array:
    """How often each place was drawn: as often as its sample."""
    if len(places.sample) == places.num_samples:
        return weights
    return weights[:, places.sample]


def _roc_auc(scores: Samples, ood: str) -> Metric:
    """Counts of ID samples below each OOD sample, ties as halves."""
    known, unknown = scores.id, scores.ood[ood]
    order = np.argsort(known.uncertainty, kind="stable")
    ranked = known.uncertainty[order]
    below = np.searchsorted(ranked, unknown.uncertainty, side="left")
    up_to = np.searchsorted(ranked, unknown.uncertainty, side="right")

    def metric(weights: Sequence[Array]) -> Array:
        inside = _of_places(weights[0], known)
        outside = _of_places(weights[1], unknown)
        count = np.zeros((len(inside), len(order) + 1))
        np.cumsum(inside[:, order], axis=1, out=count[:, 1:])
        pairs = np.einsum(
            "ij,ij->i", outside, count[:, below] + count[:, up_to]
        )
        return pairs / (2.0 * count[:, -1] * outside.sum(axis=1))

    return metric


def _raulc(scores: Samples) -> Metric:
    by_score, by_loss = Order(scores.id.uncertainty), Order(scores.loss)
    correct = 1.0 - scores.loss

    def metric(weights: Sequence[Array]) -> Array:
        inside = _of_places(weights[0], scores.id)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = Ranked(by_score, inside, correct).aulc()
            return own / Ranked(by_loss, inside, correct).aulc()

    return metric


def _rejection_ratio(scores: Samples) -> Metric:
    by_score, by_loss = Order(scores.id.uncertainty), Order(scores.loss)
    loss = scores.loss

    def metric(weights: Sequence[Array]) -> Array:
        inside = _of_places(weights[0], scores.id)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = Ranked(by_score, inside, loss).gain()
            return own / Ranked(by_loss, inside, loss).gain()

    return metric
