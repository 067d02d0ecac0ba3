"""Thresholds keep on new samples what they promise."""

import numpy as np
import pytest
from scipy import stats

from keras_zigzag import thresholds
from keras_zigzag.confidence_bounds import p_values, upper_bound_of_mean

# NumPy alone: one backend is as good as three.
pytestmark = pytest.mark.backend("tensorflow")

NUM_TRIALS = 400
RNG = np.random.default_rng


def uniform_scores(num_samples):
    for seed in range(NUM_TRIALS):
        yield RNG(seed).uniform(size=num_samples)


def test_false_alarms_are_as_rare_as_promised_with_the_confidence():
    # Of uniform scores the share above a threshold is known.
    rates = [
        1 - thresholds.threshold_at_false_alarm_rate(scores, 0.1, 0.9).value
        for scores in uniform_scores(300)
    ]
    share = np.mean(np.array(rates) > 0.1)
    assert 0.03 < share < 0.1 + 3 * np.sqrt(0.09 / NUM_TRIALS)


def test_false_alarms_are_as_rare_as_promised_in_the_mean():
    rates = [
        1 - thresholds.threshold_at_false_alarm_rate(scores, 0.1, None).value
        for scores in uniform_scores(99)
    ]
    assert np.mean(rates) == pytest.approx(0.1, abs=0.005)


@pytest.mark.parametrize("num_samples, rate", [(59, 0.05), (100, 0.1)])
def test_lowest_order_statistic_that_will_do(num_samples, rate):
    scores = RNG(0).permutation(num_samples) + 1.0
    threshold = thresholds.threshold_at_false_alarm_rate(scores, rate)
    k = np.arange(1, num_samples + 1)
    sure = stats.beta(num_samples + 1 - k, k).cdf(rate)
    assert threshold.value == k[sure >= 0.95][0]
    assert threshold.bound <= rate
    assert threshold.rate == (num_samples - threshold.value) / num_samples


def test_ties_are_accepted_together():
    scores = np.repeat([1.0, 2.0], [60, 40])
    threshold = thresholds.threshold_at_false_alarm_rate(scores, 0.3)
    assert threshold[:3] == (2.0, 1.0, 0.0)


def test_coverage_is_one_less_the_false_alarms():
    scores = RNG(0).normal(size=200).astype("float32")
    assert thresholds.threshold_at_coverage(scores, 0.75) == (
        thresholds.threshold_at_false_alarm_rate(scores, 0.25)
    )


@pytest.mark.parametrize("confidence, needed", [(0.95, 59), (None, 19)])
def test_too_few_samples(confidence, needed):
    scores = np.arange(needed)
    threshold = thresholds.threshold_at_false_alarm_rate(
        scores, 0.05, confidence
    )
    assert threshold.value == needed - 1
    with pytest.raises(ValueError, match=f"{needed} or more. Received: "):
        thresholds.threshold_at_false_alarm_rate(scores[1:], 0.05, confidence)


def test_nan_is_never_accepted():
    scores = np.append(np.arange(99.0), np.nan)
    with pytest.raises(ValueError, match="nan_policy"):
        thresholds.threshold_at_coverage(scores, 0.9)
    threshold = thresholds.threshold_at_coverage(
        scores, 0.9, nan_policy="worst"
    )
    assert threshold.value == 95 and threshold.coverage == 0.96
    loss = np.zeros(100)
    threshold = thresholds.threshold_at_risk(
        loss, scores, 0.1, nan_policy="worst"
    )
    assert threshold.value == 98 and threshold.coverage == 0.99


def test_risk_is_as_low_as_promised():
    # A sample with score u is wrong with probability 0.4 u³, so those that
    # a threshold t accepts have a risk of 0.1 t³.
    risks, coverages = [], []
    for seed in range(NUM_TRIALS):
        rng = RNG(seed)
        scores = rng.uniform(size=1000)
        is_wrong = rng.uniform(size=1000) < 0.4 * scores**3
        threshold = thresholds.threshold_at_risk(is_wrong, scores, 0.04, 0.8)
        risks.append(0.1 * threshold.value**3)
        coverages.append(threshold.coverage)
        assert threshold.rate <= threshold.bound <= 0.04
    assert np.mean(np.array(risks) > 0.04) < 0.2
    # The best threshold accepts .737.
    assert np.mean(coverages) > 0.6


def test_real_losses_are_bounded_too():
    rng = RNG(0)
    scores = rng.uniform(size=2000)
    loss = rng.beta(1, 9, size=2000) * scores
    threshold = thresholds.threshold_at_risk(loss, scores, 0.04)
    kept = scores <= threshold.value
    assert threshold.coverage == kept.mean() > 0.4
    assert threshold.rate == pytest.approx(loss[kept].mean())
    assert threshold.rate < threshold.bound <= 0.04


def test_highest_threshold_on_these_samples():
    loss, scores = [0, 1, 0, 0, 1], [1, 2, 3, 4, 4]
    threshold = thresholds.threshold_at_risk(loss, scores, 0.4, None)
    assert threshold[:3] == (4.0, 1.0, 0.4)
    assert np.isnan(threshold.bound)
    threshold = thresholds.threshold_at_risk(loss, scores, 0.35, None)
    assert threshold[:2] == (3.0, 0.6)


@pytest.mark.parametrize("total, count", [(0, 10), (3, 50), (49, 50), (9, 9)])
def test_bound_of_binary_losses(total, count):
    bound = upper_bound_of_mean(count, total / count, 0.9)
    test = stats.binomtest(total, count).proportion_ci(0.8, "exact")
    assert bound == pytest.approx(test.high)


@pytest.mark.parametrize("mean", [0.0, 0.013, 0.2, 0.77, 1.0])
@pytest.mark.parametrize("binary", [True, False])
def test_p_values_and_bounds_say_the_same(mean, binary):
    counts, level = np.array([100.0]), 0.1
    if binary:
        mean = round(mean, 2)
    bound = upper_bound_of_mean(100, mean, 1 - level, binary)
    assert mean <= bound <= 1
    above = p_values(counts, np.array([mean]), bound + 1e-6, binary)
    assert above <= level
    if bound < 1:
        below = p_values(counts, np.array([mean]), bound - 1e-6, binary)
        assert below > level


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda f: f.threshold_at_coverage([1.0], 1.5), "coverage=1.5"),
        (lambda f: f.threshold_at_coverage([], 0.5), "at least one sample"),
        (lambda f: f.threshold_at_coverage([1.0], 0.5, 95), "confidence=95"),
        (lambda f: f.threshold_at_false_alarm_rate([1.0], 0.0), "rate=0.0"),
        (lambda f: f.threshold_at_risk([0], [1.0], risk=0.0), "risk=0.0"),
        (lambda f: f.threshold_at_risk([0, 1], [1.0]), r"shape \(1,\)"),
        (lambda f: f.threshold_at_risk([3.0], [1.0]), "largest loss of 3.0"),
        (lambda f: f.threshold_at_risk([1], [1.0], 5), "below 1. Received: ri"),
        (lambda f: f.threshold_at_risk([-1], [1.0]), "must not be negative"),
        (lambda f: f.threshold_at_risk([0] * 5, range(5)), "mean loss of 0"),
        (lambda f: f.threshold_at_risk(["a"], [1.0]), "real numbers"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call(thresholds)


def test_too_many_that_are_not_finite():
    scores = np.where(np.arange(960) % 3 == 0, np.nan, np.arange(960))
    with pytest.raises(ValueError, match="so many not finite.*640 of 960"):
        thresholds.threshold_at_coverage(scores, 0.9, nan_policy="worst")
