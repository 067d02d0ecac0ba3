from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.priors.losses import check_from_logits
from keras_zigzag.priors.prior import (
    Prior,
    Tensor,
    first,
    given_or_open,
    only,
    require_feedback,
    require_finite,
)
from keras_zigzag.priors.value_prior import check_value_shape


@keras.saving.register_keras_serializable(package="keras_zigzag")
class BinaryPrior(Prior):
    """Prior of one or several independent yes-or-no labels.

    One channel per label, 0 or 1. The presence channel is what tells "no"
    from "nothing known", so leave it on.

    Args:
        num_labels: Integer. Number of labels. Defaults to the last dimension
            of the output of the base model.
        feedback: `"hard"` (the label that the first pass chooses) or
            `"soft"` (its probability). Defaults to `"hard"`.
        from_logits: Boolean. Whether the base model's outputs are logits
            rather than probabilities. Defaults to `None`: as the activation
            says that they end in; where it is not known, probabilities.
        presence: Boolean. Whether one more channel says if an answer is
            given. Defaults to `True`.
        blank: Float. Value of the channels where none is given. Defaults to
            `0.0`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Targets: labels 0 and 1 of shape `(batch_size, ..., num_labels)`; with
    one label also `(batch_size, ...)`.

    Raises:
        ValueError: If `feedback` is not one of the two.

    Example:

    >>> prior = keras_zigzag.priors.BinaryPrior(num_labels=2)
    >>> prior.build((None, 2))
    >>> prior.encode_targets([[0, 1]])
    [[0., 1., 1.]]
    """

    counted = "label"

    def __init__(
        self,
        num_labels: int | None = None,
        feedback: str = "hard",
        from_logits: bool | None = None,
        presence: bool = True,
        blank: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(
            num_outputs=num_labels, presence=presence, blank=blank, **kwargs
        )
        self.feedback = require_feedback(feedback)
        self.from_logits = given_or_open(from_logits)

    @property
    def num_labels(self) -> int:
        return self.num_outputs

    def target_values(self, targets: Tensor) -> Tensor:
        targets = ops.cast(ops.convert_to_tensor(targets), "float32")
        return self._with_channel_axis(targets)

    def feedback_values(self, prediction: Tensor) -> Tensor:
        answer = self.answer(prediction)
        if self.feedback == "soft":
            return answer
        return ops.cast(ops.greater(answer, 0.5), "float32")

    def answer(self, prediction: Tensor) -> Tensor:
        prediction = self._with_channel_axis(ops.cast(prediction, "float32"))
        return ops.sigmoid(prediction) if self.from_logits else prediction

    def probabilities(self, prediction: Tensor) -> Tensor:
        yes = self.answer(prediction)
        return ops.concatenate([yes, 1.0 - yes], axis=-1)

    def check_probabilities(self) -> None:
        """Raises nothing: the answer is a distribution."""

    def check_loss(self, loss: Any) -> None:
        check_from_logits(only(loss), self.from_logits, "sigmoid")

    def check_values(
        self, targets: np.ndarray, ignored: int | None = None
    ) -> None:
        require_finite(targets)
        check_value_shape(self, targets.shape)
        outside = (targets < 0) | (targets > 1)
        if outside.any():
            raise ValueError(
                "Binary labels must be 0 or 1. "
                f"Received: y with the label {first(outside, targets)}. "
                "For labels of more than two classes use "
                "`task='classification'`."
            )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update(
            {
                "num_labels": self.num_labels,
                "feedback": self.feedback,
                "from_logits": self.from_logits,
            }
        )
        return config
