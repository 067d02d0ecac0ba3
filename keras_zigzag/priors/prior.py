from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.checks import is_scalar
from keras_zigzag.fixed_options import FixedOptions
from keras_zigzag.priors.losses import ignored_class

Tensor = Any
Shape = tuple[int | None, ...]


class Prior(FixedOptions, keras.layers.Layer):
    """What turns targets and predictions into the second argument.

    A widened network takes `(inputs, prior)`. In training the prior is blank
    or made from the targets, at inference it is blank or made from the
    network's own first answer. A `Prior` holds the three encodings, so that
    they cannot disagree, and says how many channels they take.

    A subclass implements `target_values`, `feedback_values`, `answer` and
    `check_values`; the presence channel, the blank and dense maps are done
    here. `counted` is what it has one output of the base model for.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    section 3.

    Args:
        num_outputs: Integer. Number of values the base model answers with.
            Defaults to `None`: the last dimension of its output.
        presence: Boolean. Whether one more channel says if an answer is
            given (1) or not (0). Without it a blank of zeros and a true
            answer of zero are the same thing. Defaults to `True`.
        blank: Float. Value of every other channel where no answer is given.
            Defaults to `0.0`.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    counted = "value"
    how_to_change = "Give a new prior to the model that is made with it."

    def __init__(
        self,
        num_outputs: int | None = None,
        presence: bool = True,
        blank: float = 0.0,
        **kwargs: Any,
    ):
        # An encoding is an input of the network, not a computation in it.
        kwargs.setdefault("dtype", "float32")
        kwargs.setdefault("trainable", False)
        super().__init__(**kwargs)
        self.num_outputs: Any = num_outputs
        self.presence = bool(presence)
        self.blank = float(blank)

    def build(self, output_shape: Shape) -> None:
        """Takes what it needs to know from the output of the base model.

        Args:
            output_shape: Tuple. `(batch_size, num_values)`, `(batch_size,)`,
                or `(batch_size, ..., num_values)` for dense targets.
        """
        size = 1 if len(output_shape) == 1 else output_shape[-1]
        if self.num_outputs not in (None, size):
            raise ValueError(
                f"The base model must have one output per {self.counted}. "
                f"Received: a prior of {self.num_outputs} and an output of "
                f"shape {tuple(output_shape)}."
            )
        self.num_outputs = size
        self.spatial_shape = tuple(output_shape[1:-1])
        self.output_rank = max(len(output_shape), 2)
        self.built = True

    def fit_to(self, output_shape: Shape) -> None:
        """Builds the prior, or checks that it was built for such outputs.

        Args:
            output_shape: As for `build`.

        Raises:
            ValueError: If the prior was built for outputs of another shape.
        """
        if not self.built:
            self.build(output_shape)
            return
        size = 1 if len(output_shape) == 1 else output_shape[-1]
        spatial_shape = tuple(output_shape[1:-1])
        if size != self.num_outputs or not fits(
            self.spatial_shape, spatial_shape
        ):
            known = (None, *self.spatial_shape, self.num_outputs)
            raise ValueError(
                "The prior was built or adapted for other outputs. "
                f"Received: a `{type(self).__name__}` for the shape {known} "
                f"and a base model with the output {tuple(output_shape)}. "
                "Make a new prior, and adapt it through `model.adapt(y)`."
            )
        self.spatial_shape = spatial_shape

    @property
    def num_values(self) -> int:
        """Number of channels without the presence channel."""
        return int(self.num_outputs)

    @property
    def num_channels(self) -> int:
        """Number of channels the widened layer takes more than the base's."""
        return self.num_values + int(self.presence)

    @property
    def is_ready(self) -> bool:
        """Whether the encodings can be used; see `ValuePrior.adapt`."""
        return True

    def encode_targets(self, targets: Tensor) -> Tensor:
        """Prior of the training targets.

        Args:
            targets: Tensor as the loss takes it.

        Returns:
            Tensor of shape `(batch_size, ..., num_channels)`.
        """
        values = self.target_values(only(targets))
        return self._with_presence(values, self.is_given(values))

    def without_ignored(self, targets: Any, loss: Any = None) -> Any:
        """Targets without the labels that the loss leaves out.

        Args:
            targets: Tensor as the loss takes it.
            loss: The loss of the model. Defaults to `None`.

        Returns:
            Targets that `encode_targets` takes, blank at these labels.
        """
        return targets

    def encode_prediction(self, prediction: Tensor) -> Tensor:
        """Prior of the network's own answer, for the next pass.

        Args:
            prediction: Tensor, the output of the network.

        Returns:
            Tensor of shape `(batch_size, ..., num_channels)`.
        """
        values = self.feedback_values(prediction)
        return self._with_presence(values, ops.ones_like(values[..., :1]))

    def encode_blank(self, batch_size: int | Tensor) -> Tensor:
        """Prior that says that nothing is known.

        Returns:
            Tensor of shape `(batch_size, ..., num_channels)`. Dimensions that
            the base model leaves open are 1, which broadcasts.
        """
        spatial = tuple(size or 1 for size in self.spatial_shape)
        shape = (batch_size, *spatial, self.num_channels)
        return ops.broadcast_to(self._blank_channels(), shape)

    def call(self, prediction: Tensor) -> Tensor:
        return self.encode_prediction(prediction)

    def target_values(self, targets: Tensor) -> Tensor:
        """Targets to channels, without the presence channel."""
        raise NotImplementedError

    def feedback_values(self, prediction: Tensor) -> Tensor:
        """Prediction to channels, without the presence channel."""
        raise NotImplementedError

    def is_given(self, values: Tensor) -> Tensor:
        """1 where the targets hold an answer, `(batch_size, ..., 1)`."""
        return ops.ones_like(values[..., :1])

    def answer(self, prediction: Tensor) -> Tensor:
        """What a distance compares: `(batch_size, ..., num_outputs)`."""
        raise NotImplementedError

    def probabilities(self, prediction: Tensor) -> Tensor:
        """Probabilities of all outcomes, for the divergences."""
        raise NotImplementedError

    def check_probabilities(self) -> None:
        """Raises a `ValueError` if the answer is not a distribution."""
        raise ValueError(
            "This distance compares two distributions, and the answers of a "
            f"`{type(self).__name__}` are none. Use one of 'norm', 'l1', "
            "'mean_absolute' or 'max_signed', or a function of your own."
        )

    def check_targets(self, targets: Any, loss: Any = None) -> None:
        """Raises a `ValueError` if these cannot be the targets.

        Args:
            targets: Array, or the one array in a list or dictionary.
            loss: The loss of the model. Defaults to `None`.
        """
        self.check_values(only(targets), ignored_class(only(loss)))

    def check_values(
        self, targets: np.ndarray, ignored: int | None = None
    ) -> None:
        """Raises a `ValueError` if this array cannot hold targets.

        Args:
            targets: Array.
            ignored: Integer. The label that stands for none. Defaults to
                `None`.
        """
        raise NotImplementedError

    def check_loss(self, loss: Any) -> None:
        """Raises a `ValueError` if the loss contradicts the output."""

    def compute_output_shape(self, output_shape: Shape) -> Shape:
        return (output_shape[0], *output_shape[1:-1], self.num_channels)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update({"presence": self.presence, "blank": self.blank})
        return config

    def _with_presence(self, values: Tensor, given: Tensor) -> Tensor:
        values = ops.cast(values, "float32")
        given = ops.cast(given, "float32")
        # Where the targets hold no answer, every channel must say so.
        values = ops.where(ops.equal(given, 0.0), self.blank, values)
        if not self.presence:
            return values
        return ops.concatenate([values, given], axis=-1)

    def _blank_channels(self) -> Tensor:
        channels = [self.blank] * self.num_values + [0.0] * self.presence
        return ops.convert_to_tensor(np.array(channels, "float32"))

    def _with_channel_axis(self, tensor: Tensor) -> Tensor:
        """`(batch_size, ...)` to `(batch_size, ..., 1)` where it is missing."""
        if len(tensor.shape) == self.output_rank - 1:
            return ops.expand_dims(tensor, -1)
        return tensor


