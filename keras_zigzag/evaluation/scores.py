"""A report on arrays that come from anywhere."""

from collections.abc import Mapping
from typing import Any

from keras_zigzag.evaluation.aggregated import places_or_samples
from keras_zigzag.evaluation.places import (
    Answers,
    num_axes_of_places,
)
from keras_zigzag.evaluation.report import UncertaintyReport
from keras_zigzag.evaluation.samples import OodScores, Samples, ood_scores
from keras_zigzag.metrics.inputs import NanPolicy, as_scores


def evaluate_scores(
    targets: Any,
    prediction: Any,
    uncertainty: Any,
    ood_uncertainty: Any = None,
    task: str = "classification",
    sample_weight: Any = None,
    from_logits: bool = False,
    ignore_class: int | None = None,
    name: str = "",
    nan_policy: NanPolicy = "raise",
) -> UncertaintyReport:
    """How good are these uncertainties?

    For scores that come from anywhere; `evaluate_uncertainty` does the same
    for a model. Each metric is that of `keras_zigzag.metrics`: higher
    uncertainty means less trust, OOD is the positive class.

    Args:
        targets: Array of class indices, `(num_samples,)`, or one-hot; of
            values in a regression; of 0 and 1 in a binary task. Dense tasks
            have the axes of their places after the first.
        prediction: Array of probabilities, `(num_samples, num_classes)`, or
            of integer classes, `(num_samples,)`; of values in a regression;
            of the probability of class 1 in a binary task.
        uncertainty: Array of shape `(num_samples,)`, or one per place. In a
            regression with one per sample and values per place, the error of
            a sample is the mean over its places.
        ood_uncertainty: Dictionary from the name of an OOD set to its
            uncertainties, or an array for a single one, which is called
            `"ood"`. Defaults to `None`.
        task: `"classification"`, `"binary"` or `"regression"`. With several
            labels a binary answer is correct if all of them are. Defaults to
            `"classification"`.
        sample_weight: Array, one per sample or per place, or `None`. How
            many samples each one stands for. Where it is 0, as at padding,
            the uncertainty may be NaN.
        from_logits: Boolean. Whether predictions are logits. Defaults to
            `False`.
        ignore_class: Integer. Label of places to leave out, or `None`.
        name: String. What tables call the method. Defaults to `""`.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.

    Returns:
        An `UncertaintyReport`.

    Raises:
        ValueError: If shapes do not agree, a set is empty, or there is NaN.

    Example:

    >>> report = keras_zigzag.evaluate_scores(
    ...     targets=[0, 1, 1], prediction=[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]],
    ...     uncertainty=[0.1, 0.2, 0.5], ood_uncertainty={"noise": [0.4, 0.8]})
    >>> report["noise_roc_auc"]
    0.833333333
    """
    answers = Answers(task, from_logits, ignore_class)
    as_scores(uncertainty, nan_policy="worst")
    is_dense = num_axes_of_places(uncertainty, prediction) > 1
    samples = Samples(
        task,
        places_or_samples(
            answers, targets, prediction, uncertainty, sample_weight
        ),
        {
            key: _ood_scores(scores, key, nan_policy, is_dense)
            for key, scores in named_sets(ood_uncertainty).items()
        },
        nan_policy,
    )
    as_scores(samples.id.uncertainty, nan_policy=nan_policy)
    return UncertaintyReport.from_samples(samples, name)


def named_sets(sets: Any) -> dict[str, Any]:
    """OOD sets by name; a single one without a name is `"ood"`."""
    if sets is None:
        return {}
    if not isinstance(sets, Mapping):
        return {"ood": sets}
    for name in sets:
        if not isinstance(name, str) or not name:
            raise ValueError(
                "OOD sets are named by strings that are not empty. "
                f"Received: the name {name!r}."
            )
    return dict(sets)


def _ood_scores(
    scores: Any, name: str, nan_policy: NanPolicy, is_dense: bool
) -> OodScores:
    what = f"ood_uncertainty[{name!r}]"
    shape = as_scores(scores, what, nan_policy).shape
    # A column is one score per sample.
    if not is_dense and shape[1:] not in ((), (1,)):
        raise ValueError(
            f"`{what}` must hold one uncertainty per sample, as `uncertainty` "
            f"does: the model's output, not its inputs. Received: shape {shape}"
        )
    return ood_scores(scores, name=what)
