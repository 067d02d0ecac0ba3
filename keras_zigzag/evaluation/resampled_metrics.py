"""The metrics of a report, of many resamples at once."""

import functools
from collections.abc import Callable, Mapping

import numpy as np

from keras_zigzag.evaluation.metric_sets import labelled
from keras_zigzag.evaluation.resampling import (
    Detected,
    Order,
    Ranked,
    calibration_error,
    correlation,
    cumulative_calibration_error,
    mean,
    mid_ranks,
)
from keras_zigzag.evaluation.samples import Samples
from keras_zigzag.metrics.calibration import bin_index
from keras_zigzag.metrics.inputs import Array
from keras_zigzag.metrics.probabilities import (
    checked_probabilities,
    log_losses,
    square_distances,
)

Functions = dict[str, Callable[[], Array]]
NUM_BINS = 15


class ResampledMetrics:
    """Sorts once what all resamples need.

    Args:
        samples: `Samples` of the report.
    """

    def __init__(self, samples: Samples):
        self.samples = samples
        self.by_score = Order(samples.id.uncertainty)
        self.by_loss = Order(samples.loss)
        self.with_ood = {
            name: Order(
                np.concatenate([samples.id.uncertainty, ood.uncertainty])
            )
            for name, ood in samples.ood.items()
        }

    def functions(
        self, id_weights: Array, ood_weights: Mapping[str, Array]
    ) -> Functions:
        """By key, what computes arrays of shape `(num_resamples,)`."""
        result = self._ranked(id_weights)
        if self.samples.task == "regression":
            result |= self._regression(id_weights)
        else:
            result |= self._classification(id_weights)
        for name, weights in ood_weights.items():
            detected = Detected(self.with_ood[name], id_weights, weights)
            result |= {
                f"{name}_roc_auc": detected.roc_auc,
                f"{name}_pr_auc": detected.pr_auc,
                f"{name}_average_precision": detected.average_precision,
                f"{name}_fpr95": functools.partial(detected.fpr_at_tpr, 0.95),
            }
        return result

    def _ranked(self, weights: Array) -> Functions:
        ranked, best = self._by_score_and_by_loss(weights, self.samples.loss)
        return {
            "aurc": ranked.aurc,
            "excess_aurc": lambda: ranked.aurc() - best.aurc(),
            "augrc": ranked.augrc,
            "prediction_rejection_ratio": lambda: ranked.gain() / best.gain(),
            "ause": lambda: (ranked.aurc() - best.aurc()) / ranked.mean,
        }

    def _classification(self, weights: Array) -> Functions:
        correct = 1.0 - self.samples.loss
        ranked, best = self._by_score_and_by_loss(weights, correct)
        return {
            "accuracy": functools.partial(mean, weights, correct),
            "aulc": ranked.aulc,
            "raulc": lambda: ranked.aulc() / best.aulc(),
            "ece": lambda: self._calibration_error(weights),
            "nll": lambda: mean(weights, self._probability_losses[0]),
            "brier": lambda: mean(weights, self._probability_losses[1]),
        }

    def _regression(self, weights: Array) -> Functions:
        error, score = self.samples.loss, self.samples.id.uncertainty
        ranked, best = self._by_score_and_by_loss(weights, error)
        return {
            "mae": functools.partial(mean, weights, error),
            "rmse": lambda: np.sqrt(mean(weights, self.samples.square)),
            "aulc": ranked.aulc_regression,
            "raulc": lambda: ranked.aulc_regression() / best.aulc_regression(),
            "pearson": functools.partial(correlation, weights, error, score),
            "spearman": lambda: correlation(
                weights,
                mid_ranks(self.by_loss, weights),
                mid_ranks(self.by_score, weights),
            ),
            "cumulative_calibration_error": functools.partial(
                cumulative_calibration_error, ranked, self.by_score.score
            ),
        }

    def _by_score_and_by_loss(
        self, weights: Array, values: Array
    ) -> tuple[Ranked, Ranked]:
        return (
            Ranked(self.by_score, weights, values),
            Ranked(self.by_loss, weights, values),
        )

    @functools.cached_property
    def _labels_and_probabilities(self) -> tuple[Array, Array]:
        label, p, _ = checked_probabilities(*labelled(self.samples), None)
        return label, p

    @functools.cached_property
    def _probability_losses(self) -> tuple[Array, Array]:
        """NLL and Brier score of each place."""
        label, p = self._labels_and_probabilities
        logs = log_losses(label, p, self.samples.id.prediction.dtype)
        squares = square_distances(label, p)
        if self.samples.task == "binary":
            squares /= 2.0
        return self._per_place(logs), self._per_place(squares)

    def _calibration_error(self, weights: Array) -> Array:
        label, p = self._labels_and_probabilities
        best = p.argmax(axis=-1)
        confidence = p[np.arange(len(p)), best]
        index = bin_index(confidence, np.ones(len(p)), NUM_BINS, "width")
        weights = np.repeat(weights, len(p) // weights.shape[1], axis=1)
        return calibration_error(weights, confidence - (best == label), index)

    def _per_place(self, values: Array) -> Array:
        """The mean over the labels of a place, where it has several."""
        return values.reshape(len(self.samples.loss), -1).mean(axis=-1)
