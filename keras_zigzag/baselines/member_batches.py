"""The data of an ensemble whose members see it in different orders."""

from typing import Any, NamedTuple

import keras
import numpy as np

from keras_zigzag.batches import rows_of
from keras_zigzag.callback_order import with_first
from keras_zigzag.checks import (
    as_array,
    check_same_size,
    is_array,
    is_data,
    is_scalar,
)


class MemberInputs(NamedTuple):
    """One batch for each member; targets and weights are tuples likewise."""

    members: tuple


class MemberOutputs(NamedTuple):
    """The outputs of each member on its own batch."""

    members: tuple


class MemberBatches(keras.utils.PyDataset):
    """Gives each member the samples in an order of its own.

    The order depends on the seed and the epoch alone: training that goes on
    in another process goes on in the same orders. `OrderOfEpoch` tells which
    epoch it is, since Keras also reads batches in advance.

    Args:
        data: Tuple of inputs, targets and sample weights, or `None` for
            these, each a structure of arrays.
        batch_size: Integer.
        seeds: List of lists of integers, a seed for each member.
    """

    def __init__(self, data: tuple, batch_size: int, seeds: list[list[int]]):
        super().__init__()
        # TensorFlow takes a list for one tensor, as Keras does not.
        self.data = keras.tree.map_structure(
            lambda leaf: None if leaf is None else as_array(leaf),
            keras.tree.lists_to_tuples(data),
        )
        self.batch_size = batch_size
        self.seeds = seeds
        leaves = keras.tree.flatten(self.data[0])
        self.size = len(next(leaf for leaf in leaves if leaf is not None))
        self.begin_epoch(0)

    @property
    def num_batches(self) -> int:
        return -(-self.size // self.batch_size)

    def __getitem__(self, index: int) -> tuple:
        start = index * self.batch_size
        batches = [
            self._taken(order[start : start + self.batch_size])
            for order in self.orders
        ]
        x, y, weight = map(tuple, zip(*batches, strict=True))
        if all(one is None for one in weight):
            return MemberInputs(x), y
        return MemberInputs(x), y, weight

    def begin_epoch(self, epoch: int) -> None:
        """Puts the samples into the orders of an epoch."""
        self.orders = [
            np.random.default_rng([*seed, epoch]).permutation(self.size)
            for seed in self.seeds
        ]

    def _taken(self, rows: np.ndarray) -> tuple:
        return keras.tree.map_structure(
            lambda leaf: None if leaf is None else leaf[rows], self.data
        )


class OneMemberBatches(MemberBatches):
    """The batches of an ensemble of one, as an ordinary model takes them."""

    def __getitem__(self, index: int) -> tuple:
        x, *rest = super().__getitem__(index)
        return (x.members[0], *(one[0] for one in rest))


class OrderOfEpoch(keras.callbacks.Callback):
    """Tells batches which epoch begins.

    Args:
        batches: `MemberBatches`.
    """

    def __init__(self, batches: MemberBatches):
        super().__init__()
        self.batches = batches

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.batches.begin_epoch(epoch)


class OrderOverCalls(OrderOfEpoch):
    """Counts the epochs in `num_epochs` of the model, over calls of `fit`.

    They go on from `initial_epoch` if that is later.

    Args:
        batches: `MemberBatches`.
    """

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = max(epoch, self.model.num_epochs)
        super().on_epoch_begin(self._epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        # One that stopped before its end begins again.
        self.model.num_epochs = self._epoch + 1


def in_orders(
    model: keras.Model,
    x: Any,
    y: Any,
    options: dict[str, Any],
    seeds: list[list[int]],
    kind: type[MemberBatches],
    order: type[OrderOfEpoch] = OrderOfEpoch,
) -> tuple[Any, Any, dict[str, Any]]:
    """What `fit` is given, with arrays as a data set.

    Args:
        model: The model that is to be trained.
        x: Inputs, or a data set, which stays as it is.
        y: Targets, or `None`.
        options: Further arguments of `fit`.
        seeds: List of lists of integers, a seed for each member.
        kind: Class of the data set.
        order: Class of the callback that tells it the epoch. Defaults to
            `OrderOfEpoch`.

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
        _check_one_output(y)
    y, weight = _as_written_out(y), _as_written_out(weight)
    check_same_size(x=x, y=y, sample_weight=weight)
    data = (x, y, weight)
    if split and options.get("validation_data") is None:
        size = len(keras.tree.flatten(x)[0])
        first = int(size * (1.0 - split))
        options["validation_data"] = rows_of(data, slice(first, None))
        data = rows_of(data, slice(first))
    if classes is not None:
        # They are for training alone.
        data = (*data[:2], _weights_of_classes(data[1], classes))
    batch_size = options.pop("batch_size", None) or 32
    options["shuffle"] = False
    batches = kind(data, batch_size, seeds)
    options["callbacks"] = with_first(
        options.get("callbacks"), order(batches), model
    )
    return batches, None, options


def _as_written_out(part: Any) -> Any:
    """An array for a list of numbers; anything else as it is."""
    leaves = keras.tree.flatten(part)
    return as_array(part) if all(map(is_scalar, leaves)) else part


def _check_one_output(y: Any) -> None:
    outputs = [leaf for leaf in keras.tree.flatten(y) if is_array(leaf)]
    if len(outputs) > 1:
        raise ValueError(
            "`class_weight` is for one output. Received: targets of "
            f"{len(outputs)} outputs. Give `sample_weight`, with one array "
            "for each of them."
        )


def _weights_of_classes(y: Any, weights: dict[int, float]) -> np.ndarray:
    outputs = [leaf for leaf in keras.tree.flatten(y) if is_array(leaf)]
    labels = np.asarray(outputs[0] if outputs else y)
    if labels.ndim > 1:
        is_one_hot = labels.shape[-1] > 1
        labels = labels.argmax(-1) if is_one_hot else labels[..., 0]
    return np.vectorize(lambda label: float(weights.get(int(label), 1.0)))(
        labels
    )
