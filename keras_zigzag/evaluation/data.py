"""ID and OOD data of any kind, as batches, with their targets in step."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np

from keras_zigzag.batches import rows_of
from keras_zigzag.checks import (
    as_array,
    batches_of,
    check_is_batch,
    is_data,
    is_endless,
)

Batch = tuple[Any, Any, Any]


class Batches:
    """Batches of `(x, y, sample_weight)` that can be gone through again.

    A generator, which cannot, is kept in memory as it is read.

    Args:
        data: Arrays, or a data set.
        what: String. What errors call it.
        batch_size: Integer, for arrays. Defaults to `32`.
        labelled: Boolean. Whether there must be targets; otherwise they are
            ignored, but not the weights. Defaults to `True`.
    """

    def __init__(
        self,
        data: Any,
        what: str,
        batch_size: int = 32,
        labelled: bool = True,
    ):
        self.what = what
        self.labelled = labelled
        self.batch_size = batch_size
        self.arrays = self._as_arrays(data)
        self.kept: list[Batch] = []
        self.data = data
        if self.arrays is None:
            _check_data_set(data, what)

    def __len__(self) -> int:
        """Number of batches, 0 if that is not known."""
        if self.arrays is not None:
            return -(-_size(self.arrays) // self.batch_size)
        try:
            return len(self.data)
        except TypeError:
            return len(self.kept)

    def __iter__(self) -> Iterator[Batch]:
        batches = self._again()
        first = next(batches, None)
        if first is None:
            raise ValueError(f"There are no samples in {self.what}.")
        return itertools.chain([first], batches)

    def _again(self) -> Iterator[Batch]:
        if self.arrays is not None:
            yield from _slices(self.arrays, self.batch_size)
            return
        yield from self.kept
        for batch in batches_of(self.data):
            unpacked = self._unpacked(batch)
            if isinstance(self.data, Iterator):
                self.kept.append(unpacked)
            yield unpacked

    def _unpacked(self, batch: Any) -> Batch:
        x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
        if not self.labelled:
            return x, None, _arrays(weight)
        if y is None:
            raise ValueError(
                f"{self.what} needs targets. Received: batches of inputs only."
            )
        check_is_batch(y)
        return x, _arrays(y), _arrays(weight)

    def _as_arrays(self, data: Any) -> Batch | None:
        """Arrays as a batch of everything, or `None` for a data set."""
        if isinstance(data, tuple) or (
            self.labelled and isinstance(data, list)
        ):
            x, y, weight = keras.utils.unpack_x_y_sample_weight(tuple(data))
        elif is_data(data):
            x, y, weight = data, None, None
        else:
            return None
        if not self.labelled:
            y = None
        elif y is None:
            raise ValueError(
                f"{self.what} must be one tuple, `(x, y)` or "
                "`(x, y, sample_weight)`, or a data set of these. "
                "Received: inputs without targets; what follows them as an "
                "argument of its own is taken for OOD data."
            )
        arrays = _arrays(x), _arrays(y), _arrays(weight)
        self._check_lengths(arrays)
        return arrays

    def _check_lengths(self, arrays: Any) -> None:
        sizes = [
            len(leaf) for leaf in keras.tree.flatten(arrays) if leaf is not None
        ]
        if len(set(sizes)) > 1:
            hint = "" if self.labelled else " Give several sets by name."
            raise ValueError(
                f"The arrays of {self.what} must have the same number of "
                f"samples each. Received: {sizes} samples.{hint}"
            )
        if not sizes or sizes[0] == 0:
            raise ValueError(f"There are no samples in {self.what}.")


def _arrays(part: Any) -> Any:
    if part is None:
        return None
    # A plain list of labels is one array, not a structure of numbers.
    if not is_data(part):
        part = np.asarray(part)
    return keras.tree.map_structure(
        lambda leaf: leaf if keras.ops.is_tensor(leaf) else as_array(leaf), part
    )


def _slices(arrays: Batch, batch_size: int) -> Iterator[Batch]:
    for start in range(0, _size(arrays), batch_size):
        x, y, weight = (
            rows_of(part, slice(start, start + batch_size)) for part in arrays
        )
        yield x, y, weight


def _size(arrays: Batch) -> int:
    return len(keras.tree.flatten(arrays[0])[0])


def _check_data_set(data: Any, what: str) -> None:
    is_data_set = isinstance(data, keras.utils.PyDataset) or (
        isinstance(data, Iterable) and not isinstance(data, (str, bytes))
    )
    if not is_data_set:
        raise ValueError(
            f"{what} must be arrays, or a data set of batches. "
            f"Received: an object of type {type(data).__name__}."
        )
    if is_endless(data):
        raise ValueError(
            f"{what} must end. Received: a data set without end; limit it, "
            "as with `.take(num_batches)`."
        )
