import numpy as np
import pytest
from hypothesis import assume, given

from keras_zigzag import metrics

from . import cases, oracles

approx = pytest.approx


@given(cases.losses())
def test_augrc_is_the_mean_over_orders(case):
    loss, score = case
    assert metrics.augrc(loss, score) == approx(
        oracles.augrc(loss, score), abs=1e-12
    )


@given(cases.corrects(max_size=30))
def test_augrc_by_the_auroc_of_failures(case):
    # Traub et al., equation 6: AUROC of mistakes, and the accuracy.
    correct, score = case
    assume(0 < correct.sum() < len(correct))
    wrong = 1 - np.mean(correct)
    auroc = metrics.roc_auc(score[correct], score[~correct])
    assert metrics.augrc(~correct, score) == approx(
        (1 - auroc) * wrong * (1 - wrong) + wrong**2 / 2
    )


@given(cases.losses())
def test_rejection_ratio_is_the_mean_over_orders(case):
    loss, score = case
    assume(len(np.unique(loss)) > 1)
    assert metrics.prediction_rejection_ratio(loss, score) == approx(
        oracles.rejection_ratio(loss, score), abs=1e-11
    )


@given(cases.losses())
def test_rejection_ratio_of_the_best_and_the_worst(case):
    loss, _ = case
    assume(len(np.unique(loss)) > 1)
    assert metrics.prediction_rejection_ratio(loss, loss) == approx(1.0)
    assert metrics.prediction_rejection_ratio(loss, -loss) == approx(-1.0)


def test_constant_score_is_a_random_order():
    loss = [0.3, 0.1, 0.7]
    assert metrics.prediction_rejection_ratio(loss, [2, 2, 2]) == 0.0
    assert metrics.augrc(loss, [2, 2, 2]) == approx(np.mean(loss) / 2)


@pytest.mark.parametrize("loss", [[0.5], [0.1, 0.1, 0.1], [0, 0]])
def test_all_losses_the_same(loss):
    with pytest.raises(ValueError, match="no scale where all losses are"):
        metrics.prediction_rejection_ratio(loss, range(len(loss)))
