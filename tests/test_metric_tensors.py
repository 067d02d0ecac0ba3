"""The metrics take the tensors of the backend in use, as NumPy does."""

import numpy as np
import pytest
from keras import ops

from keras_zigzag import metrics

SCORE = np.array([0.1, 0.4, 0.3, 0.2], dtype="float32")
HAPPENED = np.array([1.0, 0.0, 1.0, 1.0], dtype="float32")


@pytest.mark.parametrize(
    "metric",
    [
        metrics.aulc,
        metrics.raulc,
        metrics.aurc,
        metrics.prediction_rejection_ratio,
        metrics.risk_at_coverage,
        metrics.roc_auc,
        metrics.pearson,
        metrics.spearman,
        metrics.cumulative_calibration_error,
        metrics.expected_calibration_error,
        metrics.brier_score,
    ],
    ids=lambda metric: metric.__name__,
)
def test_tensors(metric):
    tensors = map(ops.convert_to_tensor, (HAPPENED, SCORE))
    assert metric(*tensors) == metric(HAPPENED, SCORE)


def test_weights():
    weight = ops.convert_to_tensor(HAPPENED + 1)
    result = metrics.aurc(HAPPENED, SCORE, weight)
    assert result == metrics.aurc(HAPPENED, SCORE, HAPPENED + 1)


def test_gaussian_regression():
    arrays = HAPPENED, SCORE, SCORE
    tensors = map(ops.convert_to_tensor, arrays)
    assert metrics.gaussian_crps(*tensors) == metrics.gaussian_crps(*arrays)
