"""ID and OOD samples in one ranking, which the detection metrics share."""

import warnings
from typing import Any, Literal

import numpy as np

from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
    as_scores,
    as_weight,
    flat,
    where_there,
)
from keras_zigzag.metrics.ranking import Ranking, rank

Positive = Literal["ood", "id"]


def rank_detection(
    id_uncertainty: Any,
    ood_uncertainty: Any,
    id_weight: Any,
    ood_weight: Any,
    nan_policy: NanPolicy,
    positive: Positive = "ood",
) -> Ranking:
    """Groups from the most positive score on; values count the positives."""
    is_ood = is_ood_positive(positive)
    id_score, id_weight = checked_scores(
        id_uncertainty, id_weight, "id", nan_policy
    )
    ood_score, ood_weight = checked_scores(
        ood_uncertainty, ood_weight, "ood", nan_policy
    )
    _warn_of_labels(id_score, ood_score)
    is_positive = np.full(len(id_score) + len(ood_score), not is_ood)
    is_positive[len(id_score) :] = is_ood
    ranking = rank(
        np.concatenate([id_score, ood_score]),
        is_positive,
        _joined(id_weight, ood_weight, len(id_score), len(ood_score)),
    )
    return ranking.reversed() if is_ood else ranking


def is_ood_positive(positive: Positive) -> bool:
    if positive not in ("ood", "id"):
        raise ValueError(
            f"`positive` must be 'ood' or 'id'. Received: positive={positive!r}"
        )
    return positive == "ood"


def checked_scores(
    uncertainty: Any, weight: Any, which: str, nan_policy: NanPolicy
) -> list[Any]:
    names = f"{which}_uncertainty", f"{which}_weight"
    weight, uncertainty = where_there(as_weight(weight, names[1]), uncertainty)
    score = as_scores(uncertainty, names[0], nan_policy)
    return flat(**dict(zip(names, (score, weight), strict=True)))


def _warn_of_labels(id_score: Array, ood_score: Array) -> None:
    """Tells who passes labels and scores, as to scikit-learn."""
    if (
        len(id_score) == len(ood_score)
        and id_score.dtype.kind in "bui"
        and ood_score.dtype.kind == "f"
        and np.array_equal(np.unique(id_score), [0, 1])
    ):
        warnings.warn(
            "The uncertainties of the ID samples are all 0 or 1, which looks "
            "like labels. Metrics of OOD detection take those of ID and of "
            "OOD samples one after the other: with labels, 1 for OOD, "
            "`roc_auc(scores[labels == 0], scores[labels == 1])`. "
            f"Received: id_uncertainty of dtype {id_score.dtype} and "
            f"ood_uncertainty of {ood_score.dtype}, {len(id_score)} each",
            stacklevel=4,
        )


def _joined(
    id_weight: Array | None, ood_weight: Array | None, num_id: int, num_ood: int
) -> Array | None:
    if id_weight is None and ood_weight is None:
        return None
    parts = (id_weight, num_id), (ood_weight, num_ood)
    return np.concatenate(
        [np.ones(num) if weight is None else weight for weight, num in parts]
    )
