import numpy as np
import pytest

from keras_zigzag import metrics, plots
from tests.plots.cases import ID, OOD, labels, line


class TestRocCurve:
    def test_values(self):
        ax = plots.roc_curve(ID, OOD)
        for name, scores in OOD.items():
            curve = metrics.detection_curves(ID, scores)
            np.testing.assert_array_equal(
                line(ax, name), [curve.fpr, curve.tpr]
            )
        area = metrics.roc_auc(ID, OOD["near"])
        assert labels(ax)[0] == f"near, AUC {area:.3f}"
        assert labels(ax)[-1] == "random"

    def test_an_array_alone_is_called_ood(self):
        assert labels(plots.roc_curve(ID, OOD["near"]))[0].startswith("OOD, ")

    def test_nan_raises_or_ranks_as_the_worst(self):
        scores = np.append(ID, np.nan)
        with pytest.raises(ValueError, match="1 NaN"):
            plots.roc_curve(scores, OOD)
        ax = plots.roc_curve(scores, OOD, nan_policy="worst")
        curve = metrics.detection_curves(scores, OOD["far"], nan_policy="worst")
        np.testing.assert_array_equal(line(ax, "far")[1], curve.tpr)

    def test_an_error_leaves_the_axes_as_they_were(self):
        ax = plots.roc_curve(ID, {"near": OOD["near"]})
        with pytest.raises(ValueError, match="at least one sample"):
            plots.roc_curve(ID, {"far": OOD["far"], "none": []}, ax=ax)
        assert len(ax.lines) == 2

    @pytest.mark.parametrize("ood", [{}, [], [np.nan], "near"])
    def test_bad_input(self, ood):
        with pytest.raises(ValueError, match="Received"):
            plots.roc_curve(ID, ood)


class TestPrecisionRecallCurve:
    @pytest.mark.parametrize("positive", ["ood", "id"])
    def test_values(self, positive):
        ax = plots.precision_recall_curve(ID, OOD, positive=positive)
        for name, scores in OOD.items():
            curve = metrics.detection_curves(ID, scores, positive)
            np.testing.assert_array_equal(
                line(ax, name), [curve.tpr[1:], curve.precision[1:]]
            )
            precision = metrics.average_precision(ID, scores, positive)
            assert (
                f"{name}, AP {precision:.3f} (random {curve.prevalence:.3f})"
            ) in labels(ax)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="positive='OOD'"):
            plots.precision_recall_curve(ID, OOD, positive="OOD")
        with pytest.raises(ValueError, match="at least one sample"):
            plots.precision_recall_curve([], OOD)


class TestHistograms:
    @staticmethod
    def heights(ax):
        return [
            patch.get_data() for patch in ax.patches if not patch.get_fill()
        ]

    def test_values(self):
        ax = plots.histograms(ID, OOD, num_bins=7)
        edges = np.linspace(
            min(ID.min(), OOD["near"].min()),
            max(OOD["near"].max(), OOD["far"].max()),
            8,
        )
        for scores, drawn in zip(
            [ID, *OOD.values()], self.heights(ax), strict=True
        ):
            np.testing.assert_allclose(drawn.edges, edges)
            count, _ = np.histogram(scores, drawn.edges)
            np.testing.assert_allclose(drawn.values, count / len(scores))
        assert labels(ax) == ["ID (n = 60)", "near (n = 40)", "far (n = 50)"]
        assert ax.get_yscale() == "log"

    def test_id_alone_and_by_name(self):
        ax = plots.histograms({"CIFAR-10": ID}, yscale="linear")
        assert labels(ax) == ["CIFAR-10 (n = 60)"]
        assert ax.get_yscale() == "linear"

    def test_an_ood_set_may_be_called_id(self):
        ax = plots.histograms([0.1, 0.2, 0.3], {"ID": [0.4, 0.5]})
        assert labels(ax) == ["ID (n = 3)", "ID (n = 2)"]

    def test_says_what_is_left_out(self):
        ax = plots.histograms([0.0, 1.0], {"light_weight": [0.0, 0.0, 1.0]})
        assert labels(ax)[1] == "light_weight (n = 3)"
        plots.histograms([1.0, 1.0 + 3e-16])
        ax = plots.histograms([0.1, np.nan, np.inf, 0.3], [0.2])
        assert labels(ax)[0] == "ID (n = 2; 2 of 4 not finite, left out)"
        assert self.heights(ax)[0].values.sum() == 1.0

    def test_a_weight_of_zero_is_no_sample(self):
        scores, weight = [0.1, 0.2, np.nan], [1, 1, 0]
        ax = plots.histograms(scores, {"near": [0.3]}, id_weight=weight)
        assert labels(ax) == ["ID (n = 2)", "near (n = 1)"]
        with pytest.raises(ValueError, match="`id_weight` of shape \\(2,\\)"):
            plots.histograms(scores, id_weight=[1, 0])

    def test_a_second_call_cuts_nothing_off(self):
        ax = plots.histograms({"one": [-3.0, 0.5]})
        plots.histograms({"two": [0.0, 1.0]}, ax=ax)
        assert ax.get_xlim() == (-3.0, 1.0)

    def test_one_and_the_same_value(self, rendered):
        rendered(plots.histograms([0.0, 0.0], [0.0]))

    @pytest.mark.parametrize("scores", [[], [np.nan], 1.0, ["a"]])
    def test_bad_input(self, scores):
        with pytest.raises(ValueError, match="Received"):
            plots.histograms(scores)
