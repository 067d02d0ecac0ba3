import numpy as np
import pytest

from keras_zigzag import metrics, plots
from tests.plots.cases import CORRECT, ERROR, ID, labels, line

WEIGHT = np.tile([1.0, 2.0], 30)

ABSENT = [1, 1, 1, 0]


@pytest.mark.parametrize(
    "plot, happened, area",
    [
        (plots.lift_curve, [1.0, 1.0, 0.0, np.nan], metrics.aulc),
        (plots.risk_coverage_curve, [0.0, 1.0, 2.0, np.nan], metrics.aurc),
        (
            plots.lift_curve_regression,
            [1.0, 3.0, 2.0, 0.0],
            metrics.aulc_regression,
        ),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_weight_of_zero_is_no_sample(plot, happened, area):
    score = np.array([0.1, 0.2, 0.4, np.nan])
    ax = plot(happened, {"one": score, "two": -score}, sample_weight=ABSENT)
    first, second, oracle, _ = labels(ax)
    for label, scores in ((first, score), (second, -score)):
        exact = area(happened, scores, ABSENT)
        assert float(label.split()[-1]) == pytest.approx(exact, abs=5e-4)
    assert oracle.startswith("oracle")
    assert ax.get_title(loc="right") == ""


class TestLiftCurve:
    @pytest.mark.parametrize("weight", [None, WEIGHT])
    def test_values(self, weight):
        scores = {"distance": ID, "entropy": ID**2 % 0.01}
        ax = plots.lift_curve(CORRECT, scores, sample_weight=weight)
        for name, score in [*scores.items(), ("oracle", ~CORRECT)]:
            curve = metrics.lift_curve(CORRECT, score, weight)
            np.testing.assert_array_equal(
                line(ax, name), [curve.fraction, curve.lift]
            )
            area = metrics.aulc(CORRECT, score, weight)
            assert f"{name}, AULC {area:.3f}" in labels(ax)
        np.testing.assert_array_equal(line(ax, "random")[1], 1.0)

    def test_a_score_may_be_called_oracle(self):
        ax = plots.lift_curve(CORRECT, {"oracle": ID})
        area = metrics.aulc(CORRECT, ID)
        assert labels(ax)[0] == f"oracle, AULC {area:.3f}"
        assert len(ax.lines) == 3

    def test_random_is_what_a_constant_has(self):
        ax = plots.lift_curve(CORRECT, np.zeros(60))
        np.testing.assert_allclose(line(ax, "uncertainty")[1], 1.0)

    def test_all_correct_is_flat(self, rendered):
        ax = rendered(plots.lift_curve([1, 1], [0.1, 0.2]))
        np.testing.assert_array_equal(line(ax, "oracle")[1], 1.0)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="right, as Booleans"):
            plots.lift_curve(ERROR, ID)
        with pytest.raises(ValueError, match="all of them wrong"):
            plots.lift_curve([0, 0], [0.1, 0.2])
        with pytest.raises(ValueError, match="shape \\(59,\\)"):
            plots.lift_curve(CORRECT, ID[:-1])


class TestLiftCurveRegression:
    def test_values(self):
        ax = plots.lift_curve_regression(ERROR, {"distance": ID})
        for name, score in (("distance", ID), ("oracle", ERROR)):
            curve = metrics.lift_curve_regression(ERROR, score)
            np.testing.assert_array_equal(
                line(ax, name), [curve.fraction, curve.lift]
            )
            area = metrics.aulc_regression(ERROR, score)
            assert f"{name}, AULC {area:.3f}" in labels(ax)
        assert ax.get_yscale() == "log"

    def test_a_zero_error_has_no_oracle(self, rendered):
        ax = plots.lift_curve_regression([1.0, 0.0, 2.0], [0.1, 0.2, 0.3])
        assert not any("oracle" in label for label in labels(ax))
        assert ax.get_title(loc="right") == "no oracle: 1 error(s) of zero"
        rendered(ax)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="must not be negative"):
            plots.lift_curve_regression(-ERROR, ID)


class TestRiskCoverageCurve:
    @pytest.mark.parametrize("loss", [ERROR, ~CORRECT])
    def test_values(self, loss):
        ax = plots.risk_coverage_curve(loss, {"distance": ID})
        for name, score in (("distance", ID), ("oracle", loss)):
            curve = metrics.risk_coverage_curve(loss, score)
            np.testing.assert_array_equal(
                line(ax, name), [curve.coverage, curve.risk]
            )
            area = metrics.aurc(loss, score)
            assert f"{name}, AURC {area:.3g}" in labels(ax)
        np.testing.assert_allclose(line(ax, "random")[1], loss.mean())

    def test_two_models_in_one_picture(self):
        ax = plots.risk_coverage_curve(ERROR, {"one": ID})
        plots.risk_coverage_curve(2 * ERROR, {"two": ID}, ax=ax)
        assert labels(ax).count("random") == 1
        assert len(ax.lines) == 6

    def test_bad_input(self):
        with pytest.raises(ValueError, match="NaN or infinity"):
            plots.risk_coverage_curve([0.0, np.nan], [0.1, 0.2])
        with pytest.raises(ValueError, match="1 NaN of 2"):
            plots.risk_coverage_curve([0.0, 1.0], [0.1, np.nan])
