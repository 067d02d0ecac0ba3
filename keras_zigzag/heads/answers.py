"""What the answers of several heads say together."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_zigzag import combining, distances, scores
from keras_zigzag.finite import unknown_unless_finite
from keras_zigzag.heads.layers import HEAD_AXIS, TakeHead, check_axis
from keras_zigzag.mask_taker import MaskTaker
from keras_zigzag.priors.binary_prior import BinaryPrior
from keras_zigzag.priors.joint_prior import JointPrior
from keras_zigzag.priors.prior import Prior

Tensor = Any
UNCERTAINTIES = ("both", "distance", "disagreement", "entropy")
OF_TWO_PASSES = ("both", "distance")


class HeadAnswers:
    """Reads the outputs of a network, with or without an axis of heads.

    With the answers `y0ₖ` and `y1ₖ` of head `k` in the first and the second
    pass, the uncertainty is one of

    - `"both"`: `√(meanₖ ‖y0ₖ − y1ₖ‖² + varₖ y0ₖ)`, the variance summed over
      the values or classes;
    - `"distance"`: `meanₖ d(y0ₖ, y1ₖ)`;
    - `"disagreement"`: `√(varₖ y0ₖ)`, the spread by which an ensemble is
      judged ([Lakshminarayanan et al., 2017](https://arxiv.org/abs/1612.01474),
      section 2.4);
    - `"entropy"`: entropy of the mean of the probabilities.

    Args:
        prior: The prior, which knows what the outputs mean.
        num_heads: Integer.
        uncertainty: One of these names, or `None`: `"both"` with several
            heads, `"distance"` with one.
        distance: Function of `(first, second)`.

    Raises:
        ValueError: If the name is unknown or does not fit.
    """

    def __init__(
        self,
        prior: Prior,
        num_heads: int,
        uncertainty: str | None,
        distance: Callable,
    ):
        self.prior = prior
        self.num_heads = num_heads
        check_uncertainty(uncertainty, num_heads)
        by_default = "both" if num_heads > 1 else "distance"
        self.uncertainty = uncertainty or by_default
        is_joint = isinstance(prior, JointPrior)
        self._priors: list[Any] = (
            keras.tree.flatten(prior.priors) if is_joint else [prior]
        )
        self._check_distance(distance)
        if self.uncertainty == "entropy":
            self._check_entropy()
        self._take_head = TakeHead(dtype="float32")
        self._take_masks = MaskTaker()

    def each(self, outputs: Any) -> tuple[Any, ...]:
        """The outputs of each head by itself, with their masks."""
        if self.num_heads == 1:
            return (outputs,)
        # Of a subclassed network nothing is known before it is called.
        for leaf in keras.tree.flatten(outputs):
            if None not in leaf.shape[HEAD_AXIS : HEAD_AXIS + 1]:
                check_axis(leaf, self.num_heads)
        return tuple(
            keras.tree.map_structure(
                lambda leaf, index=index: self._take_head(leaf, index=index),
                outputs,
            )
            for index in range(self.num_heads)
        )

    def mean(self, outputs: Any) -> Any:
        """The prediction: the mean over the heads.

        Where the outputs are logits, those of the mean of the probabilities.
        """
        if self.num_heads == 1:
            return outputs
        return self._mapped(_mean, outputs)

    def mean_with_masks(self, outputs: Any) -> Any:
        if self.num_heads == 1:
            return outputs
        return self._take_masks(self.mean(outputs), outputs)

    def mean_of_each(self, heads: tuple[Any, ...]) -> Any:
        """As `mean_with_masks`, from the outputs of each head by itself."""
        first, *_ = heads
        stacked = keras.tree.map_structure(
            lambda *leaves: ops.stack(leaves, axis=HEAD_AXIS), *heads
        )
        return self._take_masks(self.mean(stacked), first)

    def estimate(
        self,
        one_pass: Callable[[Tensor], Any],
        blank: Tensor,
        num_passes: int,
        distance: Callable[[Any, Any], Any],
    ) -> tuple[Any, Any]:
        """The prediction and its uncertainty.

        Args:
            one_pass: Function from a prior to the outputs of the network.
            blank: The blank prior.
            num_passes: Integer. How many there are where it takes several.
            distance: Function of the outputs of one head in two passes.
        """
        passes = [one_pass(blank)]
        mean = prediction = self.mean_with_masks(passes[0])
        needs_passes = self.uncertainty in OF_TWO_PASSES
        for index in range(num_passes - 1 if needs_passes else 0):
            # What goes back is what all heads say together.
            if index > 0:
                mean = self.mean(passes[-1])
            passes.append(one_pass(self.prior.encode_prediction(mean)))
        uncertainty = self._uncertainty(passes, prediction, distance)
        for outputs in passes:
            uncertainty = keras.tree.map_structure(
                self._known, uncertainty, outputs
            )
        return prediction, uncertainty

    def _uncertainty(
        self, passes: list[Any], mean: Any, distance: Callable
    ) -> Any:
        first = passes[0]
        if self.uncertainty == "entropy":
            return self._mapped(_entropy, mean)
        if self.uncertainty == "disagreement":
            return keras.tree.map_structure(
                _root, self._mapped(_variance, first)
            )
        moved = [
            distance(*pair)
            for pair in zip(*map(self.each, passes[-2:]), strict=True)
        ]
        if self.uncertainty == "distance":
            return keras.tree.map_structure(_mean_of, *moved)
        variance = self._mapped(_variance, first)
        return keras.tree.map_structure(_both, variance, *moved)

    def _known(self, score: Tensor, outputs: Tensor) -> Tensor:
        """NaN where a head is not finite, which a probability may hide."""
        if self.num_heads > 1:
            outputs = ops.moveaxis(outputs, HEAD_AXIS, -1)
        return unknown_unless_finite(score, outputs)

    def _mapped(self, function: Callable, outputs: Any) -> Any:
        leaves = [
            function(prior, leaf)
            for prior, leaf in zip(
                self._priors, keras.tree.flatten(outputs), strict=True
            )
        ]
        return keras.tree.pack_sequence_as(outputs, leaves)

    def _check_distance(self, distance: Callable) -> None:
        if self.uncertainty != "distance" and distance is not distances.norm:
            name = getattr(distance, "__name__", distance)
            raise ValueError(
                "Only uncertainty='distance' takes another distance. "
                f"Received: distance={name!r} and "
                f"uncertainty={self.uncertainty!r}, which is computed without "
                "it. Leave one of them out."
            )

    def _check_entropy(self) -> None:
        for prior in self._priors:
            try:
                prior.check_probabilities()
            except ValueError as error:
                raise ValueError(
                    "Only probabilities have an entropy, and the answers of "
                    f"a `{type(prior).__name__}` are none. Received: "
                    "uncertainty='entropy'. Give 'both', 'distance' or "
                    "'disagreement', which is then that of all outputs."
                ) from error


def check_uncertainty(uncertainty: Any, num_heads: int) -> None:
    """Raises a `ValueError` for an unknown name, or one that needs heads."""
    if uncertainty is None:
        return
    if not isinstance(uncertainty, str) or uncertainty not in UNCERTAINTIES:
        raise ValueError(
            f"Unknown uncertainty. Expected one of {list(UNCERTAINTIES)}, the "
            "same for all outputs. "
            f"Received: uncertainty={uncertainty!r}"
        )
    if num_heads == 1 and uncertainty in ("both", "disagreement"):
        raise ValueError(
            "One head has nothing to disagree with. Received: "
            f"uncertainty={uncertainty!r} and num_heads=1. Make more heads "
            "with `ZigZagModel.from_model(base, ..., num_heads=5)`, or give "
            "'distance'."
        )


def _mean(prior: Any, leaf: Tensor) -> Tensor:
    values = ops.cast(leaf, "float32")
    if getattr(prior, "from_logits", False):
        binary = isinstance(prior, BinaryPrior)
        values = ops.moveaxis(values, HEAD_AXIS, 0)
        mean = combining.mean_logits(values, binary)
    else:
        mean = ops.mean(values, axis=HEAD_AXIS)
    return ops.cast(mean, leaf.dtype)


def _variance(prior: Any, leaf: Tensor) -> Tensor:
    # One by one, since a prior reads the rank of an answer.
    answers = [prior.answer(leaf[:, i]) for i in range(leaf.shape[HEAD_AXIS])]
    return ops.sum(combining.spread(ops.stack(answers, axis=0)), axis=-1)


def _entropy(prior: Any, prediction: Tensor) -> Tensor:
    probabilities = prior.probabilities(prediction)
    return -ops.sum(probabilities * scores.log(probabilities), axis=-1)


def _mean_of(*moved: Tensor) -> Tensor:
    if len(moved) == 1:
        return moved[0]
    return ops.mean(ops.stack(moved, axis=0), axis=0)


def _both(variance: Tensor, *moved: Tensor) -> Tensor:
    return _root(_mean_of(*map(ops.square, moved)) + variance)


def _root(square: Tensor) -> Tensor:
    # The root has no derivative at zero, where the heads are equal.
    is_zero = ops.equal(square, 0.0)
    return ops.where(is_zero, 0.0, ops.sqrt(ops.where(is_zero, 1.0, square)))
