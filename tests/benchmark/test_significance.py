import numpy as np
import pytest
from scipy import stats

from keras_zigzag import metrics
from keras_zigzag.benchmark import report_noise
from keras_zigzag.benchmark.report_measures import detection, metric
from keras_zigzag.benchmark.significance import (
    Difference,
    Drawn,
    holm,
    paired_bootstrap,
    paired_t_test,
    resample,
)
from tests.benchmark.report_cases import samples


def _pairs(num, seed=0, shift=0.5):
    rng = np.random.default_rng(seed)
    second = rng.normal(size=num)
    return second + shift + rng.normal(size=num), second


@pytest.mark.parametrize("num", [2, 3, 5, 40])
def test_t_test_is_that_of_scipy(num):
    first, second = _pairs(num)
    expected = stats.ttest_rel(first, second)
    interval = expected.confidence_interval(0.9)
    found = paired_t_test(first, second, confidence=0.9)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.mean == pytest.approx(np.mean(first - second))
    assert (found.low, found.high) == pytest.approx(tuple(interval))


def test_one_pair_says_nothing():
    assert paired_t_test([1.0], [2.0]) is None


def test_the_same_difference_everywhere_is_certain():
    assert paired_t_test([0.3, 0.5], [0.1, 0.3]).p == 0.5
    ten = np.arange(10.0)
    expected = stats.binomtest(10, 10).pvalue
    assert paired_t_test(ten, ten - 2.0).p == pytest.approx(expected)
    assert paired_t_test([0.3, 0.5], [0.3, 0.5]) == (0.0, 0.0, 0.0, 1.0)


def test_holm_on_a_known_case():
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert found == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert list(found) == ["a", "b", "c", "d"]


def test_holm_keeps_the_order_and_ends_at_one():
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({"a": 0.04}) == {"a": 0.04}
    assert holm({}) == {}


def _mean(values):
    return lambda weights: weights[0] @ values / weights[0].sum(axis=1)


def test_bootstrap_of_a_mean_is_the_closed_form():
    first, second = _pairs(400)
    drawn = resample(
        {"a": _mean(first), "b": _mean(second)}, [400], num_resamples=4000
    )
    found = paired_bootstrap(drawn["a"], drawn["b"])
    difference = first - second
    half = 1.96 * difference.std() / 20.0
    assert found.mean == pytest.approx(difference.mean())
    assert found.high - found.low == pytest.approx(2 * half, rel=0.05)
    assert found.p == pytest.approx(2 / 4001)


def test_bootstrap_is_paired():
    """What both have in common does not widen the interval."""
    rng = np.random.default_rng(0)
    values = 100.0 * rng.normal(size=50)
    drawn = resample({"a": _mean(values + 0.01), "b": _mean(values)}, [50])
    found = paired_bootstrap(drawn["a"], drawn["b"])
    assert (found.low, found.high) == pytest.approx((0.01, 0.01))


def test_bootstrap_of_no_difference():
    drawn = resample({"a": _mean(np.arange(9.0))}, [9])["a"]
    assert paired_bootstrap(drawn, drawn) == (0.0, 0.0, 0.0, 1.0)


def test_bootstrap_is_repeatable_in_whatever_chunks(monkeypatch):
    functions = {"a": _mean(np.arange(9.0))}
    first = resample(functions, [9], num_resamples=50)["a"]
    again = resample(functions, [9], num_resamples=50)["a"]
    other = resample(functions, [9], num_resamples=50, seed=1)["a"]
    assert np.array_equal(first.values, again.values)
    assert not np.array_equal(first.values, other.values)
    monkeypatch.setattr("keras_zigzag.benchmark.significance.CHUNK", 30)
    assert resample(functions, [9], num_resamples=50)["a"].values.shape == (50,)


def test_draws_without_a_value_do_not_count():
    one = Drawn(1.0, np.array([1.0, np.nan, 2.0]))
    none = Drawn(0.0, np.array([0.0, 0.0, 0.0]))
    assert paired_bootstrap(one, none).low >= 1.0
    assert paired_bootstrap(Drawn(np.nan, one.values), none) is None
    assert paired_bootstrap(Drawn(1.0, np.full(3, np.nan)), none) is None


