import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss

from keras_zigzag import metrics

approx = pytest.approx


def draw(seed, num_samples=50, num_classes=4):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(num_classes, 0.3), size=num_samples)
    label = rng.integers(num_classes, size=num_samples)
    return label, p, rng.uniform(0.1, 2, size=num_samples)


@given(st.integers(0, 999))
def test_all_classes_as_scikit_learn(seed):
    label, p, weight = draw(seed)
    one_hot = np.eye(4)[label]
    for w in (None, weight):
        assert metrics.brier_score(label, p, w) == approx(
            np.average(((p - one_hot) ** 2).sum(-1), weights=w), abs=1e-12
        )
        assert metrics.negative_log_likelihood(label, p, w) == approx(
            log_loss(label, p, sample_weight=w, labels=range(4)), abs=1e-12
        )


@given(st.integers(0, 999))
def test_binary_as_scikit_learn(seed):
    label, p, weight = draw(seed, num_classes=2)
    for w in (None, weight):
        assert metrics.brier_score(label, p[:, 1], w) == approx(
            brier_score_loss(label, p[:, 1], sample_weight=w, labels=[0, 1]),
            abs=1e-12,
        )
        assert metrics.negative_log_likelihood(label, p[:, 1], w) == approx(
            log_loss(label, p[:, 1], sample_weight=w, labels=[0, 1]), abs=1e-12
        )
    assert metrics.brier_score(label, p) == approx(
        2 * metrics.brier_score(label, p[:, 1])
    )


def test_dense_tasks_have_a_sample_per_place():
    label, p, weight = draw(0, num_samples=24)
    shape = (2, 3, 4)
    for metric in (metrics.brier_score, metrics.negative_log_likelihood):
        assert metric(
            label.reshape(shape),
            p.reshape(*shape, 4),
            weight.reshape(shape),
        ) == metric(label, p, weight)


def test_one_hot_labels_are_no_binary_ones():
    label, p, _ = draw(0)
    one_hot = np.eye(4)[label]
    for metric in (metrics.brier_score, metrics.negative_log_likelihood):
        with pytest.raises(ValueError, match="Received: one-hot labels"):
            metric(one_hot, p)
    # Several binary labels of which one is true, with their own probabilities.
    several = 0.9 * p
    assert metrics.brier_score(one_hot, several) == approx(
        np.mean((several - one_hot) ** 2)
    )


def test_certain_and_wrong():
    p = np.array([[1.0, 0.0]], dtype="float32")
    assert metrics.brier_score([1], p) == 2.0
    # Not infinity: a float32 of 0 may be anything below its resolution.
    assert metrics.negative_log_likelihood([1], p) == approx(
        -np.log(np.finfo("float32").eps)
    )


@pytest.mark.parametrize(
    "labels, probabilities, message",
    [
        ([0, 1], [[2.0, -1.0], [0.5, 0.5]], "values from -1.0 to 2.0"),
        ([0], [[0.2, 0.2]], "sums from 0.4 to 0.4"),
        ([2], [[0.5, 0.5]], "values from 2 to 2"),
        ([0.5], [[0.5, 0.5]], "values from 0.5 to 0.5"),
        ([[0, 1]], [[0.5, 0.5], [0.5, 0.5]], r"`labels` of shape \(1, 2\)"),
        ([0], [[float("nan"), 0.5]], "1 such values of 2"),
    ],
)
def test_bad_input(labels, probabilities, message):
    with pytest.raises(ValueError, match=message):
        metrics.brier_score(labels, probabilities)


def test_bad_weight():
    with pytest.raises(ValueError, match="`sample_weight` must have the shape"):
        metrics.brier_score([0, 1], [[1, 0], [0, 1]], [1.0])


def test_a_column_of_probabilities_is_told_of():
    for metric in (metrics.brier_score, metrics.negative_log_likelihood):
        with pytest.raises(ValueError, match=r"give `probabilities\[..., 0\]`"):
            metric([0, 1], [[0.2], [0.7]])
