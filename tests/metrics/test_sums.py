import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_zigzag.metrics import sums
from keras_zigzag.metrics.ranking import Block

COUNTS = st.integers(1, 300)
TOTALS = st.floats(1e-3, 1e3)
SMALL_TOTALS = st.one_of(st.just(0.0), st.floats(1e-12, 1e-3), TOTALS)


def block(count_before, total_before, count, total):
    values = (count_before, total_before, count, total)
    return Block(*(np.array([value], dtype="float64") for value in values))


def steps(count_before, total_before, count, total):
    t = np.arange(1, count + 1)
    return count_before + t, total_before + t * total / count


@given(st.integers(0, 10**7), st.integers(1, 1000))
def test_harmonic(start, count):
    t = np.arange(1, count + 1, dtype="longdouble")
    result = sums.harmonic(np.array([float(start)]), np.array([float(count)]))
    assert result[0] == pytest.approx(float(np.sum(1 / (start + t))), rel=1e-13)


@pytest.mark.parametrize("start", [0.0, 3.5, 98.9, 99.0, 1e3, 1e9])
def test_harmonic_of_parts_adds_up(start):
    parts = np.array([0.3, 1.7, 40.0, 1e5])
    starts = start + np.concatenate([[0], np.cumsum(parts)[:-1]])
    whole = sums.harmonic(np.array([start]), np.array([parts.sum()]))
    assert sums.harmonic(starts, parts).sum() == pytest.approx(
        whole[0], rel=1e-12
    )


@given(st.tuples(COUNTS, TOTALS, COUNTS, TOTALS))
def test_mean_sum(group):
    count, total = steps(*group)
    assert sums.mean_sum(block(*group))[0] == pytest.approx(
        np.sum(total / count), rel=1e-11
    )


@given(st.tuples(COUNTS, TOTALS, COUNTS, SMALL_TOTALS))
def test_inverse_mean_sum(group):
    count, total = steps(*group)
    assert sums.inverse_mean_sum(block(*group))[0] == pytest.approx(
        np.sum(count / total), rel=1e-10
    )


@given(COUNTS, TOTALS)
def test_inverse_mean_sum_of_the_first_group(count, total):
    first = block(0, 0, count, total)
    assert sums.inverse_mean_sum(first)[0] == pytest.approx(count**2 / total)


@given(st.tuples(COUNTS, TOTALS, COUNTS, TOTALS))
def test_trapezoid_sum(group):
    _, total = steps(*group)
    sums_so_far = np.concatenate([[group[1]], total])
    assert sums.trapezoid_sum(block(*group))[0] == pytest.approx(
        np.trapezoid(sums_so_far)
    )
