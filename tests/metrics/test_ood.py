import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    auc,
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
)

from keras_zigzag import metrics

from . import cases, oracles

TWO_SETS = st.one_of(
    cases.two_sets(max_size=30),
    cases.two_sets(max_size=30, scores=cases.UNTIED),
)


def approx(value):
    return pytest.approx(value, rel=0, abs=1e-12)


def labelled(id_score, ood_score, positive="ood"):
    """Labels and scores as scikit-learn has them."""
    is_ood = np.repeat([0, 1], [len(id_score), len(ood_score)])
    score = np.concatenate([id_score, ood_score])
    return (is_ood, score) if positive == "ood" else (1 - is_ood, -score)


def sklearn_pr_auc(label, score, sample_weight=None):
    precision, recall, _ = precision_recall_curve(
        label, score, sample_weight=sample_weight
    )
    return auc(recall, precision)


@given(TWO_SETS)
def test_roc_auc_is_that_of_scikit_learn(sets):
    assert metrics.roc_auc(*sets) == approx(roc_auc_score(*labelled(*sets)))


@given(cases.two_sets())
def test_roc_auc_is_a_share_of_pairs(sets):
    assert metrics.roc_auc(*sets) == approx(oracles.roc_auc(*sets))


@given(TWO_SETS, st.sampled_from(["id", "ood"]))
def test_pr_areas_are_those_of_scikit_learn(sets, positive):
    label, score = labelled(*sets, positive)
    assert metrics.average_precision(*sets, positive) == approx(
        average_precision_score(label, score)
    )
    assert metrics.pr_auc(*sets, positive) == approx(
        sklearn_pr_auc(label, score)
    )
    assert metrics.prevalence(*sets, positive) == approx(np.mean(label))


@given(TWO_SETS, st.integers(0, 99))
def test_weights_are_those_of_scikit_learn(sets, seed):
    label, score = labelled(*sets)
    weight = np.random.default_rng(seed).uniform(0.1, 3, size=len(score))
    split = np.split(weight, [len(sets[0])])
    named = {"id_weight": split[0], "ood_weight": split[1]}
    assert metrics.roc_auc(*sets, **named) == approx(
        roc_auc_score(label, score, sample_weight=weight)
    )
    assert metrics.average_precision(*sets, **named) == approx(
        average_precision_score(label, score, sample_weight=weight)
    )
    assert metrics.pr_auc(*sets, **named) == approx(
        sklearn_pr_auc(label, score, weight)
    )
    assert metrics.prevalence(*sets, **named) == approx(
        np.average(label, weights=weight)
    )


def test_weight_of_one_set_only():
    assert metrics.roc_auc([1, 3], [2], id_weight=[3, 1]) == 0.75
    assert metrics.prevalence([1, 3], [2], ood_weight=[2]) == 0.5


@pytest.mark.parametrize("num_id, num_ood", [(3, 1), (1, 3), (1000, 77)])
def test_constant_score_is_a_random_one(num_id, num_ood):
    sets = np.ones(num_id), np.ones(num_ood)
    assert metrics.roc_auc(*sets) == 0.5
    for positive, num in (("ood", num_ood), ("id", num_id)):
        share = num / (num_id + num_ood)
        assert metrics.average_precision(*sets, positive) == share
        assert metrics.prevalence(*sets, positive) == share
        # The trapezoid's well-known flaw, as documented.
        assert metrics.pr_auc(*sets, positive) == approx((1 + share) / 2)


def test_values_of_pytorch_ood():
    # Of pytorch-ood 0.4.0 on the same samples; its FPR is also that of
    # torch-uncertainty 0.13.0.
    id_score, ood_score = (
        [0.1, 0.35, 0.2, 0.6, 0.05, 0.44],
        [0.3, 0.7, 0.9, 0.5],
    )
    sets = id_score, ood_score
    assert metrics.roc_auc(*sets) == approx(0.8333333333333334)
    assert metrics.pr_auc(*sets) == approx(0.8110119047619047)
    assert metrics.pr_auc(*sets, "id") == approx(0.8873015873015875)
    for tpr, expected in ((0.5, 0.0), (0.75, 1 / 6), (0.95, 0.5)):
        assert metrics.fpr_at_tpr(*sets, tpr) == approx(expected)


def test_single_samples():
    assert metrics.roc_auc([1], [2]) == 1.0
    assert metrics.roc_auc([2], [1]) == 0.0
    assert metrics.average_precision([1], [2]) == 1.0


@pytest.mark.parametrize("dtype", [bool, int])
def test_warns_of_labels_in_the_order_of_scikit_learn(dtype):
    labels = np.array([0, 1, 1, 0], dtype)
    scores = np.array([0.1, 0.8, 0.4, 0.3])
    with pytest.warns(UserWarning, match=r"scores\[labels == 0\]") as caught:
        metrics.roc_auc(labels, scores)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="looks like labels"):
        metrics.fpr_at_tpr(labels, scores)
    # Votes are uncertainties, too; and nothing else is labels.
    metrics.roc_auc(labels, labels)
    metrics.roc_auc(labels[:3], scores)
    metrics.roc_auc(labels.astype(float), scores)


@pytest.mark.parametrize(
    "metric",
    [
        "roc_auc",
        "average_precision",
        "pr_auc",
        "prevalence",
        "fpr_at_tpr",
        "detection_curves",
    ],
)
def test_empty_set(metric):
    with pytest.raises(ValueError, match="`ood_uncertainty` must hold"):
        getattr(metrics, metric)([1.0], [])
    with pytest.raises(ValueError, match="`id_uncertainty` must hold"):
        getattr(metrics, metric)([], [1.0])


def test_unknown_positive_class():
    with pytest.raises(ValueError, match="positive='in'"):
        metrics.pr_auc([1.0], [2.0], positive="in")
