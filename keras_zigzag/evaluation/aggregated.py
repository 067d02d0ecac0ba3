"""Answers of dense tasks that have one uncertainty for all their places."""

import math
from typing import Any

import numpy as np

from keras_zigzag.evaluation.places import (
    Answers,
    Places,
    check_same_width,
    places,
    rows_of_places,
    some_places,
    weights_of_places,
)
from keras_zigzag.metrics.inputs import Array, as_numbers


def places_or_samples(
    answers: Answers,
    targets: Any,
    prediction: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    entropy: Array | None = None,
    mask: Array | None = None,
) -> Places:
    """One row per place, or per sample if that has one uncertainty.

    Args as for `places`.
    """
    if mask is not None and np.shape(prediction)[: mask.ndim] != mask.shape:
        mask = None
    is_value = answers.task == "regression" and np.ndim(uncertainty) == 1
    # A column is one weight per sample.
    by_place = np.shape(sample_weight)[1:] not in ((), (1,))
    _check_one_score(answers, prediction, uncertainty, mask, by_place)
    # Where all places count alike, they are so many values.
    if is_value and (mask is not None or by_place):
        return mean_errors(
            targets, prediction, uncertainty, sample_weight, mask
        )
    return places(
        answers, targets, prediction, uncertainty, sample_weight, entropy, mask
    )


def _check_one_score(
    answers: Answers,
    prediction: Any,
    uncertainty: Any,
    mask: Array | None,
    by_place: bool,
) -> None:
    """Raises a `ValueError` if it is not known what a score is about."""
    is_dense = np.ndim(uncertainty) == 1 and np.ndim(prediction) > 2
    is_unclear = {
        "classification": True,
        # All of them are so many labels, but not if some are not there.
        "binary": mask is not None or by_place,
        "regression": False,
    }[answers.task]
    if is_dense and is_unclear:
        raise ValueError(
            "The answers of a sample are right or wrong place by place, and "
            "need an uncertainty for each. Received: predictions of shape "
            f"{np.shape(prediction)} and uncertainties of shape "
            f"{np.shape(uncertainty)}. Evaluate the uncertainties of the "
            "places, of a model as `model.with_options(aggregate=None)`."
        )


def mean_errors(
    targets: Any,
    prediction: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    mask: Array | None = None,
) -> Places:
    """One row per sample: its errors are the means over its places."""
    prediction = as_numbers(prediction, "prediction").astype("float64")
    targets = as_numbers(targets, "targets").astype("float64")
    known = sample_weight if mask is None else mask
    shape = prediction.shape[: np.ndim(known)]
    size, count = len(prediction), math.prod(shape[1:])
    prediction, targets = (
        rows_of_places(values, shape, name).reshape(size, count, -1)
        for values, name in ((prediction, "prediction"), (targets, "targets"))
    )
    check_same_width(targets, prediction)
    there, weight = place_and_sample_weights(sample_weight, mask, shape)
    errors = prediction - targets
    result = Places(
        targets=mean_over_places(targets, there),
        prediction=mean_over_places(prediction, there),
        uncertainty=as_numbers(uncertainty, "uncertainty").astype("float64"),
        sample=np.arange(size),
        num_samples=size,
        weight=weight,
        absolute=mean_over_places(np.abs(errors), there).mean(axis=-1),
        square=mean_over_places(errors**2, there).mean(axis=-1),
    )
    kept = there.sum(axis=1) > 0
    if weight is not None:
        kept &= weight != 0
    return result if kept.all() else some_places(result, kept)


def place_and_sample_weights(
    sample_weight: Any, mask: Array | None, shape: tuple[int, ...]
) -> tuple[Array, Array | None]:
    """How much each place counts within its sample, and each sample."""
    size, count = shape[0], math.prod(shape[1:])
    there = np.ones((size, count))
    if mask is not None:
        there = mask.reshape(size, count).astype("float64")
    weight = weights_of_places(sample_weight, shape)
    if weight is None:
        return there, None
    weight = weight.reshape(size, count)
    if np.ndim(sample_weight) == 1:
        return there, weight[:, 0]
    return there * weight, None


def mean_over_places(values: Array, weight: Array) -> Array:
    """`(num_samples, num_values)`, NaN where no place counts."""
    weight = weight[..., None]
    total = np.where(weight > 0, values * weight, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return total / weight.sum(axis=1)
