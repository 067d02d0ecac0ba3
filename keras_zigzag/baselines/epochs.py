"""How many epochs a model has seen, over all calls of `fit`."""

from typing import Any

import keras


class EpochCounter(keras.callbacks.Callback):
    """Writes the number of the epoch into a variable before it starts.

    It goes on where the last `fit` stopped, or at `initial_epoch` if that is
    later.

    Args:
        variable: Keras variable, −1 before the first epoch.
    """

    def __init__(self, variable: Any):
        super().__init__()
        self.variable = variable

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        last = int(keras.ops.convert_to_numpy(self.variable))
        self.variable.assign(float(max(epoch, last + 1)))
