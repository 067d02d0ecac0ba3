import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_zigzag.metrics.streaming.bins import EqualBins, FloatBins

pytestmark = pytest.mark.first_quick_on("jax", "torch")

FLOATS = st.floats(width=32, allow_nan=False, allow_subnormal=False)


def index(bins, scores):
    scores = np.asarray(scores, dtype="float32")
    return ops.convert_to_numpy(bins.index(ops.convert_to_tensor(scores)))


@pytest.mark.parametrize(
    "bins",
    [FloatBins(1 << 10), FloatBins(1 << 16), FloatBins(1 << 24)]
    + [EqualBins(7, -1.0, 2.5), EqualBins(1, 0, 1)],
    ids=str,
)
@settings(max_examples=20)
@given(st.lists(FLOATS, min_size=2, max_size=20))
def test_bins_are_in_the_order_of_the_scores(bins, scores):
    scores = np.sort(np.array(scores, dtype="float32"))
    bin_index = index(bins, scores)
    assert bin_index.dtype == "int32"
    assert np.all(np.diff(bin_index) >= 0)
    assert 0 <= bin_index[0] and bin_index[-1] < bins.num_bins


@pytest.mark.parametrize("power", [10, 16, 18, 24])
@settings(max_examples=20)
@given(st.lists(FLOATS.filter(np.isfinite), min_size=1, max_size=20))
def test_scores_are_between_the_edges_of_their_bin(power, scores):
    bins = FloatBins(1 << power)
    low, high = bins.edges(index(bins, scores))
    assert np.all((low <= scores) & (scores <= high))
    # As wide as the resolution of that many bits.
    normal = np.abs(scores) > 1e-30
    wide = (high - low)[normal] / np.abs(scores)[normal]
    assert np.all(wide < 2.0 ** (9 - power) * 1.01)


def test_special_scores():
    bins = FloatBins(1 << 10)
    scores = [-np.inf, -3e38, -0.0, 0.0, 3e38, np.inf, np.nan, -np.nan]
    first, low, minus, zero, high, last, nan, minus_nan = index(bins, scores)
    assert 0 <= first < low < minus == zero < high < last < nan
    assert nan == minus_nan == (1 << 10) - 1


def test_equal_bins():
    bins = EqualBins(4, 0.0, 2.0)
    scores = [-np.inf, -1, 0, 0.4, 0.5, 1.9, 2, 7, np.inf, np.nan]
    assert index(bins, scores).tolist() == [0, 0, 0, 0, 1, 3, 3, 3, 3, 3]
    low, high = bins.edges(np.array([0, 3]))
    assert low.tolist() == [0.0, 1.5]
    assert high.tolist() == [0.5, 2.0]


@pytest.mark.parametrize("num_bins", [1000, 512, 1 << 25, 2.0**16, None])
def test_bad_number_of_float_bins(num_bins):
    with pytest.raises(ValueError, match="power of two.*Received: num_bins="):
        FloatBins(num_bins)


@pytest.mark.parametrize(
    "low, high", [(1, 1), (1, 0), (0, np.inf), (np.nan, 1)]
)
def test_bad_range(low, high):
    with pytest.raises(ValueError, match="`score_range` must be two finite"):
        EqualBins(10, low, high)


@pytest.mark.parametrize("num_bins", [0, -1, 1.5])
def test_bad_number_of_equal_bins(num_bins):
    with pytest.raises(
        ValueError, match="a positive integer. Received: num_bins="
    ):
        EqualBins(num_bins, 0, 1)
