import numpy as np
import pytest
from scipy.stats import linregress

from keras_zigzag import metrics, plots
from tests.plots.cases import ERROR, ID, LABELS, PROBABILITIES, labels, line


class TestErrorAgainstUncertainty:
    def test_values(self):
        ax = plots.error_against_uncertainty(ERROR, ID)
        np.testing.assert_array_equal(
            ax.collections[0].get_offsets(), np.stack([ID, ERROR], axis=-1)
        )
        expected = linregress(ID, ERROR)
        x, y = line(ax, "linear fit")
        np.testing.assert_allclose(y, expected.intercept + expected.slope * x)
        assert labels(ax) == [
            "sample (n = 60)",
            f"linear fit, r = {expected.rvalue:.3f}",
        ]

    def test_says_what_is_left_out(self):
        score = ID.copy()
        score[:2] = np.nan, np.inf
        ax = plots.error_against_uncertainty(ERROR, score)
        assert labels(ax)[0] == "sample (n = 58)"
        assert ax.get_title(loc="right") == "2 of 60 not finite, left out"

    def test_a_weight_of_zero_is_no_sample(self):
        ax = plots.error_against_uncertainty(
            [1.0, 2.0, 3.0, np.nan], [0.1, 0.4, 0.4, 9.0], [1, 1, 1, 0]
        )
        assert labels(ax) == ["sample (n = 3)", "linear fit, r = 0.866"]
        assert ax.get_title(loc="right") == ""

    def test_bad_input(self):
        with pytest.raises(ValueError, match="no correlation"):
            plots.error_against_uncertainty(ERROR, np.ones(60))
        with pytest.raises(ValueError, match="shape \\(60, 1\\)"):
            plots.error_against_uncertainty(ERROR, ID[:, np.newaxis])
        with pytest.raises(ValueError, match="none of them finite"):
            plots.error_against_uncertainty([np.nan], [1.0])


class TestCumulativeCalibrationCurve:
    def test_values(self):
        ax = plots.cumulative_calibration_curve(ERROR, {"distance": ID})
        np.testing.assert_array_equal(
            line(ax, "distance"),
            metrics.cumulative_calibration_curve(ERROR, ID),
        )
        area = metrics.cumulative_calibration_error(ERROR, ID)
        assert labels(ax) == [f"distance, area {area:.3f}", "proportional"]

    def test_bad_input(self):
        with pytest.raises(ValueError, match="must not be negative"):
            plots.cumulative_calibration_curve(ERROR, -ID)


class TestReliabilityDiagram:
    @pytest.mark.parametrize("binning", ["width", "mass"])
    def test_values(self, binning):
        ax = plots.reliability_diagram(
            LABELS, {"ZigZag": PROBABILITIES}, num_bins=5, binning=binning
        )
        curve = metrics.reliability_curve(LABELS, PROBABILITIES, 5, binning)
        np.testing.assert_array_equal(
            line(ax, "ZigZag"), [curve.confidence, curve.frequency]
        )
        stems = np.stack(ax.collections[0].get_segments())
        np.testing.assert_array_equal(stems[:, 1, 1], curve.share)
        error = metrics.expected_calibration_error(
            LABELS, PROBABILITIES, 5, binning=binning
        )
        assert labels(ax) == [f"ZigZag, ECE {error:.3f}", "calibrated"]

    def test_bad_input(self):
        with pytest.raises(ValueError, match="apply softmax"):
            plots.reliability_diagram(LABELS, PROBABILITIES * 9)
