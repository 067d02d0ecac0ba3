"""The data of an ensemble whose members see it in different orders."""

from typing import Any, NamedTuple

import keras
import numpy as np

from keras_zigzag.checks import as_array


class MemberInputs(NamedTuple):
    """One batch for each member; targets and weights are tuples likewise."""

    members: tuple


class MemberOutputs(NamedTuple):
    """The outputs of each member on its own batch."""

    members: tuple


class MemberBatches(keras.utils.PyDataset):
    """Gives each member the samples in an order of its own.

    Args:
        data: Tuple of inputs, targets and sample weights, or `None` for
            these, each a structure of arrays.
        batch_size: Integer.
        generators: List of `np.random.Generator`, one for each member.
    """

    def __init__(self, data: tuple, batch_size: int, generators: list[Any]):
        super().__init__()
        self.data = keras.tree.map_structure(
            lambda leaf: None if leaf is None else as_array(leaf), data
        )
        self.batch_size = batch_size
        self.generators = generators
        leaves = keras.tree.flatten(self.data[0])
        self.size = len(next(leaf for leaf in leaves if leaf is not None))
        self.orders = self._drawn()
        self._is_read = False

    @property
    def num_batches(self) -> int:
        return -(-self.size // self.batch_size)

    def __getitem__(self, index: int) -> tuple:
        self._is_read = self._is_read or index == self.num_batches - 1
        start = index * self.batch_size
        batches = [
            self._taken(order[start : start + self.batch_size])
            for order in self.orders
        ]
        x, y, weight = map(tuple, zip(*batches, strict=True))
        if all(one is None for one in weight):
            return MemberInputs(x), y
        return MemberInputs(x), y, weight

    def on_epoch_end(self) -> None:
        # Keras also calls this where it has only looked at the first batch.
        if self._is_read:
            self.orders = self._drawn()
        self._is_read = False

    def _drawn(self) -> list[np.ndarray]:
        return [each.permutation(self.size) for each in self.generators]

    def _taken(self, rows: np.ndarray) -> tuple:
        return keras.tree.map_structure(
            lambda leaf: None if leaf is None else leaf[rows], self.data
        )


class OneMemberBatches(MemberBatches):
    """The batches of an ensemble of one, as an ordinary model takes them."""

    def __getitem__(self, index: int) -> tuple:
        x, *rest = super().__getitem__(index)
        return (x.members[0], *(one[0] for one in rest))
