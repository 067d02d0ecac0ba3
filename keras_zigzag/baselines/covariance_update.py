import keras

from keras_zigzag.callback_order import move_to_front


class CovarianceUpdate(keras.callbacks.Callback):
    """Keeps the covariance of an `SNGP` that is being trained up to date.

    It starts anew with each epoch and is inverted when the epoch ends, before
    the validation and before other callbacks look at the model.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_outdated = False

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        move_to_front(self)
        self.model.reset_covariance()
        self._is_outdated = True

    def on_test_begin(self, logs: dict | None = None) -> None:
        self._update()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self._update()

    def _update(self) -> None:
        if self._is_outdated:
            self.model.update_covariance()
        self._is_outdated = False
