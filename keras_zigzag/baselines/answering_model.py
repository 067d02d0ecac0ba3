from typing import Any

from keras_zigzag.baselines.answers import Answers, prediction_of
from keras_zigzag.batches import LossInputs
from keras_zigzag.mask_taker import MaskTaker
from keras_zigzag.uncertainty_model import UncertaintyModel

Tensor = Any


class AnsweringModel(UncertaintyModel):
    """A method whose `answers` know what its outputs mean; abstract.

    A subclass implements `call_loss` and `estimate`. A loss sees all that
    `call_loss` returns, with the variances of values where they are
    predicted; metrics see the prediction.

    Args:
        **kwargs: Arguments of `keras.Model`.
    """

    answers: Answers
    loss_weights: Any = None

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.take_masks = MaskTaker()

    def use_answers(self, answers: Answers) -> None:
        """Sets what the outputs mean, and by which names Keras calls them."""
        self.answers = answers
        if not isinstance(answers.output, dict):
            self.output_names = answers.output_names

    def call_prediction(self, inputs: Any, training: bool | None = None) -> Any:
        return prediction_of(self.call_loss(inputs, training))

    def training_batch(
        self, x: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        return LossInputs(x), y, sample_weight

    def test_batch(
        self, x: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        return LossInputs(x), y, sample_weight

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        outputs = self.answers.for_loss(y_pred)
        return super().compute_loss(x, y, outputs, sample_weight, training)

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        return super().compute_metrics(
            x, y, prediction_of(y_pred), sample_weight
        )

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        self.check_loss(loss)
        loss = self.answers.with_own_loss(loss)
        self.loss_weights = args[0] if args else kwargs.get("loss_weights")
        super().compile(optimizer, loss, *args, **kwargs)

    def check_targets(self, targets: Any) -> None:
        self.answers.check_targets(
            targets, self.loss if self.compiled else None
        )

    @property
    def has_own_loss(self) -> bool:
        """Whether `compile` needs no loss, for none of the outputs."""
        losses = self.answers.flat_loss(self.answers.with_own_loss(None))
        return all(one is not None for one in losses)

    def check_loss(self, loss: Any) -> None:
        if loss is not None:
            self.answers.check_loss(loss)
