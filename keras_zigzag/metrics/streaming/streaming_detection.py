"""The detection of OOD samples, more of them than fit into memory."""

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.metrics.extremes import extreme_orders
from keras_zigzag.metrics.inputs import NanPolicy, as_fraction
from keras_zigzag.metrics.ood import average_precision_of, roc_auc_of
from keras_zigzag.metrics.ood_points import fpr_of
from keras_zigzag.metrics.ranking import Ranking
from keras_zigzag.metrics.streaming.streaming_metric import (
    NUM_BINS,
    Ranges,
    Results,
    StreamingMetric,
)
from keras_zigzag.metrics.sums import least_precision_sum


@keras.saving.register_keras_serializable(package="keras_zigzag")
class StreamingDetection(StreamingMetric):
    """How well OOD pixels or samples are found, any number, by a histogram.

    `roc_auc`, `average_precision` and `fpr_at_tpr` of the samples with their
    scores rounded to the bins of `StreamingRiskCoverage`, with the samples of
    a bin as ties. OOD is the positive class.

    *Error bound*: with the most uncertain samples first, ROC-AUC and FPR are
    best where in each bin all OOD samples come first, and worst where all ID
    samples do: their formulas are computed for both. (For ROC-AUC that is half
    of the share of all pairs of ID and OOD samples that are in the same bin;
    for FPR the ID samples in one bin.) A bin with `p` OOD and `q` ID samples,
    `P` OOD samples and `N` samples in all before it, adds at most
    `p (P + p) / (N + p)` to the average precision's sum, for OOD samples that
    tie before all others, since no precision in the bin is higher; and at
    least the integral from 0 to `p` of `(P + t) / (N + q + t)`, the precision
    where all ID samples come first.

    Args:
        tpr: Float in `(0, 1]`. Share of OOD samples to find, at which
            `fpr_at_tpr` is taken. Defaults to `0.95`.
        num_bins: As for `StreamingRiskCoverage`.
        score_range: As for `StreamingRiskCoverage`.
        nan_policy: As for `StreamingRiskCoverage`.
        name: String. Defaults to `None`.

    Example:

    >>> metric = keras_zigzag.metrics.StreamingDetection()
    >>> metric.update_state(is_ood=False, uncertainty=[0.1, 0.4])
    >>> metric.update_state(is_ood=True, uncertainty=[0.35, 0.8])
    >>> metric.result()
    {'roc_auc': 0.75, 'average_precision': 0.833333333, 'fpr_at_tpr': 0.5}
    """

    value_name = "is_ood"
    value_requirement = (
        "say for each sample whether it is out-of-distribution, as Booleans or "
        "as 0 and 1"
    )

    def __init__(
        self,
        tpr: float = 0.95,
        num_bins: int = NUM_BINS,
        score_range: tuple[float, float] | None = None,
        nan_policy: NanPolicy = "raise",
        name: str | None = None,
    ) -> None:
        super().__init__(num_bins, score_range, nan_policy, name)
        self.tpr = as_fraction(tpr, "tpr")

    def update_state(
        self, is_ood: Any, uncertainty: Any, sample_weight: Any = None
    ) -> None:
        """Adds a batch, of one set or of both.

        Args:
            is_ood: Boolean, for a batch of one set; or array or tensor of
                Booleans, or 0 and 1, one per sample, of any shape.
            uncertainty: Array or tensor, one value per sample; higher means
                less trust.
            sample_weight: As `uncertainty`, or `None`. How many samples each
                one stands for.
        """
        if np.ndim(is_ood) == 0:
            like = ops.ones_like if ops.is_tensor(uncertainty) else np.ones_like
            is_ood = like(uncertainty, dtype="float32") * float(is_ood)
        self._update(is_ood, uncertainty, sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "tpr": self.tpr}

    def _ranking(self) -> Ranking:
        ranking = super()._ranking()
        count, num_ood = ranking.sums()
        if num_ood in (0.0, count):
            which = "ID" if num_ood else "OOD"
            raise ValueError(
                "Detection needs samples of both sets. "
                f"Received: no {which} sample since the last reset."
            )
        return ranking.reversed()

    def _results(self, ranking: Ranking) -> Results:
        return {
            "roc_auc": roc_auc_of(ranking),
            "average_precision": average_precision_of(ranking),
            "fpr_at_tpr": fpr_of(ranking, self.tpr),
        }

    def _ranges(self, ranking: Ranking) -> Ranges:
        best, worst = map(self._results, extreme_orders(ranking))
        worst["average_precision"] = _least_average_precision(ranking)
        return {name: (worst[name], best[name]) for name in best}


def _least_average_precision(ranking: Ranking) -> float:
    area = math.fsum(
        least_precision_sum(block).sum() for block in ranking.blocks()
    )
    return float(area / ranking.total.sum())
