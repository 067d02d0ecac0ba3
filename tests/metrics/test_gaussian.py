import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from keras_zigzag import metrics

approx = pytest.approx


def draw(seed, size=20):
    rng = np.random.default_rng(seed)
    mean, deviation = rng.normal(size=size), rng.uniform(0.1, 3, size=size)
    target = mean + deviation * rng.normal(size=size)
    return target, mean, deviation, rng.uniform(0.1, 2, size=size)


@given(st.integers(0, 999))
def test_nll_is_that_of_scipy(seed):
    target, mean, deviation, weight = draw(seed)
    expected = -stats.norm.logpdf(target, mean, deviation)
    for w in (None, weight):
        assert metrics.gaussian_nll(target, mean, deviation, w) == approx(
            np.average(expected, weights=w), abs=1e-12
        )


@pytest.mark.parametrize("target", [-3.0, 0.2, 0.5, 4.0])
def test_crps_by_monte_carlo(target):
    # E|X − y| − ½ E|X − X'|
    rng = np.random.default_rng(0)
    x, other = rng.normal(0.5, 1.3, size=(2, 400_000))
    expected = np.mean(np.abs(x - target)) - np.mean(np.abs(x - other)) / 2
    assert metrics.gaussian_crps([target], [0.5], [1.3]) == approx(
        expected, abs=0.01
    )


@pytest.mark.parametrize("target", [-3.0, 0.2, 0.5, 4.0])
def test_crps_by_integration(target):
    # ∫ (Φ(x) − 1[x ≥ y])² dx
    below, above = np.linspace(-20, target, 200_001), None
    above = np.linspace(target, 20, 200_001)
    expected = np.trapezoid(stats.norm.cdf(below, 0.5, 1.3) ** 2, below)
    expected += np.trapezoid(stats.norm.sf(above, 0.5, 1.3) ** 2, above)
    assert metrics.gaussian_crps([target], [0.5], [1.3]) == approx(
        expected, abs=1e-8
    )


def test_crps_of_a_certain_prediction_is_the_absolute_error():
    assert metrics.gaussian_crps([3.0], [1.0], [1e-9]) == approx(2.0)


def test_crps_has_weights():
    one, two = (metrics.gaussian_crps([y], [0.0], [1.0]) for y in (0, 1))
    assert metrics.gaussian_crps(
        [0, 1], [0.0, 0.0], [1.0, 1.0], [3, 1]
    ) == approx((3 * one + two) / 4)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.95, 0.999])
def test_interval_is_that_of_scipy(level):
    _, mean, deviation, _ = draw(1)
    interval = metrics.gaussian_interval(mean, deviation, level)
    low, high = stats.norm.interval(level, mean, deviation)
    np.testing.assert_allclose(interval.lower, low, atol=1e-12)
    np.testing.assert_allclose(interval.upper, high, atol=1e-12)


def test_coverage_and_width():
    target, mean, deviation, _ = draw(2, size=100_000)
    interval = metrics.gaussian_interval(mean, deviation, 0.9)
    assert metrics.interval_coverage(target, *interval) == approx(0.9, abs=0.01)
    assert metrics.interval_width(*interval) == approx(
        2 * 1.6448536 * np.mean(deviation)
    )
    assert metrics.interval_coverage([1, 2, 9], [1, 1, 1], [2, 2, 2]) == approx(
        2 / 3
    )
    assert (
        metrics.interval_coverage([1, 9], [1, 1], [2, 2], [3, 1])
        == metrics.interval_width([0, 0], [1, 0], [3, 1])
        == 0.75
    )


def test_bad_input():
    with pytest.raises(ValueError, match="smallest value of 0.0"):
        metrics.gaussian_nll([0.0], [0.0], [0.0])
    with pytest.raises(ValueError, match="`mean` of shape"):
        metrics.gaussian_crps([0.0], [[0.0]], [1.0])
    with pytest.raises(ValueError, match=r"level=95"):
        metrics.gaussian_interval([0.0], [1.0], 95)
    with pytest.raises(ValueError, match="`standard_deviation` of shape"):
        metrics.gaussian_interval([0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="1 of 2 intervals"):
        metrics.interval_width([0, 1], [1, 0])
    with pytest.raises(ValueError, match="1 of 1 intervals"):
        metrics.interval_coverage([0], [1], [0])
