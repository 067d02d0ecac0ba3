"""Batches that are read one after the other, in an order of each epoch."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import keras


class EpochBatches(keras.utils.PyDataset):
    """Batches of a data set that is made anew for each epoch.

    A `tf.data.Dataset` that shuffles counts how often it was gone through,
    which training that goes on in another process cannot take up. Here the
    order of an epoch is that of the data set made for it, if a callback calls
    `begin_epoch`.

    Args:
        make: Function of an epoch that returns a `tf.data.Dataset` of as many
            batches in each epoch.

    Example:

    ```python
    batches = EpochBatches(lambda epoch: data.shuffle(1000, epoch).batch(32))
    model.fit(batches, shuffle=False)
    ```
    """

    _batches: Iterator[Any]
    _next: int

    def __init__(self, make: Callable[[int], Any]):
        super().__init__()
        self.make = make
        self._length = int(make(0).cardinality())
        self.begin_epoch(0)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        # Keras looks at the first ones before it takes all in turn.
        if index != self._next:
            self._batches = self._read_from(index)
        self._next = index + 1
        return next(self._batches)

    def begin_epoch(self, epoch: int) -> None:
        """Puts the samples into the order of an epoch."""
        self._epoch = epoch
        self._batches = iter(())
        self._next = -1

    def on_epoch_end(self) -> None:
        self.begin_epoch(self._epoch + 1)

    def _read_from(self, index: int) -> Iterator[Any]:
        batches = self.make(self._epoch).as_numpy_iterator()
        return itertools.islice(batches, index, None)
