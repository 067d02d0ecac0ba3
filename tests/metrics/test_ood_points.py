import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, precision_recall_curve, roc_curve

from keras_zigzag import metrics

from . import cases, oracles
from .test_ood import TWO_SETS, approx, labelled

TPRS = st.sampled_from([0.25, 0.5, 0.75, 0.95, 1.0])


@given(cases.FEW_OF_BOTH, TPRS)
def test_fpr_is_the_mean_over_orders(sets, tpr):
    assert metrics.fpr_at_tpr(*sets, tpr) == approx(
        oracles.fpr_at_tpr(*sets, tpr)
    )
    swapped = -sets[1], -sets[0]
    assert metrics.fpr_at_tpr(*sets, tpr, positive="id") == approx(
        oracles.fpr_at_tpr(*swapped, tpr)
    )


@given(cases.two_sets(max_size=30, scores=st.floats(0, 1)), TPRS)
def test_fpr_without_ties_is_that_of_the_curve(sets, tpr):
    # Distinct scores, whatever was drawn.
    score = np.concatenate(sets).argsort(kind="stable").argsort()
    id_score, ood_score = np.split(score, [len(sets[0])])
    fpr, found, _ = roc_curve(
        *labelled(id_score, ood_score), drop_intermediate=False
    )
    assert metrics.fpr_at_tpr(id_score, ood_score, tpr) == approx(
        fpr[found >= tpr - 1e-12][0]
    )


def test_fpr_of_a_constant_score_is_about_the_tpr():
    sets = np.zeros(1000), np.zeros(2000)
    assert metrics.fpr_at_tpr(*sets) == pytest.approx(0.95, abs=1e-3)


def test_fpr_of_perfect_and_of_swapped_sets():
    low, high = np.arange(50), np.arange(50, 100)
    assert metrics.fpr_at_tpr(low, high) == 0.0
    assert metrics.fpr_at_tpr(high, low) == 1.0


@pytest.mark.parametrize("tpr", [0.0, -1, 95, float("nan")])
def test_bad_tpr(tpr):
    with pytest.raises(ValueError, match=r"`tpr` must be in \(0, 1\]"):
        metrics.fpr_at_tpr([1.0], [2.0], tpr)


@given(TWO_SETS, st.sampled_from(["id", "ood"]))
def test_curves_are_those_of_scikit_learn(sets, positive):
    label, score = labelled(*sets, positive)
    curves = metrics.detection_curves(*sets, positive)
    fpr, tpr, threshold = roc_curve(label, score, drop_intermediate=False)
    np.testing.assert_allclose(curves.fpr, fpr, atol=1e-12)
    np.testing.assert_allclose(curves.tpr, tpr, atol=1e-12)
    sign = 1 if positive == "ood" else -1
    np.testing.assert_array_equal(sign * curves.threshold, threshold)
    precision, recall, _ = precision_recall_curve(label, score)
    np.testing.assert_allclose(curves.precision, precision[::-1], atol=1e-12)
    np.testing.assert_allclose(curves.tpr, recall[::-1], atol=1e-12)
    assert curves.prevalence == approx(np.mean(label))


@given(TWO_SETS)
def test_areas_are_those_under_the_curves(sets):
    curves = metrics.detection_curves(*sets)
    assert auc(curves.fpr, curves.tpr) == approx(metrics.roc_auc(*sets))
    assert auc(curves.tpr, curves.precision) == approx(metrics.pr_auc(*sets))
