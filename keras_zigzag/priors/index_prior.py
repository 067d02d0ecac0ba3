from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.priors.one_hot_prior import OneHotPrior
from keras_zigzag.priors.prior import Tensor, only


@keras.saving.register_keras_serializable(package="keras_zigzag")
class IndexPrior(OneHotPrior):
    """Prior of a classification: one channel with the number of the class.

    The encoding of the authors' notebooks, to reproduce them. Their MNIST
    notebook writes the index against a blank of -20, which is the default
    here; their CIFAR-10 notebook writes `(index + 1) / 10` against 0, which
    is `IndexPrior(blank=0.0, scale=0.1, offset=1.0)`, by name
    `"scaled_index"`. Neighbouring numbers are not neighbouring classes, so
    `OneHotPrior` is the better choice for anything else.

    Reference: the notebooks that accompany
    [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML).

    Args:
        num_classes: Integer. Number of classes. Defaults to the last
            dimension of the output of the base model.
        blank: Float. Value of the channel where no answer is given.
            Defaults to `-20.0`.
        scale: Float. The channel is `(index + offset) * scale`. Defaults to
            `1.0`.
        offset: Float. See `scale`. Defaults to `0.0`.
        feedback: `"hard"`, or `"soft"` for the expected index. Defaults to
            `"hard"`.
        from_logits: Boolean. Whether the base model's outputs are logits.
            Defaults to `None`: as the activation says that they end in.
        presence: Boolean. Whether one more channel says if an answer is
            given. Defaults to `False`, since the blank is a value that no
            answer has.
        **kwargs: Arguments of `keras.layers.Layer`.

    Example:

    >>> prior = keras_zigzag.priors.IndexPrior(num_classes=3)
    >>> prior.build((None, 3))
    >>> prior.encode_targets([2])
    [[2.]]
    >>> prior.encode_blank(1)
    [[-20.]]
    """

    def __init__(
        self,
        num_classes: int | None = None,
        blank: float = -20.0,
        scale: float = 1.0,
        offset: float = 0.0,
        feedback: str = "hard",
        from_logits: bool | None = None,
        presence: bool = False,
        **kwargs: Any,
    ):
        super().__init__(
            num_classes=num_classes,
            feedback=feedback,
            from_logits=from_logits,
            presence=presence,
            blank=blank,
            **kwargs,
        )
        self.scale = float(scale)
        self.offset = float(offset)

    @property
    def num_values(self) -> int:
        return 1

    def encode_targets(self, targets: Tensor) -> Tensor:
        one_hot = self.one_hot(only(targets))
        return self._with_presence(self._index(one_hot), self.is_given(one_hot))

    def feedback_values(self, prediction: Tensor) -> Tensor:
        return self._index(super().feedback_values(prediction))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update({"scale": self.scale, "offset": self.offset})
        return config

    def _index(self, weights: Tensor) -> Tensor:
        indices = ops.convert_to_tensor(
            np.arange(self.num_classes, dtype="float32")
        )
        index = ops.sum(weights * indices, axis=-1, keepdims=True)
        return (index + self.offset) * self.scale
