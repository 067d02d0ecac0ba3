"""What a report is made of: ID answers, their losses, and OOD scores."""

import dataclasses
import functools
from typing import Any

import numpy as np

from keras_zigzag.evaluation.places import (
    Places,
    flat_scores,
    kept_places,
    weights_of_places,
)
from keras_zigzag.metrics.decisions import most_probable, yes_or_no
from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
    as_errors,
    as_weight,
)


@dataclasses.dataclass(frozen=True)
class OodScores:
    """Scores of one OOD set, `(num_places,)`, and the sample of each.

    `num_samples` counts those too of which no place is there.
    """

    uncertainty: Array
    sample: Array
    num_samples: int


def ood_scores(
    uncertainty: Any,
    mask: Array | None = None,
    name: str = "uncertainty",
    weight: Any = None,
) -> OodScores:
    """Those of the places that are there.

    Args:
        uncertainty: Array with one number per sample or per place.
        mask: Booleans, where there is a place, or `None`. A sample with one
            uncertainty is there as a whole.
        name: String. What the errors call the uncertainty.
        weight: Array with one number per sample or place, or `None`. Where it
            is 0 is no place.
    """
    score, sample = flat_scores(uncertainty, name=name)
    num_samples = int(sample[-1]) + 1
    weight = _weight_of_scores(weight, np.shape(uncertainty))
    kept = kept_places(score.size, mask, weight)
    return OodScores(score[kept], sample[kept], num_samples)


def _weight_of_scores(weight: Any, shape: tuple[int, ...]) -> Array | None:
    """The weight of each score; of all places where they have but one."""
    if weight is None:
        return None
    weight = as_errors(weight, "sample_weight")
    if weight.ndim > len(shape) and weight.shape[: len(shape)] == shape:
        # One uncertainty for all places of a sample.
        weight = weight.reshape(*shape, -1).max(axis=-1)
    return weights_of_places(weight, shape)


@dataclasses.dataclass(frozen=True)
class Samples:
    """The answers on the ID set and the scores on each OOD set.

    Args:
        task: `"classification"`, `"binary"` or `"regression"`.
        id: `Places` of the ID set.
        ood: Dictionary from the name of an OOD set to its `OodScores`.
        nan_policy: `"raise"` or `"worst"`.
    """

    task: str
    id: Places
    ood: dict[str, OodScores]
    nan_policy: NanPolicy = "raise"

    def __post_init__(self) -> None:
        if not len(self.id.uncertainty):
            raise ValueError(
                "There are no places left in the ID set: all of them are "
                "masked, have the weight 0 or the label that is ignored. "
                "Received: "
                f"{self.id.num_samples} samples."
            )
        if self.id.weight is not None:
            as_weight(self.id.weight, "sample_weight")
        if self.task == "binary":
            self._check_labels()

    def _check_labels(self) -> None:
        """Raises a `ValueError` for what is neither yes nor no."""
        targets = self.id.targets
        if self.id.weight is not None:
            targets = targets[self.id.weight != 0]
        bad = targets[~((targets >= 0) & (targets <= 1))]
        if bad.size:
            raise ValueError(
                "The labels of a binary task must be 0 or 1. Received: "
                f"targets with {bad.flat[0]}, one of {bad.size} such values."
            )

    @functools.cached_property
    def loss(self) -> Array:
        """1 where the answer is wrong, or the mean absolute error.

        NaN is no answer, and no class is right then.
        """
        prediction, targets = self.id.prediction, self.id.targets
        if self.task == "classification":
            best = prediction
            if prediction.ndim == 2:
                best = most_probable(prediction)
            return (best != targets).astype("float64")
        if self.task == "binary":
            wrong = yes_or_no(prediction) != (targets > 0.5)
            return wrong.any(axis=-1).astype("float64")
        if self.id.absolute is not None:
            return self.id.absolute
        return np.abs(self.errors).mean(axis=-1)

    @functools.cached_property
    def square(self) -> Array:
        """The mean squared error of a regression, `(num_places,)`."""
        if self.id.square is not None:
            return self.id.square
        return (self.errors**2).mean(axis=-1)

    @functools.cached_property
    def errors(self) -> Array:
        """What a regression is off by, `(num_places, num_values)`."""
        return self.id.prediction.astype("float64") - self.id.targets
