import numpy as np
import pytest
from hypothesis import assume, given, settings

from keras_zigzag import metrics

from . import cases, oracles

approx = pytest.approx


@given(cases.errors())
def test_curve_has_the_mean_error_over_orders(case):
    error, score = case
    curve = metrics.lift_curve_regression(error, score)
    np.testing.assert_allclose(
        curve.lift, np.mean(error) / oracles.risks(error, score)
    )


@given(cases.errors())
def test_aulc_has_the_mean_error_over_orders(case):
    error, score = case
    assert metrics.aulc_regression(error, score) == approx(
        oracles.aulc_regression(error, score), abs=1e-11
    )


@given(cases.errors())
def test_raulc_is_relative_to_the_oracle(case):
    error, score = case
    assume(len(np.unique(error)) > 1)
    assert metrics.raulc_regression(error, score) == approx(
        oracles.aulc_regression(error, score)
        / oracles.aulc_regression(error, error),
        abs=1e-10,
    )
    assert metrics.raulc_regression(error, error) == approx(1.0)


@settings(max_examples=30)
@given(cases.errors(max_size=100, scores=cases.UNTIED))
def test_area_is_the_mean_of_the_curve(case):
    error, score = case
    lift = metrics.lift_curve_regression(error, score).lift
    assert metrics.aulc_regression(error, score) == approx(
        np.mean(lift) - 1, abs=1e-11
    )


def test_constant_score_is_a_random_order():
    error = [0.3, 0.1, 0.7]
    assert metrics.aulc_regression(error, [1, 1, 1]) == 0.0
    assert metrics.raulc_regression(error, [1, 1, 1]) == 0.0


def test_few_smallest_errors_dominate():
    # Of 1,000 samples in a random order, three errors that are almost zero
    # come first: that is enough for a high rAULC, and shows nowhere else.
    rng = np.random.default_rng(0)
    error = rng.uniform(0.5, 1.5, size=1000)
    error[:3] = 1e-6
    score = rng.uniform(1.0, 2.0, size=1000)
    score[:3] = [0.1, 0.2, 0.3]
    assert metrics.raulc_regression(error, score) > 0.99
    assert abs(metrics.prediction_rejection_ratio(error, score)) < 0.1


@pytest.mark.parametrize("metric", ["lift_curve_regression", "aulc_regression"])
def test_zero_error_first(metric):
    with pytest.raises(ValueError, match="infinite .* an uncertainty of 0.1"):
        getattr(metrics, metric)([0.0, 1.0], [0.1, 0.2])


def test_zero_error_later():
    # F = 1, 2, and F(1) = 2.
    assert metrics.aulc_regression([1.0, 0.0], [0.1, 0.2]) == approx(-0.25)
    # The oracle would put it first.
    with pytest.raises(ValueError, match="the oracle puts first"):
        metrics.raulc_regression([1.0, 0.0], [0.1, 0.2])


def test_lift_that_is_too_large():
    with pytest.raises(ValueError, match="too large for a float"):
        metrics.aulc_regression([5e-324, 1.0], [0.1, 0.2])


@pytest.mark.parametrize("error", [[2.0], [0.1, 0.1, 0.1]])
def test_all_errors_the_same(error):
    assert metrics.aulc_regression(error, range(len(error))) == approx(0)
    with pytest.raises(ValueError, match="no scale where all errors are"):
        metrics.raulc_regression(error, range(len(error)))


def test_signed_errors():
    with pytest.raises(ValueError, match="smallest value of -1.0"):
        metrics.aulc_regression([-1.0, 1.0], [0.1, 0.2])
