import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from keras_zigzag.metrics import ranking
from keras_zigzag.metrics.ranking import mid_ranks, rank, rank_by_value

from . import cases


@given(cases.losses(max_size=20))
def test_groups(case):
    value, score = case
    result = rank(score, value)
    expected = np.unique(score)
    np.testing.assert_array_equal(result.score, expected)
    np.testing.assert_array_equal(
        result.num_samples, [np.sum(score == s) for s in expected]
    )
    np.testing.assert_array_equal(result.count, result.num_samples)
    np.testing.assert_allclose(
        result.total, [value[score == s].sum() for s in expected]
    )


@given(cases.losses(max_size=20))
def test_rank_by_value_is_rank_by_itself(case):
    value, _ = case
    fast, slow = rank_by_value(value), rank(value, value)
    np.testing.assert_array_equal(fast.score, slow.score)
    np.testing.assert_allclose(fast.total, slow.total)


@given(cases.losses(max_size=20), st.integers(1, 7))
def test_blocks_go_through_all_groups(case, size):
    value, score = case
    result = rank(score, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BLOCK", size)
        blocks = list(result.blocks())
    count = np.concatenate([b.count_before + b.count for b in blocks])
    total = np.concatenate([b.total_before + b.total for b in blocks])
    np.testing.assert_allclose(count, np.cumsum(result.count))
    np.testing.assert_allclose(total, np.cumsum(result.total))


def test_zero_weight_is_no_sample():
    result = rank(
        np.array([1.0, 2.0]), np.array([5.0, 7.0]), np.array([0.0, 3.0])
    )
    assert result.score.tolist() == [2.0]
    assert (result.count[0], result.total[0]) == (3.0, 21.0)


def test_nan_is_one_group_above_infinity():
    score = np.array([np.nan, np.inf, -np.inf, np.nan, 0.0, -0.0])
    result = rank(score, np.arange(6.0))
    np.testing.assert_array_equal(result.score, [-np.inf, 0, np.inf, np.nan])
    assert result.num_samples.tolist() == [1, 2, 1, 2]
    assert result.total.tolist() == [2.0, 9.0, 1.0, 3.0]


@given(cases.losses(max_size=20))
def test_mid_ranks_are_the_average_ranks(case):
    _, score = case
    expected = (stats.rankdata(score) - 0.5) / len(score)
    np.testing.assert_allclose(mid_ranks(score), expected)
    np.testing.assert_allclose(
        mid_ranks(score, np.full(len(score), 0.7)), expected
    )


@given(st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=50))
def test_order_of_large_arrays(values):
    values = np.array(values + values[:3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "LARGE", 2)
        order, ordered = ranking.sort_finite(values)
    np.testing.assert_array_equal(ordered, np.sort(values))
    np.testing.assert_array_equal(values[order], ordered)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(values)))
