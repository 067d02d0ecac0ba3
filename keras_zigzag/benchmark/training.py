"""Training that can stop at any moment, and goes on as if it had not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import keras

import keras_zigzag as kz
from keras_zigzag.baselines.member_batches import (
    OneMemberBatches,
    OrderOfEpoch,
    in_orders,
)
from keras_zigzag.benchmark.protocol import Training
from keras_zigzag.epoch_backup import EpochBackup


def train(
    model: keras.Model,
    data: Any,
    training: Training,
    seed: int,
    backup: EpochBackup,
    on_epoch: Callable[[int], None] = lambda epoch: None,
) -> float:
    """Trains a compiled model, from where a backup ends.

    The order of the samples depends on the seed and the epoch alone, so that
    it does not matter whether one process ran all epochs.

    Args:
        model: Compiled model.
        data: `(x, y)`, or a data set, which is taken as it comes; one with a
            method `begin_epoch` is told which epoch it is.
        training: `Training`.
        seed: Integer.
        backup: `EpochBackup`.
        on_epoch: Function that is told how many epochs are done.

    Returns:
        Float. The seconds that all epochs took, of all processes together.
    """
    epoch, seconds = backup.restore(model)
    on_epoch(epoch)
    watch = _Epochs(training, backup, seconds, on_epoch)
    # An ensemble draws the orders of its members when it is given arrays.
    keras.utils.set_random_seed(seed)
    x, y, options = _in_order(model, data, training.batch_size, seed)
    options["callbacks"] = [*options.get("callbacks", []), watch]
    if epoch < training.epochs:
        model.fit(
            x,
            y,
            initial_epoch=epoch,
            epochs=training.epochs,
            verbose=0,
            **options,
        )
    return watch.seconds


def to_first_epoch(data: Any) -> None:
    """Puts a data set into its first order, wherever it has come to.

    What is done before and after the training depends on the order as well,
    and must not on which epochs this process has run.
    """
    if hasattr(data, "begin_epoch"):
        data.begin_epoch(0)


class _Epochs(keras.callbacks.Callback):
    """Learning rate before, and backup after each epoch."""

    def __init__(
        self,
        training: Training,
        backup: EpochBackup,
        seconds: float,
        on_epoch: Callable[[int], None],
    ):
        super().__init__()
        self.training = training
        self.backup = backup
        self.seconds = seconds
        self.on_epoch = on_epoch

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        rates = self.training.learning_rates
        if rates is not None:
            self.model.optimizer.learning_rate = rates[epoch]
        self._start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seconds += time.perf_counter() - self._start
        self.backup.save(self.model, epoch + 1, self.seconds)
        self.on_epoch(epoch + 1)


def _in_order(
    model: keras.Model, data: Any, batch_size: int, seed: int
) -> tuple[Any, Any, dict[str, Any]]:
    """Inputs, targets and arguments for `fit`."""
    if not isinstance(data, tuple):
        has_orders = hasattr(data, "begin_epoch")
        callbacks = [OrderOfEpoch(data)] if has_orders else []
        # Keras would shuffle the batches of a `PyDataset`.
        return data, None, {"callbacks": callbacks, "shuffle": False}
    x, y = data
    options = {"batch_size": batch_size}
    if isinstance(model, kz.baselines.DeepEnsemble):
        return x, y, options
    return in_orders(model, x, y, options, [[seed]], OneMemberBatches)
