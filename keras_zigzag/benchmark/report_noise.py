"""Tables that say which differences are larger than noise."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import numpy as np

from keras_zigzag.benchmark.report_paper import signed
from keras_zigzag.benchmark.report_rows import Measure, Row
from keras_zigzag.benchmark.report_scores import Scores
from keras_zigzag.benchmark.report_table import Cell, Table
from keras_zigzag.benchmark.significance import (
    Difference,
    holm,
    paired_bootstrap,
    paired_t_test,
)
from keras_zigzag.evaluation import tables
from keras_zigzag.evaluation.resampling import Detected, Order, Ranked
from keras_zigzag.metrics.inputs import Array

LEVEL = 0.05
Differences = Mapping[str, Difference | None]
Metric = Callable[[Sequence[Array]], Array]


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
    scores: Mapping[str, Scores],
) -> Table | None:
    """Paired bootstraps over the test samples of one seed."""
    if reference.label not in scores:
        return None
    others = [
        row
        for row in rows
        if row.label in scores
        and row.label != reference.label
        and _same_samples(scores[row.label], scores[reference.label])
    ]
    labels = [reference.label, *(row.label for row in others)]
    columns = []
    for measure in measures:
        sizes, functions = _functions(measure, [scores[n] for n in labels])
        found = paired_bootstrap(functions, sizes)
        columns.append(dict(zip(labels[1:], found, strict=True)))
    return _table(others, measures, columns)


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
    if not any(any(column.values()) for column in columns):
        return None
    adjusted = [_adjusted(column) for column in columns]
    lines = [
        [
            Cell(row.label),
            *(
                _cell(column[row.label], p.get(row.label, 1.0))
                for column, p in zip(columns, adjusted, strict=True)
            ),
        ]
        for row in rows
    ]
    return Table("", ["", *(f"Δ {m.title}" for m in measures)], lines)


def _adjusted(column: Differences) -> dict[str, float]:
    return holm({name: one.p for name, one in column.items() if one})


def _cell(difference: Difference | None, p: float) -> Cell:
    """In bold if the adjusted p-value is below the level."""
    if difference is None:
        return Cell(tables.MISSING)
    mid, low, high = map(signed, difference[:3])
    return Cell(f"{mid} [{low}, {high}]", "best" if p < LEVEL else "")


def _same_samples(first: Scores, second: Scores) -> bool:
    return (
        np.array_equal(first.targets, second.targets)
        and first.ood.keys() == second.ood.keys()
        and all(len(first.ood[n]) == len(second.ood[n]) for n in first.ood)
    )


def _functions(
    measure: Measure, scores: Sequence[Scores]
) -> tuple[list[int], list[Metric]]:
    """Sizes of the sets to draw from, and the metric of each method."""
    first = scores[0]
    if measure.ood:
        sizes = [len(first.uncertainty), len(first.ood[measure.ood])]
        return sizes, [_roc_auc(one, measure.ood) for one in scores]
    ranked = _raulc if measure.key == "raulc" else _rejection_ratio
    return [len(first.uncertainty)], [ranked(one) for one in scores]


def _roc_auc(scores: Scores, ood: str) -> Metric:
    order = Order(np.concatenate([scores.uncertainty, scores.ood[ood]]))
    return lambda weights: Detected(order, weights[0], weights[1]).roc_auc()


def _raulc(scores: Scores) -> Metric:
    by_score, by_loss = Order(scores.uncertainty), Order(scores.loss)
    correct = 1.0 - scores.loss

    def metric(weights: Sequence[Array]) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            own = Ranked(by_score, weights[0], correct).aulc()
            return own / Ranked(by_loss, weights[0], correct).aulc()

    return metric


def _rejection_ratio(scores: Scores) -> Metric:
    by_score, by_loss = Order(scores.uncertainty), Order(scores.loss)
    loss = scores.loss

    def metric(weights: Sequence[Array]) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            own = Ranked(by_score, weights[0], loss).gain()
            return own / Ranked(by_loss, weights[0], loss).gain()

    return metric
