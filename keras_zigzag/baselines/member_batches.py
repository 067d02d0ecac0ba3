"""The data of an ensemble whose members see it in different orders."""

from typing import Any, NamedTuple

import keras
import numpy as np

from keras_zigzag.batches import rows_of
from keras_zigzag.checks import as_array, check_same_size, is_data


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


def in_orders(
    x: Any,
    y: Any,
    options: dict[str, Any],
    generators: list[np.random.Generator],
    kind: type[MemberBatches],
) -> tuple[Any, Any, dict[str, Any]]:
    """What `fit` is given, with arrays as a data set.

    Args:
        x: Inputs, or a data set, which stays as it is.
        y: Targets, or `None`.
        options: Further arguments of `fit`.
        generators: List of `np.random.Generator`, one for each member.
        kind: Class of the data set.

    Returns:
        Inputs, targets and arguments for `fit`.
    """
    if y is None or not is_data(x) or not options.get("shuffle", True):
        return x, y, options
    options = dict(options)
    weight = options.pop("sample_weight", None)
    classes = options.pop("class_weight", None)
    split = options.pop("validation_split", 0.0)
    if classes is not None:
        if weight is not None:
            raise ValueError(
                "Give `sample_weight` or `class_weight`. Received: both."
            )
        weight = _weights_of_classes(y, classes)
    check_same_size(x=x, y=y, sample_weight=weight)
    data = (x, y, weight)
    if split and options.get("validation_data") is None:
        size = len(keras.tree.flatten(x)[0])
        first = int(size * (1.0 - split))
        options["validation_data"] = rows_of(data, slice(first, None))
        data = rows_of(data, slice(first))
    batch_size = options.pop("batch_size", None) or 32
    options["shuffle"] = False
    return kind(data, batch_size, generators), None, options


def _weights_of_classes(y: Any, weights: dict[int, float]) -> np.ndarray:
    labels = np.asarray(y)
    if labels.ndim > 1:
        is_one_hot = labels.shape[-1] > 1
        labels = labels.argmax(-1) if is_one_hot else labels[..., 0]
    return np.vectorize(lambda label: float(weights.get(int(label), 1.0)))(
        labels
    )
