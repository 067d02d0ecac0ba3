import numpy as np
import pytest
from keras import ops

from keras_zigzag.metrics.streaming import exact_sums

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def total(index, value, num_bins=3):
    parts = exact_sums.bin_parts(
        ops.convert_to_tensor(np.asarray(index, dtype="int32")),
        ops.convert_to_tensor(np.asarray(value, dtype="float32")),
        num_bins,
    )
    return sum(ops.convert_to_numpy(p).astype("float64") for p in parts)


@pytest.mark.parametrize("size", [1, 7, 512, 1000, 5000])
def test_sums_are_those_of_float64(size):
    rng = np.random.default_rng(size)
    index = rng.integers(0, 3, size=size)
    value = rng.lognormal(sigma=2, size=size).astype("float32")
    value *= rng.choice([-1, 1], size=size)
    expected = np.bincount(index, value.astype("float64"), minlength=3)
    np.testing.assert_allclose(
        total(index, value), expected, atol=1e-9 * np.abs(value).max()
    )


@pytest.mark.parametrize("value", [0.1, 1.0, 3e38, 1e-20])
def test_a_half_million_of_the_same(value):
    # A sum in float32 is off by a percent.
    count = 1 << 19 if value < 1e38 else 1
    values = np.full(count, value, dtype="float32")
    expected = count * float(values[0])
    assert total(np.ones(count), values)[1] == pytest.approx(expected, rel=1e-8)


def test_whole_numbers_are_exact():
    value = np.random.default_rng(0).integers(0, 255, size=3000)
    assert total(np.zeros(3000), value).tolist() == [value.sum(), 0, 0]


@pytest.mark.parametrize("value", [0.0, 1e-40])
def test_nothing(value):
    assert total([0, 1], [value, value]).tolist() == [0, 0, 0]


@pytest.mark.parametrize("start", [2.0**24, 2.0**30, 1e12, 2.0**45])
def test_counts_go_on(start):
    high, low = (np.array([x], dtype="float32") for x in (start, 0))
    start = float(high[0])
    for _ in range(5):
        high, low = exact_sums.add(
            ops.convert_to_tensor(high),
            ops.convert_to_tensor(low),
            ops.convert_to_tensor(np.array([3.0], dtype="float32")),
        )
    sums = [float(ops.convert_to_numpy(x)[0]) for x in (high, low)]
    assert sum(sums) == start + 15
