import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_zigzag import metrics

from . import cases, oracles

approx = pytest.approx


@given(cases.losses(), st.integers(1, 6))
def test_risk_at_coverage(case, num_kept):
    loss, score = case
    num_kept = min(num_kept, len(loss))
    for coverage in (num_kept / len(loss), (num_kept - 0.5) / len(loss)):
        assert metrics.risk_at_coverage(loss, score, coverage) == approx(
            oracles.risk_at_coverage(loss, score, num_kept), abs=1e-12
        )


@pytest.mark.parametrize("size", [7, 29, 100, 291])
def test_a_risk_that_is_met_exactly(size):
    for num_wrong in range(1, size):
        loss = np.ones(size + 1)
        loss[: size - num_wrong] = 0.0
        found = metrics.coverage_at_risk(
            loss, np.arange(size + 1), num_wrong / size
        )
        assert found == approx(size / (size + 1))


@given(cases.losses(), st.integers(-1, 10).map(lambda n: n / 4))
def test_coverage_at_risk(case, risk):
    loss, score = case
    assert metrics.coverage_at_risk(loss, score, risk) == approx(
        oracles.coverage_at_risk(loss, score, risk)
    )


@pytest.mark.parametrize("hundredths", range(1, 101))
def test_rounding_adds_no_sample(hundredths):
    loss, score = np.arange(100.0), np.arange(100)
    kept = metrics.risk_at_coverage(loss, score, hundredths / 100) * 2 + 1
    assert kept == approx(hundredths)


@pytest.mark.parametrize("num_wrong", range(100))
def test_rounding_takes_no_sample(num_wrong):
    loss = np.arange(100) < num_wrong
    for score in (np.zeros(100), np.arange(100)):
        assert metrics.coverage_at_risk(loss, score, num_wrong / 100) == 1.0


def test_nothing_can_be_kept():
    assert metrics.coverage_at_risk([1, 0], [0, 1], 0.1) == 0.0


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"`coverage` .* coverage=0"):
        metrics.risk_at_coverage([1], [1], 0)
    with pytest.raises(ValueError, match="`coverage` .* coverage=80"):
        metrics.risk_at_coverage([1], [1], 80)
    with pytest.raises(ValueError, match="`risk` .* risk=nan"):
        metrics.coverage_at_risk([1], [1], float("nan"))
