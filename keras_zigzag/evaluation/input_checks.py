"""Whether an OOD set is fit to be compared with the ID set."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_zigzag.metrics.inputs import Array

# How many times wider one range may be before it looks like another scale.
RANGE_FACTOR = 3.0


class InputSummary:
    """What the checks need to know about a set, collected by batches.

    Shapes, the range, and one hash per sample; no input is kept.
    """

    def __init__(self) -> None:
        self.shapes: Sequence[tuple[int, ...]] = ()
        self.all_shapes: set[tuple[tuple[int, ...], ...]] = set()
        self.low, self.high = math.inf, -math.inf
        self.total, self.count = 0.0, 0
        self.hashes: list[int] = []

    @property
    def mean(self) -> float:
        return self.total / max(self.count, 1)

    def add(self, inputs: Any) -> None:
        """Takes one more batch of arrays."""
        leaves = [
            leaf
            for leaf in keras.tree.flatten(inputs)
            if leaf is not None and leaf.dtype.kind in "biuf"
        ]
        self.shapes = [leaf.shape[1:] for leaf in leaves]
        self.all_shapes.add(tuple(self.shapes))
        # The types of two sets may differ, and equal inputs still be equal.
        rows = [
            leaf.reshape(len(leaf), -1).astype("float32") for leaf in leaves
        ]
        for row in rows:
            self._add_range(row[np.isfinite(row)])
        if rows:
            joined = np.ascontiguousarray(np.concatenate(rows, axis=1))
            self.hashes += [hash(row.tobytes()) for row in joined]

    def _add_range(self, values: Array) -> None:
        if values.size:
            self.low = min(self.low, float(values.min()))
            self.high = max(self.high, float(values.max()))
            self.total += float(values.sum(dtype="float64"))
            self.count += values.size


def check_shapes(known: InputSummary, inputs: Any, name: str) -> list[str]:
    """Warns, before the model is asked, if images have another size."""
    first = InputSummary()
    first.add(keras.tree.map_structure(lambda leaf: leaf[:1], inputs))
    # Where they vary, the ID set has no size of its own.
    if first.all_shapes <= known.all_shapes or len(known.all_shapes) > 1:
        return []
    return _warned(
        f"The inputs of the OOD set {name!r} have the shape "
        f"{_written(first.shapes)}, those of the ID set "
        f"{_written(known.shapes)}. Resize them, or the size alone may tell "
        "them apart."
    )


def check_values(
    known: InputSummary, other: InputSummary, name: str
) -> list[str]:
    """Warns of other ranges and of samples that are in both sets."""
    return _check_ranges(known, other, name) + _check_overlap(
        known, other, name
    )


def _check_ranges(
    known: InputSummary, other: InputSummary, name: str
) -> list[str]:
    if not known.count or not other.count:
        return []
    width, other_width = known.high - known.low, other.high - other.low
    is_wider = max(width, other_width) > RANGE_FACTOR * min(width, other_width)
    is_apart = abs(known.mean - other.mean) > max(width, other_width)
    if not (is_wider or is_apart):
        return []
    return _warned(
        f"The inputs of the OOD set {name!r} are scaled otherwise than those "
        f"of the ID set: {_range(other)} against {_range(known)}. Normalise "
        "the OOD set with the statistics of the ID set, or the scale alone "
        "tells them apart."
    )


def _check_overlap(
    known: InputSummary, other: InputSummary, name: str
) -> list[str]:
    num_shared = len(set(known.hashes) & set(other.hashes))
    if not num_shared:
        return []
    return _warned(
        f"{num_shared} of the {len(other.hashes)} inputs of the OOD set "
        f"{name!r} are in the ID set as well. Is it the right set?"
    )


def _range(summary: InputSummary) -> str:
    return f"{summary.low:.4g} to {summary.high:.4g} (mean {summary.mean:.4g})"


def _written(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(map(str, shapes)) or "none"


def _warned(message: str) -> list[str]:
    warnings.warn(message, stacklevel=3)
    return [message]
