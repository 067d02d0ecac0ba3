from typing import Any

from keras_zigzag.baselines.answers import Answers, prediction_of
from keras_zigzag.batches import LossInputs
from keras_zigzag.uncertainty_model import UncertaintyModel


class AnsweringModel(UncertaintyModel):
    """A method whose `answers` know what its outputs mean; abstract.

    A loss sees all that `call_loss` returns, with the variances of values
    where they are predicted; metrics see the prediction.

    Args:
        **kwargs: Arguments of `keras.Model`.
    """

    answers: Answers

    def call_prediction(self, inputs: Any, training: bool | None = None) -> Any:
        return prediction_of(self.call_loss(inputs, training))

    def test_batch(
        self, x: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        return LossInputs(x), y, sample_weight

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        self.check_loss(loss)
        loss = self.answers.with_gaussian_loss(loss)
        super().compile(optimizer, loss, *args, **kwargs)

    def check_targets(self, targets: Any) -> None:
        self.answers.check_targets(
            targets, self.loss if self.compiled else None
        )

    def check_loss(self, loss: Any) -> None:
        if loss is not None:
            self.answers.check_loss(loss)