def only(structure: Any) -> Any:
    """The one entry of a list or a dictionary; anything else as it is."""
    entries = keras.tree.flatten(structure)
    is_written_out = all(map(is_scalar, entries))
    if is_written_out or not keras.tree.is_nested(structure):
        return structure
    if len(entries) != 1:
        raise ValueError(
            "The base model has one output. "
            f"Received: a {type(structure).__name__} of {len(entries)} "
            "targets or losses. Give one."
        )
    return entries[0]


def fits(expected: Shape, given: Shape) -> bool:
    """Whether two shapes agree in all dimensions that are known."""
    return len(expected) == len(given) and all(
        None in (one, other) or one == other
        for one, other in zip(expected, given, strict=True)
    )


def written(shape: Shape) -> str:
    """Shape of a batch as an error names it, `(N, 28, 28)`."""
    return str(("N", *shape)).replace("'", "")


def first(condition: np.ndarray, values: np.ndarray) -> Any:
    """The first value for which a condition holds."""
    return values[condition].reshape(-1)[0].item()


def given_or_open(flag: Any) -> bool | None:
    """A Boolean, or `None` where the base model will tell."""
    return None if flag is None else bool(flag)


def require_feedback(feedback: str) -> str:
    if feedback not in ("hard", "soft"):
        raise ValueError(
            "`feedback` must be 'hard' (the label that the first pass "
            "chooses) or 'soft' (its probabilities). "
            f"Received: feedback={feedback!r}"
        )
    return feedback


def require_finite(targets: np.ndarray) -> None:
    if targets.dtype.kind not in "biuf":
        raise ValueError(
            "Targets must be numbers. "
            f"Received: y with dtype={targets.dtype}. Encode them first, "
            "labels for example as integers from 0 on."
        )
    if targets.dtype.kind == "f" and not np.isfinite(targets).all():
        bad = int(np.argwhere(~np.isfinite(targets.reshape(-1)))[0, 0])
        raise ValueError(
            "Targets must be finite numbers. "
            f"Received: y[{bad // max(targets[0].size, 1)}] contains "
            f"{targets.reshape(-1)[bad]}. Remove or mend such samples."
        )
