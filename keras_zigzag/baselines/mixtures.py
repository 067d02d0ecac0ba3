"""The prediction and the uncertainty of several answers."""

from typing import Any

import keras
from keras import ops

from keras_zigzag import combining, scores
from keras_zigzag.baselines.answers import (
    Answers,
    chosen_scores,
    prediction_of,
)
from keras_zigzag.baselines.gaussian import GaussianOutputs, variance_of

Tensor = Any
CLASSES = tuple(combining.OF_PROBABILITIES)
SCORES = {
    "classification": CLASSES,
    "binary": CLASSES,
    "regression": (*scores.OF_VARIANCES, "epistemic_variance"),
}


class Mixture:
    """Combines several answers with equal weights.

    Args:
        answers: `Answers` of one member.
        score: Name, or a structure with one per output.
        num_samples: Integer. Number of answers.

    Raises:
        ValueError: If a score is unknown, or needs more than one answer.
    """

    def __init__(self, answers: Answers, score: Any, num_samples: int):
        self.answers = answers
        self.score = score
        self.scores = chosen_scores(score, answers, SCORES)
        for name, task in zip(self.scores, answers.tasks, strict=True):
            _check_spread(name, task, num_samples, answers.variance)

    def stacked(self, outputs: list[Any]) -> Any:
        """Separate answers to tensors of shape `(num_samples, ...)`."""
        return keras.tree.map_structure(
            lambda *leaves: ops.stack(leaves, axis=0), *outputs
        )

    def outputs(self, samples: Any) -> Any:
        """The outputs of the mixture, as of one network.

        Args:
            samples: Outputs of a network, stacked.
        """
        prediction, log_variances = [], []
        for index, leaf, variances in self._leaves(samples):
            prediction.append(ops.cast(self._mean(index, leaf), leaf.dtype))
            if self.answers.variance and variances is not None:
                means = ops.cast(leaf, "float32")
                total = combining.mixture_variance(means, variances)
                log_variances.append(ops.log(total))
        packed = self.answers.pack(prediction)
        if not self.answers.variance:
            return packed
        return GaussianOutputs(packed, log_variances)

    def uncertainty(self, samples: Any) -> Any:
        """One number per sample or place, in the structure of the outputs."""
        return self.answers.pack(
            [self._score(*entry) for entry in self._leaves(samples)]
        )

    def combined(self, samples: Any) -> tuple[Any, Any]:
        """Prediction and uncertainty of any number of answers.

        Args:
            samples: Outputs of a network, stacked.

        Raises:
            ValueError: If the score is a spread and there is one answer.
        """
        size = keras.tree.flatten(samples)[0].shape[0]
        some = Mixture(self.answers, self.score, size)
        prediction = prediction_of(some.outputs(samples))
        return prediction, some.uncertainty(samples)

    def _leaves(self, samples: Any) -> list[tuple[int, Tensor, Any]]:
        """Index, answers and variances of each output."""
        log_variances = iter(getattr(samples, "log_variances", ()))
        entries = []
        leaves = self.answers.flat(prediction_of(samples))
        for index, leaf in enumerate(leaves):
            variances = None
            is_value = self.answers.tasks[index] == "regression"
            if is_value and self.answers.variance:
                variances = variance_of(next(log_variances))
            entries.append((index, leaf, variances))
        return entries

    def _mean(self, index: int, leaf: Tensor) -> Tensor:
        leaf = ops.cast(leaf, "float32")
        if self.answers.from_logits(index):
            binary = self.answers.tasks[index] == "binary"
            return combining.mean_logits(leaf, binary)
        return ops.mean(leaf, axis=0)

    def _score(self, index: int, leaf: Tensor, variances: Any) -> Tensor:
        name = self.scores[index]
        if name in combining.OF_PROBABILITIES and variances is None:
            if self.answers.tasks[index] != "regression":
                probabilities = self._each(
                    self.answers.probabilities, index, leaf
                )
                return combining.OF_PROBABILITIES[name](probabilities)
        means = self._each(self.answers.values, index, leaf)
        if variances is not None and name != "epistemic_variance":
            variances = self._each(self.answers.values, index, variances)
        else:
            variances = None
        total = combining.mixture_variance(means, variances)
        if name == "epistemic_variance":
            name = "variance"
        return scores.OF_VARIANCES[name](total)

    def _each(self, function: Any, index: int, leaf: Tensor) -> Tensor:
        """Reads all samples as one batch, as an answer's rank has a meaning."""
        size, *shape = leaf.shape[0], *list(ops.shape(leaf))[2:]
        rows = function(index, ops.reshape(leaf, (-1, *shape)))
        return ops.reshape(rows, (size, -1, *list(ops.shape(rows))[1:]))


def _check_spread(
    name: str, task: str, num_samples: int, has_variance: bool
) -> None:
    is_spread = name in combining.SPREADS or task == "regression"
    if task == "regression" and has_variance and name != "epistemic_variance":
        is_spread = False
    if is_spread and num_samples < 2:
        raise ValueError(
            "The spread of the answers needs two of them at least. "
            f"Received: {num_samples} and score={name!r}."
        )
