import numpy as np
import pytest
from hypothesis import given, settings

from keras_zigzag import metrics

from . import cases, oracles

approx = pytest.approx


@given(cases.losses())
def test_curve_is_the_mean_over_orders(case):
    loss, score = case
    curve = metrics.risk_coverage_curve(loss, score)
    np.testing.assert_allclose(
        curve.risk, oracles.risks(loss, score), atol=1e-12
    )
    np.testing.assert_allclose(
        curve.coverage, np.arange(1, len(loss) + 1) / len(loss)
    )
    np.testing.assert_array_equal(curve.threshold, np.sort(score))


@given(cases.losses())
def test_aurc_is_the_mean_over_orders(case):
    loss, score = case
    assert metrics.aurc(loss, score) == approx(
        oracles.aurc(loss, score), abs=1e-12
    )


@given(cases.losses())
def test_excess_aurc_is_above_the_oracle(case):
    loss, score = case
    result = metrics.excess_aurc(loss, score)
    assert result == approx(
        oracles.aurc(loss, score) - oracles.aurc(loss, loss), abs=1e-12
    )
    assert result >= -1e-12


@given(cases.errors())
def test_ause_is_relative_to_the_mean(case):
    error, score = case
    assert metrics.ause(error, score) == approx(
        metrics.excess_aurc(error, score) / np.mean(error), abs=1e-12
    )


@settings(max_examples=30)
@given(cases.losses(max_size=100, scores=cases.UNTIED))
def test_area_is_the_mean_of_the_curve(case):
    loss, score = case
    curve = metrics.risk_coverage_curve(loss, score)
    assert metrics.aurc(loss, score) == approx(np.mean(curve.risk), abs=1e-12)


def test_order_of_ties_does_not_matter():
    loss, score = [1, 0, 0, 0, 1, 1], [0, 1, 1, 1, 1, 1]
    other = [1, 1, 0, 1, 0, 0]
    assert metrics.aurc(loss, score) == metrics.aurc(other, score)


def test_negative_losses():
    # A log loss of a density may be negative.
    assert metrics.aurc([-1.0, 1.0], [0, 1]) == -0.5
    assert metrics.excess_aurc([-1.0, 1.0], [1, 0]) == 1.0


def test_one_sample():
    assert metrics.aurc([0.7], [1.0]) == 0.7
    assert metrics.excess_aurc([0.7], [1.0]) == 0.0


def test_ause_without_an_error():
    with pytest.raises(ValueError, match="Received: 2 errors of zero"):
        metrics.ause([0.0, 0.0], [1, 2])


def test_values_of_torch_uncertainty():
    # Of torch-uncertainty 0.13.0 on the same samples. Its areas are
    # trapezoids from coverage 1/n to 1.
    loss = [0, 1, 0, 0, 1, 1, 0, 1]
    error = [0.2, 0.9, 0.1, 0.4, 1.3, 0.8, 0.3, 1.1]
    score = [0.1, 0.15, 0.22, 0.3, 0.45, 0.6, 0.72, 0.9]
    coverage, risk, _ = metrics.risk_coverage_curve(loss, score)
    assert np.trapezoid(risk, coverage) / (1 - 1 / 8) == approx(
        0.3802721088435374, abs=1e-12
    )
    assert np.trapezoid(risk * coverage, coverage) / (1 - 1 / 8) == approx(
        0.23214285714285715, abs=1e-12
    )
    assert metrics.coverage_at_risk(loss, score, 0.41) == 0.625
    assert metrics.risk_at_coverage(loss, score, 0.7) == 0.5

    coverage, risk, _ = metrics.risk_coverage_curve(error, score)
    best = metrics.risk_coverage_curve(error, error).risk
    assert np.trapezoid(risk - best, coverage) / np.mean(error) == approx(
        0.23828197945845017, abs=1e-12
    )
