"""The lift of more samples than fit into memory."""

from typing import Any

import keras

from keras_zigzag.metrics.extremes import extreme_orders
from keras_zigzag.metrics.lift import aulc_of, check_lift, raulc_of
from keras_zigzag.metrics.ranking import Ranking
from keras_zigzag.metrics.streaming.streaming_metric import (
    Ranges,
    Results,
    StreamingMetric,
)


@keras.saving.register_keras_serializable(package="keras_zigzag")
class StreamingLift(StreamingMetric):
    """AULC and rAULC of any number of samples, such as pixels, by a histogram.

    `aulc` and `raulc` of the samples with their scores rounded to the bins of
    `StreamingRiskCoverage`, with the samples of a bin as ties.

    *Error bound*: of all orders within the bins, AULC is highest where in each
    bin all correct samples come first, and lowest where all mistakes do; its
    formula is computed for both. The oracle of rAULC needs no order.

    Args as for `StreamingRiskCoverage`.

    Example:

    >>> metric = keras_zigzag.metrics.StreamingLift()
    >>> metric.update_state(correct=[1, 1], uncertainty=[0.1, 0.2])
    >>> metric.update_state(correct=[0, 1], uncertainty=[0.3, 0.4])
    >>> metric.result()
    {'aulc': 0.138888889, 'raulc': 0.555555556}
    >>> metric.error_bound()
    {'aulc': 0.0, 'raulc': 0.0}
    """

    value_name = "correct"
    value_requirement = (
        "say for each sample whether the prediction is right, as Booleans or "
        "as 0 and 1"
    )

    def update_state(
        self, correct: Any, uncertainty: Any, sample_weight: Any = None
    ) -> None:
        """Adds a batch.

        Args:
            correct: Array or tensor of Booleans, or 0 and 1, one per sample,
                of any shape.
            uncertainty: As `correct`; higher means less trust.
            sample_weight: As `correct`, or `None`. How many samples each one
                stands for.
        """
        self._update(correct, uncertainty, sample_weight)

    def _results(self, ranking: Ranking) -> Results:
        check_lift(ranking)
        return {"aulc": aulc_of(ranking), "raulc": raulc_of(ranking)}

    def _ranges(self, ranking: Ranking) -> Ranges:
        best, worst = map(self._results, extreme_orders(ranking))
        return {name: (worst[name], best[name]) for name in best}