@pytest.fixture
def scores():
    rng = np.random.default_rng(3)
    p = rng.random((60, 3))
    return samples(
        "classification",
        rng.integers(3, size=60),
        p / p.sum(axis=-1, keepdims=True),
        # Ties, within a set and between the two.
        rng.integers(12, size=60) / 4.0,
        {"far": rng.integers(4, 16, size=40) / 4.0},
    )


def _repeated(values, weights):
    return np.repeat(values, weights.astype(int))


def test_resampled_metrics_are_those_of_repeated_samples(scores):
    rng = np.random.default_rng(0)
    inside = rng.integers(3, size=(4, 60)).astype("float64")
    outside = rng.integers(3, size=(4, 40)).astype("float64")
    roc_auc = report_noise._roc_auc(scores, "far")([inside, outside])
    raulc = report_noise._raulc(scores)([inside])
    for index in range(4):
        uncertainty = _repeated(scores.id.uncertainty, inside[index])
        far = _repeated(scores.ood["far"].uncertainty, outside[index])
        correct = 1.0 - _repeated(scores.loss, inside[index])
        assert roc_auc[index] == pytest.approx(
            metrics.roc_auc(uncertainty, far)
        )
        assert raulc[index] == pytest.approx(
            metrics.raulc(correct, uncertainty)
        )


def test_places_are_drawn_with_their_sample():
    rng = np.random.default_rng(0)
    shape = (5, 4)
    mask = np.ones(shape, bool)
    mask[2, 1:] = False
    scores = samples(
        "regression",
        rng.normal(size=(*shape, 1)),
        np.zeros((*shape, 1)),
        rng.random(shape),
        {"far": rng.random((3, 4))},
        id_mask=mask,
        ood_far_mask=mask[2:],
    )
    assert len(scores.loss) == mask.sum()
    drawn = report_noise.draw(
        [metric("prediction_rejection_ratio"), detection("roc_auc", "far")],
        {"own": scores, "same": scores},
    )
    inside, outside = np.array([[2.0, 0, 1, 0, 2]]), np.array([[1.0, 0, 2]])
    uncertainty, loss, far = (
        np.repeat(values, times[0].astype(int)[sample])
        for values, times, sample in (
            (scores.id.uncertainty, inside, scores.id.sample),
            (scores.loss, inside, scores.id.sample),
            (scores.ood["far"].uncertainty, outside, scores.ood["far"].sample),
        )
    )
    (found,) = report_noise._rejection_ratio(scores)([inside])
    assert found == pytest.approx(
        metrics.prediction_rejection_ratio(loss, uncertainty)
    )
    (found,) = report_noise._roc_auc(scores, "far")([inside, outside])
    assert found == pytest.approx(metrics.roc_auc(uncertainty, far))
    for one in drawn:
        np.testing.assert_array_equal(one["own"].values, one["same"].values)
        assert np.isfinite(one["own"].values).any()


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((-2.1e-4, -2.6e-4, -1.6e-4), "−0.00021 [−0.00026, −0.00016]"),
        ((2e-4, -1e-3, 1.4e-3), "+0.0002 [−0.0010, +0.0014]"),
        ((0.15, 0.1496, 0.1504), "+0.150 [+0.150, +0.150]"),
        ((0.0, 0.0, 0.0), "+0.000 [+0.000, +0.000]"),
        ((120.0, -3.0, 243.0), "+120.0 [−3.0, +243.0]"),
    ],
)
def test_a_difference_has_the_digits_that_show_it(numbers, text):
    cell = report_noise._cell(Difference(*numbers, 0.5), 0.5)
    assert cell.text == text


def test_resampled_rejection_ratio_is_that_of_repeated_samples():
    rng = np.random.default_rng(1)
    scores = samples(
        "regression",
        rng.normal(size=(50, 2)),
        rng.normal(size=(50, 2)),
        rng.random(50),
    )
    weights = rng.integers(3, size=(1, 50)).astype("float64")
    (found,) = report_noise._rejection_ratio(scores)([weights])
    expected = metrics.prediction_rejection_ratio(
        _repeated(scores.loss, weights[0]),
        _repeated(scores.id.uncertainty, weights[0]),
    )
    assert found == pytest.approx(expected)
