"""Our numbers beside the published ones."""

from collections.abc import Callable, Sequence
from typing import Any

from keras_zigzag.benchmark.paper_results import PublishedValue
from keras_zigzag.benchmark.report_failures import mean
from keras_zigzag.benchmark.report_measures import Measure
from keras_zigzag.benchmark.report_rows import Estimate, Row
from keras_zigzag.benchmark.report_table import Table, cells
from keras_zigzag.benchmark.report_tables import decimals_of, number

# Of the standard deviations, or what the paper says of its own.
TIMES = 2
NOTE = (
    "Beyond: whether the difference is larger than "
    f"{TIMES} times the spread, which is the larger one of our standard "
    "deviation over the seeds and the paper's; of a measured time, half the "
    "range of its quartiles if that is larger. “?”: one seed and no "
    "published spread, so that there is nothing to hold it against."
)
Lookup = Callable[[str, str, str], PublishedValue | None]


def paper_table(
    rows: Sequence[Row],
    measures: Sequence[Measure],
    table: str,
    lookup: Lookup,
) -> Table | None:
    """One line for each number of ours that the paper has too.

    Args:
        rows: List of `Row`.
        measures: List of `Measure`.
        table: String. The key of the paper's table.
        lookup: Function from that key, a class and a metric to a
            `PublishedValue`, or to `None`.
    """
    lines, sources = [], []
    for row in filter(lambda row: row.is_main, rows):
        for measure in measures:
            found = lookup(table, row.class_name, measure.full_key)
            ours = row.estimate(measure)
            if found is None or ours.mean is None:
                continue
            lines.append(_line(row, measure, ours, found))
            sources.append(f"{found.place}: {found.source}")
    if not lines:
        return None
    notes = [NOTE, *dict.fromkeys(sources)]
    header = ["", "metric", "ours", "paper", "where", "difference", "beyond"]
    return Table("", header, [cells(line) for line in lines], notes)


def beyond(ours: Estimate, value: float, spreads: Sequence[Any]) -> str:
    """Whether a difference is larger than the spread: yes, no or ?."""
    known = [one for one in spreads if one is not None]
    if ours.mean is None or not known:
        return "?"
    return "yes" if abs(ours.mean - value) > TIMES * max(known) else "no"


def _line(
    row: Row, measure: Measure, ours: Estimate, found: PublishedValue
) -> list[str]:
    spreads = [ours.std, found.spread, _half_range(row, measure)]
    theirs = Estimate(found.value, found.spread)
    difference = (ours.mean or 0.0) - found.value
    return [
        row.label,
        measure.heading,
        number(ours),
        number(theirs),
        found.place,
        signed(difference),
        beyond(ours, found.value, spreads),
    ]


def signed(value: float, decimals: int | None = None) -> str:
    """With a sign; three decimals by default, fewer of large numbers."""
    if decimals is None:
        decimals = decimals_of(value)
    return ("−" if value < 0 else "+") + f"{abs(value):.{decimals}f}"


def _half_range(row: Row, measure: Measure) -> float | None:
    if measure.spread is None:
        return None
    trained = [run for name in row.runs for run in row.trained(name)]
    ranges = filter(None, map(measure.spread, trained))
    return mean([(high - low) / 2.0 for low, high in ranges])
