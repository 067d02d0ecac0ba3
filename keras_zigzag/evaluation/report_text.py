"""A report as a title, a table and some notes."""

from typing import Any

from keras_zigzag.evaluation import tables
from keras_zigzag.evaluation.metric_sets import arrow, heading, in_order


def title(report: Any) -> str:
    """Which method on how many samples."""
    parts = [report.name, report.task]
    if report.samples is not None:
        parts.append(f"{report.samples.id.num_samples:,} ID samples")
        parts += [
            f"{ood.num_samples:,} {name}"
            for name, ood in report.samples.ood.items()
        ]
    return ", ".join(filter(None, parts))


def table(report: Any) -> tuple[list[str], list[list[str]]]:
    """One row per metric, with the entropy of the same predictions beside."""
    columns = {"uncertainty": report}
    if report.entropy is not None:
        columns["entropy"] = report.entropy
    rows = [
        [
            heading(key) + arrow(key),
            *(_cell(one, key) for one in columns.values()),
        ]
        for key in in_order([*report, *report.missing])
    ]
    return [report.name, *columns], rows


def notes(report: Any) -> list[str]:
    """Why values are missing, what brackets are, and what looks wrong."""
    lines = [
        f"{tables.MISSING} {heading(key)}: {reason}"
        for key, reason in report.missing.items()
    ]
    if report.intervals:
        percent = f"{100 * report.confidence:g}%"
        lines.append(
            f"In brackets: {percent} confidence interval, by bootstrap."
        )
    return lines + report.hints


def _cell(report: Any, key: str) -> str:
    text = tables.number(report.get(key))
    if key in report.intervals:
        low, high = map(tables.number, report.intervals[key])
        text += f" ({low} to {high})"
    return text
