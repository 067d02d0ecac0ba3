"""What the streaming metrics share: their state, and how it grows."""

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
    as_booleans,
    check_nan_policy,
)
from keras_zigzag.metrics.ranking import Ranking
from keras_zigzag.metrics.streaming.batches import batch_tensors
from keras_zigzag.metrics.streaming.bins import EqualBins, FloatBins
from keras_zigzag.metrics.streaming.histogram import Histogram, as_array

NUM_BINS = 1 << 18
Results = dict[str, float]
Ranges = dict[str, tuple[float, float]]


class StreamingMetric(keras.metrics.Metric):
    """Counts samples by their score, batch after batch; abstract.

    A subclass says what follows from the counts. Here it is 0 or 1 what
    happened; a subclass for other values says what is valid and what is
    summed. Args as for `StreamingRiskCoverage`.
    """

    value_name = ""
    value_requirement = ""

    def __init__(
        self,
        num_bins: int = NUM_BINS,
        score_range: tuple[float, float] | None = None,
        nan_policy: NanPolicy = "raise",
        name: str | None = None,
    ) -> None:
        if not hasattr(ops, "view"):
            raise RuntimeError(
                "The streaming metrics need `keras.ops.view`: upgrade Keras. "
                f"Received: Keras {keras.__version__}."
            )
        super().__init__(name=name, dtype="float32")
        check_nan_policy(nan_policy)
        self.num_bins = num_bins
        self.score_range = score_range
        self.nan_policy = nan_policy
        self.histogram = Histogram(self, self._bins(), "scores")
        self.num_invalid = self.add_variable(
            shape=(3,),
            initializer="zeros",
            dtype="float32",
            aggregation="sum",
            name="num_invalid",
        )

    def result(self) -> Results:
        """The metrics of all samples since the last reset, Python floats.

        Computed in float64 with NumPy, so not within compiled functions.
        """
        return self._results(self._ranking())

    def error_bound(self) -> Results:
        """How far the exact metrics can be from `result()`, by the same keys.

        The larger distance to the two ends of what is possible with these
        counts, whatever the order of the samples within each bin.
        """
        ranking = self._ranking()
        results = self._results(ranking)
        if ranking.num_samples.sum() == 1:
            # One sample has one order only.
            return dict.fromkeys(results, 0.0)
        ranges = self._ranges(ranking)
        return {
            name: max(abs(end - value) for end in ranges[name])
            for name, value in results.items()
        }

    def merge_state(self, metrics: Iterable["StreamingMetric"]) -> None:
        """Adds what other metrics of the same configuration have seen.

        Args:
            metrics: Iterable of metrics of the same class.
        """
        for metric in metrics:
            self._check_same(metric)
            for own, other in zip(
                self._histograms(), metric._histograms(), strict=True
            ):
                own.merge(other)
            self.num_invalid.assign_add(metric.num_invalid.value)

    def get_config(self) -> dict[str, Any]:
        return {
            "num_bins": self.num_bins,
            "score_range": self.score_range,
            "nan_policy": self.nan_policy,
            "name": self.name,
        }

    def _results(self, ranking: Ranking) -> Results:
        raise NotImplementedError

    def _ranges(self, ranking: Ranking) -> Ranges:
        """The lowest and the highest value possible of each result."""
        raise NotImplementedError

    def _checked(self, happened: Any) -> Array:
        """What happened, or an error that says what is wrong with it."""
        return as_booleans(happened, self.value_name, self.value_requirement)

    def _is_valid(self, happened: Any) -> Any:
        """The same of a tensor, one Boolean per sample."""
        return ops.logical_or(happened == 0.0, happened == 1.0)

    def _count(self, happened: Any, score: Any, weight: Any) -> None:
        """Adds three float32 tensors of shape `(num_samples,)`."""
        # Zeros and ones apart, so that none of either is a sum of zero.
        self.histogram.add(
            score, ((1.0 - happened) * weight, happened * weight)
        )

    def _counts_and_totals(self) -> tuple[Array, Array]:
        num_zeros, num_ones = self.histogram.sums()
        return num_zeros + num_ones, num_ones

    def _update(
        self, happened: Any, uncertainty: Any, sample_weight: Any
    ) -> None:
        happened, score, weight = batch_tensors(
            happened,
            uncertainty,
            sample_weight,
            self.value_name,
            self._checked,
            self.nan_policy,
        )
        # A weight of 0 is no sample, whatever stands in its place.
        is_there = weight != 0.0
        is_refused = ops.logical_and(
            ops.isnan(score), self.nan_policy == "raise"
        )
        invalid = [
            ops.logical_and(
                is_there, ops.logical_not(self._is_valid(happened))
            ),
            ops.logical_and(is_there, is_refused),
            ops.logical_not(ops.logical_and(weight >= 0.0, weight < np.inf)),
        ]
        self.num_invalid.assign_add(
            ops.stack([ops.sum(ops.cast(each, "float32")) for each in invalid])
        )
        # The others make the result an error; the sums they leave alone.
        is_absent = ops.logical_not(is_there)
        is_left_out = ops.any(ops.stack([is_absent, *invalid]), axis=0)
        self._count(
            ops.where(is_left_out, 0.0, happened),
            score,
            ops.where(is_left_out, 0.0, weight),
        )

    def _ranking(self) -> Ranking:
        self._check_valid()
        return self.histogram.ranking(*self._counts_and_totals())

    def _histograms(self) -> list[Histogram]:
        return [self.histogram]

    def _bins(self) -> EqualBins | FloatBins:
        if self.score_range is None:
            return FloatBins(self.num_bins)
        return EqualBins(self.num_bins, *self.score_range)

    def _check_valid(self) -> None:
        requirements = {
            self.value_name: self.value_requirement,
            "uncertainty": "not hold NaN; `nan_policy='worst'` ranks it as "
            "most uncertain",
            "sample_weight": "be finite and not negative",
        }
        for (name, requirement), number in zip(
            requirements.items(), as_array(self.num_invalid), strict=True
        ):
            if number:
                raise ValueError(
                    f"`{name}` must {requirement}. Received: {number:.0f} "
                    "other value(s) since the last reset."
                )

    def _check_same(self, metric: "StreamingMetric") -> None:
        own, other = ({**m.get_config(), "name": ""} for m in (self, metric))
        if type(metric) is not type(self) or own != other:
            raise ValueError(
                "Only metrics of the same class and configuration can be "
                f"merged: {type(self).__name__} of {own}. "
                f"Received: {type(metric).__name__} of {other}."
            )
