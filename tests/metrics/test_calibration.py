import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_zigzag import metrics

from . import oracles
from .test_probabilities import draw

approx = pytest.approx


@given(st.integers(0, 999), st.integers(1, 20))
def test_equal_width(seed, num_bins):
    label, p, _ = draw(seed)
    share, confidence, frequency = oracles.calibration(
        p.max(-1), p.argmax(-1) == label, num_bins
    )
    curve = metrics.reliability_curve(label, p, num_bins)
    np.testing.assert_allclose(curve.confidence, confidence)
    np.testing.assert_allclose(curve.frequency, frequency)
    np.testing.assert_allclose(curve.share, share)
    gap = np.abs(confidence - frequency)
    for norm, expected in (
        ("l1", np.sum(share * gap)),
        ("l2", np.sqrt(np.sum(share * gap**2))),
        ("max", np.max(gap)),
    ):
        assert metrics.expected_calibration_error(
            label, p, num_bins, norm
        ) == approx(expected, abs=1e-12)


@given(st.integers(0, 999), st.integers(1, 20))
def test_classwise(seed, num_bins):
    label, p, _ = draw(seed)
    expected = []
    for index in range(p.shape[-1]):
        share, confidence, frequency = oracles.calibration(
            p[:, index], label == index, num_bins
        )
        expected.append(np.sum(share * np.abs(confidence - frequency)))
    assert metrics.classwise_calibration_error(label, p, num_bins) == approx(
        np.mean(expected), abs=1e-12
    )


@given(st.integers(0, 999))
def test_equal_mass_is_split_by_rank(seed):
    label, p, _ = draw(seed, num_samples=60)
    order = np.argsort(p.max(-1))
    curve = metrics.reliability_curve(label, p, num_bins=6, binning="mass")
    confidence = p.max(-1)[order].reshape(6, 10).mean(-1)
    frequency = (p.argmax(-1) == label)[order].reshape(6, 10).mean(-1)
    np.testing.assert_allclose(curve.confidence, confidence)
    np.testing.assert_allclose(curve.frequency, frequency, atol=1e-12)
    np.testing.assert_allclose(curve.share, 1 / 6)


@pytest.mark.parametrize("binning", ["width", "mass"])
@given(st.integers(0, 99))
def test_order_and_weights(binning, seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=20)
    # Few values, so that bins of equal mass have ties at their edges.
    p = rng.integers(0, 5, size=20) / 4
    times = rng.integers(1, 4, size=20)
    order = rng.permutation(20)
    for metric in (
        metrics.expected_calibration_error,
        metrics.classwise_calibration_error,
    ):
        expected = metric(
            np.repeat(label, times), np.repeat(p, times), binning=binning
        )
        assert metric(
            label[order], p[order], binning=binning, sample_weight=times[order]
        ) == approx(expected, abs=1e-12)


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_constant_confidence_is_one_bin(binning):
    p = np.tile([0.7, 0.3], (10, 1))
    label = np.repeat([0, 1], [7, 3])
    curve = metrics.reliability_curve(label, p, binning=binning)
    assert curve.share.tolist() == [1.0]
    assert metrics.expected_calibration_error(
        label, p, binning=binning
    ) == approx(0.0)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"num_bins": 0}, "num_bins=0"),
        ({"norm": "l3"}, "norm='l3'"),
        ({"binning": "size"}, "binning='size'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        metrics.expected_calibration_error([0], [[0.5, 0.5]], **arguments)
