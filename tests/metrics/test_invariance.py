"""What holds for every metric that goes by the order of the scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_zigzag import metrics

from . import cases

LOSS_METRICS = [
    metrics.aurc,
    metrics.excess_aurc,
    metrics.augrc,
    metrics.prediction_rejection_ratio,
    metrics.risk_at_coverage,
    metrics.coverage_at_risk,
    metrics.ause,
    metrics.aulc_regression,
    metrics.raulc_regression,
    metrics.spearman,
]
CORRECT_METRICS = [metrics.aulc, metrics.raulc]
DETECTION_METRICS = [
    metrics.roc_auc,
    metrics.average_precision,
    metrics.pr_auc,
    metrics.fpr_at_tpr,
]
# Metrics that are a ratio of sums, where only relative weights matter.
SCALE_FREE = {
    "augrc",
    "prediction_rejection_ratio",
    "spearman",
    "roc_auc",
    "average_precision",
    "pr_auc",
}
ALL = pytest.mark.parametrize(
    "metric",
    LOSS_METRICS + CORRECT_METRICS + DETECTION_METRICS,
    ids=lambda metric: metric.__name__,
)
SEEDS = st.integers(0, 9999)


def approx(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def draw(metric, seed, size=12):
    """What happened and scores with ties, as the metric takes them."""
    rng = np.random.default_rng(seed)
    score = rng.integers(-3, 4, size=size).astype("float64")
    # All distinct values in, so that no metric is undefined.
    score[:4] = [-3, 0, 0, 3]
    if metric in DETECTION_METRICS:
        return score[size // 2 :], score[: size // 2]
    happened = rng.integers(1, 9, size=size) / 8
    happened[:4] = [1, 0.5, 2, 1]
    if metric in CORRECT_METRICS:
        return happened > 0.5, score
    return happened, score


def on_scores(metric, arrays, function):
    """The arrays with a function of the scores in their place."""
    first, second = arrays
    if metric in DETECTION_METRICS:
        return function(first), function(second)
    return first, function(second)


def weighted(metric, arrays, first, second):
    """The metric with one array of weights for each array."""
    if metric in DETECTION_METRICS:
        return metric(*arrays, id_weight=first, ood_weight=second)
    return metric(*arrays, sample_weight=first)


@ALL
def test_python_float(metric):
    assert type(metric(*draw(metric, 0))) is float


@ALL
@given(SEEDS)
def test_order_of_the_samples(metric, seed):
    first, second = draw(metric, seed)
    rng = np.random.default_rng(seed + 1)
    order = rng.permutation(len(first))
    # The samples of the two sets are not paired.
    other = rng.permutation(len(second))
    if metric not in DETECTION_METRICS:
        other = order
    assert metric(first[order], second[other]) == approx(metric(first, second))


@ALL
@pytest.mark.parametrize(
    "transform",
    [
        lambda score: 1e6 * score,
        lambda score: 1e300 * score,
        lambda score: score - 1e3,
        lambda score: 5e-324 * score,
        lambda score: score.astype("float16"),
        lambda score: score.astype("float32") * np.float32(1e-45),
        lambda score: score.astype("int8"),
        lambda score: np.where(np.abs(score) == 3, np.inf * score, score),
        np.arctan,
    ],
    ids=[
        "large",
        "huge",
        "negative",
        "denormal",
        "float16",
        "float32",
        "int8",
        "infinite",
        "arctan",
    ],
)
def test_monotone_transforms(metric, transform):
    for seed in range(20):
        arrays = draw(metric, seed)
        with np.errstate(invalid="ignore"):
            other = on_scores(metric, arrays, transform)
        assert metric(*other) == approx(metric(*arrays))


@ALL
@given(SEEDS)
def test_a_weight_of_two_is_two_samples(metric, seed):
    arrays = draw(metric, seed)
    rng = np.random.default_rng(seed + 1)
    times = [rng.integers(1, 5, size=len(array)) for array in arrays]
    if metric not in DETECTION_METRICS:
        times[1] = times[0]
    many = [np.repeat(a, t) for a, t in zip(arrays, times, strict=True)]
    assert weighted(metric, arrays, *times) == approx(metric(*many))
    ones = [np.ones(len(array)) for array in arrays]
    assert weighted(metric, arrays, *ones) == approx(metric(*arrays))


@ALL
@given(SEEDS)
def test_a_weight_of_zero_is_no_sample(metric, seed):
    arrays = draw(metric, seed)
    extra = [np.concatenate([a, a[::-1][:2]]) for a in arrays]
    weights = [np.append(np.ones(len(a)), [0, 0]) for a in arrays]
    assert weighted(metric, extra, *weights) == approx(metric(*arrays))


@ALL
def test_what_is_not_there_is_not_checked(metric):
    arrays = draw(metric, 0)
    weights = [np.append(np.ones(len(a)), [0, 0]) for a in arrays]
    extra = [np.append(a, [np.nan, -np.inf]) for a in arrays]
    assert weighted(metric, extra, *weights) == approx(metric(*arrays))
    hidden = [
        np.ma.array(a, mask=w == 0) for a, w in zip(extra, weights, strict=True)
    ]
    assert weighted(metric, hidden, *weights) == approx(metric(*arrays))


@pytest.mark.parametrize(
    ("metric", "arrays"),
    [
        (metrics.pearson, ([1.0, 2.0, 4.0], [0.1, 0.4, 0.3])),
        (metrics.cumulative_calibration_error, ([1.0, 2.0], [0.1, 0.4])),
        (metrics.brier_score, ([1, 0], [[0.3, 0.7], [0.6, 0.4]])),
        (metrics.brier_score, ([1, 0], [0.3, 0.6])),
        (metrics.negative_log_likelihood, ([1, 0], [[0.3, 0.7], [0.6, 0.4]])),
        (metrics.expected_calibration_error, ([1, 0], [[0.3, 0.7]] * 2)),
        (metrics.gaussian_nll, ([1.0, 2.0], [0.0, 3.0], [1.0, 2.0])),
        (metrics.gaussian_crps, ([1.0, 2.0], [0.0, 3.0], [1.0, 2.0])),
        (metrics.interval_coverage, ([1.0, 5.0], [0.0, 3.0], [1.0, 4.0])),
        (metrics.interval_width, ([0.0, 3.0], [1.0, 4.0])),
    ],
)
def test_what_is_not_there_is_not_checked_in_others(metric, arrays):
    rows = [np.asarray(one, "float64") for one in arrays]
    bad = [np.concatenate([a, np.full_like(a[:1], np.nan)]) for a in rows]
    weight = np.append(np.ones(len(rows[0])), 0.0)
    found = metric(*bad, sample_weight=weight)
    assert found == approx(metric(*arrays))


@ALL
def test_weights_that_sum_to_one(metric):
    arrays = draw(metric, 0)
    tiny = [np.full(len(a), 1 / sum(map(len, arrays))) for a in arrays]
    if metric.__name__ in SCALE_FREE:
        assert weighted(metric, arrays, *tiny) == approx(metric(*arrays))
    else:
        with pytest.raises(ValueError, match="2 stands for two samples"):
            weighted(metric, arrays, *tiny)


@ALL
def test_nan_raises_or_is_the_worst(metric):
    arrays = draw(metric, 3)
    infinite, nan = (
        on_scores(metric, arrays, lambda s, v=v: np.where(s == 3, v, s))
        for v in (np.inf, np.nan)
    )
    with pytest.raises(ValueError, match=r"must not hold NaN.*Received: \d+"):
        metric(*nan)
    assert metric(*nan, nan_policy="worst") == metric(*infinite)
    with pytest.raises(ValueError, match="nan_policy='omit'"):
        metric(*arrays, nan_policy="omit")


@ALL
def test_infinity_is_below_nan(metric):
    arrays = draw(metric, 3)

    def with_both(score):
        return np.where(score == 3, np.nan, np.where(score == 2, np.inf, score))

    both = on_scores(metric, arrays, with_both)
    assert metric(*both, nan_policy="worst") == metric(*arrays)


@ALL
def test_dense_tasks_have_a_sample_per_place(metric):
    arrays = draw(metric, 0, size=24)
    shaped = [a.reshape(2, 3, -1) for a in arrays]
    assert metric(*shaped) == metric(*arrays)


@pytest.mark.parametrize("metric", LOSS_METRICS + CORRECT_METRICS)
def test_bad_input(metric):
    with pytest.raises(ValueError, match=r"Received: .*\(2,\).*\(2, 1\)"):
        metric([1, 1], [[0.1], [0.2]])
    with pytest.raises(ValueError, match=r"Received: .*\(2,\).*\(3,\)"):
        metric([1, 1], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="at least one sample. Received"):
        metric([], [])
    with pytest.raises(ValueError, match=r"Received: .*`sample_weight`"):
        metric([1, 1], [0.1, 0.2], sample_weight=[1.0])


@given(cases.losses(max_size=40))
def test_constant_score_has_the_mean_loss(case):
    loss, _ = case
    score = np.full(len(loss), 0.3)
    assert metrics.aurc(loss, score) == pytest.approx(np.mean(loss), rel=1e-15)
    assert metrics.augrc(loss, score) == pytest.approx(
        np.mean(loss) / 2, rel=1e-15
    )
