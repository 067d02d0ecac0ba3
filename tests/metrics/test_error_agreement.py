import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from keras_zigzag import metrics

from . import cases

approx = pytest.approx


def vary(case):
    return all(len(np.unique(values)) > 1 for values in case)


@given(cases.errors(max_size=30))
def test_correlations_are_those_of_scipy(case):
    assume(vary(case))
    assert metrics.pearson(*case) == approx(
        stats.pearsonr(*case).statistic, abs=1e-12
    )
    assert metrics.spearman(*case) == approx(
        stats.spearmanr(*case).statistic, abs=1e-12
    )


@given(cases.errors(max_size=8), st.integers(0, 99))
def test_weights_count_samples(case, seed):
    assume(vary(case))
    error, score = case
    times = np.random.default_rng(seed).integers(1, 4, size=len(error))
    many = np.repeat(error, times), np.repeat(score, times)
    for metric in (metrics.pearson, metrics.spearman):
        assert metric(error, score, times) == approx(metric(*many), abs=1e-11)
        assert metric(error, score, times / 7) == approx(
            metric(*many), abs=1e-11
        )


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e150])
def test_pearson_at_any_scale(scale):
    error, score = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0])
    assert metrics.pearson(error * scale, score / scale) == approx(
        metrics.pearson(error, score)
    )


def test_pearson_far_from_zero():
    error = np.array([1.0, 2.0, 4.0])
    assert metrics.pearson(error + 2.0**40, error) == approx(1.0)


@pytest.mark.parametrize("metric", [metrics.pearson, metrics.spearman])
@pytest.mark.parametrize(
    "error, score, name",
    [
        ([1.0, 1.0], [1.0, 2.0], "absolute_error"),
        ([1.0, 2.0], [0.1, 0.1], "uncertainty"),
        ([1.0], [0.1], "absolute_error"),
    ],
)
def test_no_correlation_with_a_constant(metric, error, score, name):
    with pytest.raises(ValueError, match=f"constant. Received: `{name}`"):
        metric(error, score)


def test_pearson_needs_finite_scores():
    with pytest.raises(ValueError, match="1 such values of 2"):
        metrics.pearson([1.0, 2.0], [1.0, float("inf")])


@given(cases.errors(max_size=30, scores=st.integers(1, 9).map(float)))
def test_cumulative_curve(case):
    error, score = case
    x, y = metrics.cumulative_calibration_curve(error, score)
    for threshold, *point in zip(np.unique(score), x[1:], y[1:], strict=True):
        kept = score <= threshold
        assert point == approx(
            [
                score[kept].sum() / score.sum(),
                error[kept].sum() / error.sum(),
            ]
        )


@given(cases.errors(max_size=30, scores=st.integers(1, 9).map(float)))
def test_cumulative_error_is_an_area(case):
    x, y = metrics.cumulative_calibration_curve(*case)
    fine = np.union1d(np.linspace(0, 1, 2001), x)
    gap = np.abs(np.interp(fine, x, y) - fine)
    assert metrics.cumulative_calibration_error(*case) == approx(
        np.trapezoid(gap, fine), abs=1e-6
    )


def test_cumulative_error_of_proportional_scores():
    error = np.array([1.0, 3.0, 2.0, 2.0])
    assert metrics.cumulative_calibration_error(error, 7 * error) == approx(0)
    assert metrics.cumulative_calibration_error([1, 2], [3, 3]) == approx(0)


def test_cumulative_curve_without_error_or_score():
    with pytest.raises(ValueError, match="`absolute_error` .* a sum of zero"):
        metrics.cumulative_calibration_curve([0.0, 0.0], [1, 2])
    with pytest.raises(ValueError, match="`uncertainty` .* a sum of zero"):
        metrics.cumulative_calibration_curve([1.0, 2.0], [0, 0])
    with pytest.raises(ValueError, match="smallest value of -1"):
        metrics.cumulative_calibration_curve([1.0, 2.0], [-1, 0])
