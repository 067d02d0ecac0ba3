"""Seven samples: the mean over all orders of the ties, 7! where all tie."""

import numpy as np
import pytest

from keras_zigzag import metrics

from . import oracles

LOSS = np.array([0.5, 2.0, 0.25, 1.0, 1.5, 0.125, 0.75])
CORRECT = LOSS < 1


def ause(error, score):
    gap = oracles.aurc(error, score) - oracles.aurc(error, error)
    return gap / np.mean(error)


CASES = [
    (metrics.aurc, oracles.aurc, LOSS),
    (metrics.ause, ause, LOSS),
    (metrics.augrc, oracles.augrc, LOSS),
    (metrics.prediction_rejection_ratio, oracles.rejection_ratio, LOSS),
    (metrics.aulc, oracles.aulc, CORRECT),
    (metrics.aulc_regression, oracles.aulc_regression, LOSS),
    (
        lambda *case: metrics.risk_at_coverage(*case, 4 / 7),
        lambda *case: oracles.risk_at_coverage(*case, 4),
        LOSS,
    ),
    (
        lambda *case: metrics.coverage_at_risk(*case, 0.9),
        lambda *case: oracles.coverage_at_risk(*case, 0.9),
        LOSS,
    ),
    (
        lambda is_ood, u: metrics.fpr_at_tpr(u[~is_ood], u[is_ood], 0.7),
        lambda is_ood, u: oracles.fpr_at_tpr(u[~is_ood], u[is_ood], 0.7),
        CORRECT,
    ),
]


@pytest.mark.parametrize("score", [7 * [0], [1, 0, 1, 1, 1, 1, 1]], ids=str)
@pytest.mark.parametrize("metric, oracle, happened", CASES)
def test_mean_over_all_orders(metric, oracle, happened, score):
    score = np.array(score)
    assert metric(happened, score) == pytest.approx(
        oracle(happened, score), abs=1e-12
    )
