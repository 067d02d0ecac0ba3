import numpy as np
import pytest
from hypothesis import assume, given

from keras_zigzag import metrics

from . import cases, oracles

approx = pytest.approx


@given(cases.corrects())
def test_curve_is_the_mean_over_orders(case):
    correct, score = case
    assume(correct.any())
    curve = metrics.lift_curve(correct, score)
    np.testing.assert_allclose(
        curve.lift, oracles.risks(correct, score) / np.mean(correct)
    )
    assert curve.lift[-1] == curve.fraction[-1] == 1.0


@given(cases.corrects())
def test_aulc_is_the_mean_over_orders(case):
    correct, score = case
    assume(correct.any())
    assert metrics.aulc(correct, score) == approx(
        oracles.aulc(correct, score), abs=1e-12
    )


@given(cases.corrects())
def test_raulc_is_relative_to_the_oracle(case):
    correct, score = case
    assume(0 < correct.sum() < len(correct))
    assert metrics.raulc(correct, score) == approx(
        oracles.aulc(correct, score) / oracles.aulc(correct, ~correct),
        abs=1e-11,
    )
    assert metrics.raulc(correct, ~correct) == approx(1.0)


def test_by_hand():
    # F = 1, 1, 2/3, 3/4, and F(1) = 3/4; the oracle has F = 1, 1, 1, 3/4.
    correct, score = [1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]
    assert metrics.aulc(correct, score) == approx(5 / 36)
    assert metrics.raulc(correct, score) == approx(5 / 9)


def test_constant_score_is_a_random_order():
    assert metrics.aulc([1, 0, 1], [2.0, 2.0, 2.0]) == 0.0
    assert metrics.raulc([1, 0, 1], [2.0, 2.0, 2.0]) == 0.0


def test_one_sample():
    assert metrics.aulc([True], [0.3]) == 0.0
    with pytest.raises(ValueError, match="1 samples, all of them correct"):
        metrics.raulc([True], [0.3])


def test_no_mistakes():
    assert metrics.aulc([1, 1, 1], [1, 2, 3]) == 0.0
    with pytest.raises(ValueError, match="oracle's AULC is 0. Received: 3"):
        metrics.raulc([1, 1, 1], [1, 2, 3])


@pytest.mark.parametrize("metric", ["lift_curve", "aulc", "raulc"])
def test_only_mistakes(metric):
    with pytest.raises(ValueError, match="2 samples, all of them wrong"):
        getattr(metrics, metric)([0, 0], [0.1, 0.2])


def test_labels_are_not_taken_for_correct():
    with pytest.raises(ValueError, match="Received: values from 0 to 9"):
        metrics.aulc([0, 9, 1], [0.1, 0.2, 0.3])
