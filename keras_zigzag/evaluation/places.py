"""Answers as rows, one per place: a sample, or a pixel, node or step of it."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import entr, expit, softmax

from keras_zigzag.metrics.inputs import Array, as_errors, as_numbers

# How far the sum of probabilities may be from one, by the precision.
SINGLE_ROUNDING, HALF_ROUNDING = 1e-5, 2e-2
TASKS = ("classification", "binary", "regression")


@dataclasses.dataclass(frozen=True)
class Answers:
    """How the targets and predictions of a task are to be read.

    Args:
        task: `"classification"`, `"binary"` or `"regression"`.
        from_logits: Boolean. Whether predictions are logits.
        ignore_class: Integer or `None`. Places with this label are left out.
    """

    task: str
    from_logits: bool = False
    ignore_class: int | None = None

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(
                f"`task` must be one of {list(TASKS)}. "
                f"Received: task={self.task!r}"
            )
        if self.task == "regression" and self.ignore_class is not None:
            raise ValueError(
                "Only labels have one that is ignored. Received: "
                f"ignore_class={self.ignore_class!r} and task='regression'. "
                "Give a `sample_weight` that is 0 where there is no value."
            )

    def probabilities(self, prediction: Array) -> Array:
        if not self.from_logits or self.task == "regression":
            return prediction
        if self.task == "binary":
            return expit(prediction)
        return softmax(prediction, axis=-1)

    def entropy(self, prediction: Array) -> Array:
        """Entropy in nats, one per place, of `(..., num_classes)`."""
        p = self.probabilities(as_numbers(prediction, "prediction"))
        p = p.astype("float64")
        if self.task == "regression" or p.min() < 0:
            raise ValueError(
                "Only probabilities have an entropy. Received: "
                f"task={self.task!r}, predictions from {p.min():.3g} to "
                f"{p.max():.3g}. For logits give `from_logits=True`."
            )
        if self.task == "binary":
            return (entr(p) + entr(1.0 - p)).sum(axis=-1)
        return entr(p).sum(axis=-1)


@dataclasses.dataclass(frozen=True)
class Places:
    """Arrays with one row per place.

    Args:
        targets: Class indices `(num_places,)`, or `(num_places, num_values)`.
        prediction: Probabilities `(num_places, num_classes)`, class indices
            `(num_places,)`, or `(num_places, num_values)`.
        uncertainty: Array of shape `(num_places,)`.
        sample: Array of shape `(num_places,)`, the sample of each place.
        num_samples: Integer.
        weight: Array of shape `(num_places,)`, or `None`.
        entropy: Array of shape `(num_places,)`, or `None`.
        absolute: Array of shape `(num_places,)`, the mean absolute error,
            where it is not that of the row but of all places of a sample
            that has one uncertainty. `None` otherwise.
        square: The same of the mean squared error.
    """

    targets: Array
    prediction: Array
    uncertainty: Array
    sample: Array
    num_samples: int
    weight: Array | None = None
    entropy: Array | None = None
    absolute: Array | None = None
    square: Array | None = None


def places(
    answers: Answers,
    targets: Any,
    prediction: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    entropy: Array | None = None,
    mask: Array | None = None,
) -> Places:
    """Flattens the places of a dense task, after a check of all shapes.

    Args:
        answers: `Answers` of the task.
        targets: Array of the targets.
        prediction: Array of the predictions.
        uncertainty: Array with one number per place or per sample.
        sample_weight: Array with one number per place or per sample, or
            `None`.
        entropy: Array in the shape of the uncertainty, or `None`.
        mask: Booleans `(num_samples, num_places)`, where there is a place, or
            `None`.

    Returns:
        `Places` of those that are there.
    """
    score, sample = flat_scores(uncertainty, prediction)
    shape = _places_shape(uncertainty, prediction)
    targets = as_numbers(targets, "targets")
    prediction = as_numbers(prediction, "prediction")
    weight = weights_of_places(sample_weight, shape)
    kept = kept_places(score.size, mask, weight)
    if answers.task == "classification":
        targets = _labels(targets, prediction, shape, kept)
        prediction = _classes(answers, prediction, shape)
    else:
        prediction = rows_of_places(prediction, shape, "prediction")
        targets = rows_of_places(targets, shape, "targets")
        check_same_width(targets, prediction)
        prediction = answers.probabilities(prediction)
    result = Places(
        targets=targets,
        prediction=prediction,
        uncertainty=score,
        sample=sample,
        num_samples=shape[0],
        weight=weight,
        entropy=_of_each(entropy, score),
    )
    result = result if kept.all() else some_places(result, kept)
    result = _without_ignored(answers, result)
    if answers.task == "classification":
        _check_labels(result)
    return result


def _check_labels(result: Places) -> None:
    labels, num_classes = result.targets, result.prediction.shape[-1]
    if result.prediction.ndim == 1 or not labels.size:
        return
    if labels.min() < 0 or labels.max() >= num_classes:
        raise ValueError(
            f"The targets must lie in 0…{num_classes - 1}, since there are "
            f"{num_classes} classes. Received: labels from {labels.min()} to "
            f"{labels.max()}. For a label that stands for no class give "
            "`ignore_class`."
        )


def joined(parts: Sequence[Places]) -> Places:
    """The places of all batches."""
    first = np.cumsum([0] + [part.num_samples for part in parts])
    return Places(
        targets=np.concatenate([part.targets for part in parts]),
        prediction=np.concatenate([part.prediction for part in parts]),
        uncertainty=np.concatenate([part.uncertainty for part in parts]),
        sample=np.concatenate(
            [
                part.sample + start
                for part, start in zip(parts, first[:-1], strict=True)
            ]
        ),
        num_samples=int(first[-1]),
        weight=joined_if_all([part.weight for part in parts]),
        entropy=joined_if_all([part.entropy for part in parts]),
        absolute=joined_if_all([part.absolute for part in parts]),
        square=joined_if_all([part.square for part in parts]),
    )


def joined_if_all(parts: Sequence[Array | None]) -> Array | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def flat_scores(
    uncertainty: Any, prediction: Any = None, name: str = "uncertainty"
) -> tuple[Array, Array]:
    """Scores as `(num_places,)`, and the sample that each belongs to."""
    score = as_numbers(uncertainty, name)
    num_samples = len(score)
    score = score.astype("float64").ravel()
    sample = np.repeat(np.arange(num_samples), len(score) // num_samples)
    return score, sample


def num_axes_of_places(uncertainty: Any, prediction: Any) -> int:
    """1 for one uncertainty per sample, more where the task is dense."""
    return len(_places_shape(uncertainty, prediction))


def _places_shape(uncertainty: Any, prediction: Any) -> tuple[int, ...]:
    shape, answered = np.shape(uncertainty), np.shape(prediction)
    # A column of scores is one score per sample, as in `(N, 1)` targets.
    if len(shape) == len(answered) == 2 and shape[-1] == 1:
        return shape[:-1]
    return shape


def _classes(
    answers: Answers, prediction: Array, shape: tuple[int, ...]
) -> Array:
    if prediction.shape == shape and prediction.dtype.kind in "biu":
        return prediction.ravel()
    if prediction.shape[:-1] != shape or prediction.ndim == 1:
        raise ValueError(
            "`prediction` must have the shape of `uncertainty` and a last axis "
            "of classes, or hold integer classes in the shape of "
            f"`uncertainty`. Received: `prediction` of shape "
            f"{prediction.shape} and type {prediction.dtype}, `uncertainty` "
            f"of shape {shape}."
        )
    # `probabilities` keeps the type: what it rounds to matters to the NLL.
    p = answers.probabilities(prediction).reshape(-1, prediction.shape[-1])
    return _summing_to_one(p)


def _summing_to_one(p: Array) -> Array:
    """Takes back what rounding to half precision has done to the sums."""
    sums = p.sum(axis=-1, keepdims=True)
    distance = np.abs(sums - 1.0).max()
    is_rounded = SINGLE_ROUNDING < distance < HALF_ROUNDING
    return p / sums if is_rounded else p


def _of_each(entropy: Array | None, score: Array) -> Array | None:
    """The entropy, unless a sample has but one score for all its places."""
    if entropy is None or entropy.size != score.size:
        return None
    return entropy.ravel()


def _labels(
    targets: Array, prediction: Array, shape: tuple[int, ...], kept: Array
) -> Array:
    if targets.shape == (*shape, 1) and prediction.shape != (*shape, 1):
        targets = targets[..., 0]
    elif targets.ndim > len(shape) and targets.shape == prediction.shape:
        targets = targets.argmax(axis=-1)
    if targets.shape != shape:
        raise ValueError(
            "`targets` must hold one class index per uncertainty, or the "
            "one-hot class in the shape of `prediction`. Received: `targets` "
            f"of shape {targets.shape}, `prediction` of shape "
            f"{prediction.shape}, `uncertainty` of shape {shape}."
        )
    # Where nothing is, the label may be NaN.
    targets = np.where(kept, targets.ravel(), 0)
    with np.errstate(invalid="ignore"):
        labels = targets.astype("int64")
    if np.any(labels != targets):
        raise ValueError(
            "The targets of a classification must be whole numbers. Received: "
            f"values from {targets.min()} to {targets.max()}. For values give "
            "`task='regression'`."
        )
    return labels


def rows_of_places(values: Array, shape: tuple[int, ...], name: str) -> Array:
    """One row of values per place; all of a mesh, if it is one place."""
    if values.shape[: len(shape)] != shape:
        raise ValueError(
            f"`{name}` must have the shape of `uncertainty`, or more axes, of "
            f"values. Received: `{name}` of shape {values.shape}, "
            f"`uncertainty` of shape {shape}."
        )
    size = math.prod(values.shape[len(shape) :])
    return values.reshape(math.prod(shape), size)


def check_same_width(targets: Array, prediction: Array) -> None:
    if targets.shape != prediction.shape:
        raise ValueError(
            "`targets` and `prediction` must have as many values per sample. "
            f"Received: {targets.shape[-1]} and {prediction.shape[-1]}."
        )


def weights_of_places(
    sample_weight: Any, shape: tuple[int, ...]
) -> Array | None:
    if sample_weight is None:
        return None
    # All of a batch may be 0, if not all of the set.
    weight = as_errors(sample_weight, "sample_weight")
    if weight.shape == (*shape, 1):
        weight = weight[..., 0]
    if weight.shape != shape[: weight.ndim]:
        raise ValueError(
            "`sample_weight` must have one value per sample, or per place. "
            f"Received: shape {weight.shape}, `uncertainty` of shape {shape}."
        )
    missing = len(shape) - weight.ndim
    weight = weight.reshape(weight.shape + (1,) * missing)
    return np.broadcast_to(weight, shape).ravel()


def targets_that_count(targets: Array, weight: Array | None) -> Array | None:
    """Targets, with one of those that count where the weight is 0.

    Args:
        targets: Array.
        weight: Array with one number per sample or per place, or `None`.

    Returns:
        Array in the shape of the targets, or `None` if none of them counts.
    """
    if weight is None:
        return targets
    num_axes = weight.ndim
    if weight.shape != targets.shape[:num_axes] and weight.shape[-1] == 1:
        weight = weight[..., 0]
    counts = weight != 0
    if counts.shape != targets.shape[: counts.ndim]:
        return targets
    if not counts.any():
        return None
    targets = targets.copy()
    targets[~counts] = targets[counts][0]
    return targets


def _without_ignored(answers: Answers, result: Places) -> Places:
    if answers.ignore_class is None:
        return result
    ignored = result.targets == answers.ignore_class
    if answers.task == "binary":
        ignored = ignored.all(axis=-1)
    return some_places(result, ~ignored)


def kept_places(size: int, mask: Array | None, weight: Array | None) -> Array:
    """Which places are there, by a mask and by their weight."""
    kept = np.ones(size, bool)
    if mask is not None and mask.size == size:
        kept &= mask.ravel()
    if weight is not None:
        kept &= weight != 0
    return kept


def some_places(result: Places, kept: Array) -> Places:
    rows = {
        name: value[kept]
        for name, value in vars(result).items()
        if isinstance(value, np.ndarray)
    }
    return dataclasses.replace(result, **rows)
