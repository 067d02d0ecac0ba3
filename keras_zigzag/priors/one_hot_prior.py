from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.priors.losses import (
    check_from_logits,
    check_labels_of,
    ignored_class,
)
from keras_zigzag.priors.prior import (
    Prior,
    Shape,
    Tensor,
    first,
    fits,
    given_or_open,
    only,
    require_feedback,
    require_finite,
    written,
)

NO_CLASS = -1
# Between what rounding or smoothing makes of one label, and two of them.
MANY_LABELS = 1.5


@keras.saving.register_keras_serializable(package="keras_zigzag")
class OneHotPrior(Prior):
    """Prior of a classification: one channel per class.

    In training the channels are the one-hot label. In the second pass they
    are the one-hot of the class that the first pass chooses
    (`feedback="hard"`, as the reference implementation does) or its
    probabilities (`feedback="soft"`, as the formula in the paper reads).

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    section 3.2.

    Args:
        num_classes: Integer. Number of classes. Defaults to the last
            dimension of the output of the base model.
        feedback: `"hard"` or `"soft"`. Defaults to `"hard"`.
        from_logits: Boolean. Whether the base model's outputs are logits
            rather than probabilities. Defaults to `None`: as the activation
            says that they end in; where it is not known, probabilities.
        presence: Boolean. Whether one more channel says if an answer is
            given. Defaults to `True`.
        blank: Float. Value of the channels where none is given. Defaults to
            `0.0`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Targets: integer labels of shape `(batch_size, ...)` or
    `(batch_size, ..., 1)`, or one-hot labels (or probabilities) of shape
    `(batch_size, ..., num_classes)`.

    Raises:
        ValueError: If `feedback` is not one of the two.

    Example:

    >>> prior = keras_zigzag.priors.OneHotPrior(num_classes=3)
    >>> prior.build((None, 3))
    >>> prior.encode_targets([2])
    [[0., 0., 1., 1.]]
    """

    counted = "class"

    def __init__(
        self,
        num_classes: int | None = None,
        feedback: str = "hard",
        from_logits: bool | None = None,
        presence: bool = True,
        blank: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(
            num_outputs=num_classes, presence=presence, blank=blank, **kwargs
        )
        self.feedback = require_feedback(feedback)
        self.from_logits = given_or_open(from_logits)

    def build(self, output_shape: Shape) -> None:
        if output_shape[-1] is None or output_shape[-1] < 2:
            raise ValueError(
                "A classification needs an output with one channel per class, "
                f"two at least. Received: an output of shape {output_shape}. "
                "For one sigmoid output use `task='binary'`, for values "
                "'regression'; several outputs may have one task each, as in "
                "`task={'kind': 'classification', 'size': 'regression'}`."
            )
        super().build(output_shape)

    @property
    def num_classes(self) -> int:
        return self.num_outputs

    def target_values(self, targets: Tensor) -> Tensor:
        return self.one_hot(targets)

    def feedback_values(self, prediction: Tensor) -> Tensor:
        if self.feedback == "soft":
            return self.answer(prediction)
        return first_maximum(prediction, self.num_classes)

    def is_given(self, values: Tensor) -> Tensor:
        # A label that the loss ignores has no channel of its own.
        return ops.cast(
            ops.any(ops.not_equal(values, 0.0), axis=-1, keepdims=True),
            "float32",
        )

    def answer(self, prediction: Tensor) -> Tensor:
        prediction = ops.cast(prediction, "float32")
        return ops.softmax(prediction) if self.from_logits else prediction

    def probabilities(self, prediction: Tensor) -> Tensor:
        return self.answer(prediction)

    def without_ignored(self, targets: Any, loss: Any = None) -> Any:
        ignored = ignored_class(only(loss))
        if ignored is None:
            return targets
        labels = ops.convert_to_tensor(only(targets))
        if not self._is_sparse(labels.shape):
            return targets
        labels = ops.cast(labels, "int32")
        return ops.where(ops.equal(labels, ignored), NO_CLASS, labels)

    def one_hot(self, targets: Tensor) -> Tensor:
        """Labels of either kind to `(batch_size, ..., num_classes)`."""
        targets = ops.convert_to_tensor(targets)
        if not self._is_sparse(targets.shape):
            return ops.cast(targets, "float32")
        if len(targets.shape) == self.output_rank - 1:
            targets = ops.expand_dims(targets, -1)
        labels = ops.cast(targets, "int32")
        classes = ops.arange(self.num_classes, dtype="int32")
        return ops.cast(ops.equal(labels, classes), "float32")

    def check_probabilities(self) -> None:
        """Raises nothing: the answer is a distribution."""

    def check_loss(self, loss: Any) -> None:
        check_from_logits(only(loss), self.from_logits, "softmax")

    def check_targets(self, targets: Any, loss: Any = None) -> None:
        super().check_targets(targets, loss)
        shape = only(targets).shape
        check_labels_of(only(loss), self._is_sparse(shape), shape)

    def check_values(
        self, targets: np.ndarray, ignored: int | None = None
    ) -> None:
        require_finite(targets)
        self._check_shape(targets.shape)
        if self._is_sparse(targets.shape):
            self._check_labels(targets, ignored)
        else:
            self._check_weights(targets)

    def _check_labels(self, labels: np.ndarray, ignored: int | None) -> None:
        if ignored is not None:
            labels = labels[labels != ignored]
        fractional = labels % 1 != 0
        if fractional.any():
            raise ValueError(
                "Labels must be whole numbers. "
                f"Received: y with the label {first(fractional, labels)}. "
                "For values rather than classes use `task='regression'`."
            )
        outside = (labels < 0) | (labels >= self.num_classes)
        if outside.any():
            raise ValueError(
                f"Labels must lie in 0…{self.num_classes - 1}, since the base "
                f"model has {self.num_classes} outputs. "
                f"Received: y with the label {first(outside, labels)}. "
                "Renumber the labels or give the base model more outputs; "
                "for a label that stands for no class, give the loss "
                "`ignore_class`."
            )

    def _check_weights(self, one_hot: np.ndarray) -> None:
        outside = (one_hot < 0) | (one_hot > 1)
        if outside.any():
            raise ValueError(
                "One-hot labels must lie between 0 and 1. "
                f"Received: y of shape {one_hot.shape} with the entry "
                f"{first(outside, one_hot)}."
            )
        total = one_hot.sum(axis=-1, dtype="float64")
        several = total > MANY_LABELS
        if several.any():
            raise ValueError(
                "One-hot labels must have one class per sample or place, or "
                "probabilities that sum to 1. Received: y of shape "
                f"{one_hot.shape} with entries that sum to "
                f"{first(several, total):g}. For labels of which several may "
                "hold at once use `task='binary'`, on a base model that ends "
                "in a sigmoid or in logits."
            )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update(
            {
                "num_classes": self.num_classes,
                "feedback": self.feedback,
                "from_logits": self.from_logits,
            }
        )
        return config

    def _is_sparse(self, shape: Shape) -> bool:
        return len(shape) < self.output_rank or shape[-1] == 1

    def _check_shape(self, shape: Shape) -> None:
        known = self.spatial_shape
        spatial = shape[1 : 1 + len(known)]
        rest = shape[1 + len(known) :]
        if not fits(known, spatial) or rest not in (
            (),
            (1,),
            (self.num_classes,),
        ):
            raise ValueError(
                f"Targets must be labels of shape {written(known)} or one-hot "
                f"labels of shape {written((*known, self.num_classes))}. "
                f"Received: y of shape {tuple(shape)}."
            )


def first_maximum(scores: Tensor, num_classes: int) -> Tensor:
    """One-hot of the first largest score, `(..., num_classes)`.

    By comparison, since `ops.argmax` lowers to an operation on TensorFlow
    that the ONNX and OpenVINO converters refuse.
    """
    scores = ops.cast(scores, "float32")
    indices = ops.convert_to_tensor(np.arange(num_classes, dtype="float32"))
    largest = ops.max(scores, axis=-1, keepdims=True)
    candidates = ops.where(
        ops.greater_equal(scores, largest), indices, float(num_classes)
    )
    chosen = ops.min(candidates, axis=-1, keepdims=True)
    return ops.cast(ops.equal(indices, chosen), "float32")
