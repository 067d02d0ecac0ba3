"""The exact values are never further away than the bound says."""

import itertools

import numpy as np
import pytest

from . import cases
from .cases import CASES, DETECTION, ERROR_RATE, LIFT, RISK

pytestmark = pytest.mark.first_quick_on("jax", "torch")

ALL = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
FEW_BINS = {"num_bins": 9, "score_range": (0, 3)}


def assert_within(metric, exact, rtol=1e-6):
    result, bound = metric.result(), metric.error_bound()
    assert result.keys() == bound.keys() == exact.keys()
    for name, value in exact.items():
        slack = 1e-9 + rtol * abs(value)
        assert abs(result[name] - value) <= bound[name] + slack, name


@ALL
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, FEW_BINS])
def test_random_samples(case, seed, options):
    arrays = cases.samples(case, seed)
    assert_within(case.streamed(*arrays, **options), case.exact(*arrays))


@ALL
@pytest.mark.parametrize("seed", range(4))
def test_weights(case, seed):
    arrays = cases.samples(case, seed)
    weight = np.random.default_rng(seed).exponential(size=200)
    weight = weight.astype("float32")
    assert_within(
        case.streamed(*arrays, weight), case.exact(*arrays, weight), 1e-5
    )


@ALL
@pytest.mark.parametrize("sign", [1, -1])
def test_worst_order_within_every_bin(case, sign):
    happened, score = cases.samples(case)
    # Ordered by what happened within each of ten bins.
    place = np.argsort(np.argsort(sign * happened, kind="stable"))
    score = np.floor(score * 3) + place / 201
    score = score.astype("float32")
    options = {"num_bins": 60, "score_range": (0, 60)}
    metric = case.streamed(happened, score, **options)
    assert_within(metric, case.exact(happened, score))


@ALL
def test_no_error_where_each_score_has_a_bin(case):
    happened, score = cases.samples(case)
    score = np.round(score)
    options = {"num_bins": 100, "score_range": (-0.5, 99.5)}
    metric = case.streamed(happened, score, **options)
    exact = case.exact(happened, score)
    if case is RISK:
        # The oracle's bins are those of the losses, which all differ.
        assert metric.result()["aurc"] == pytest.approx(exact["aurc"])
    else:
        assert metric.result() == pytest.approx(exact, rel=1e-12)


@ALL
def test_constant_score_is_a_random_order(case):
    happened, _ = cases.samples(case)
    score = np.full(200, 0.3)
    assert_within(case.streamed(happened, score), case.exact(happened, score))
    assert LIFT.streamed([1, 0], [2, 2]).result() == {"aulc": 0, "raulc": 0}
    assert DETECTION.streamed([1, 0], [2, 2]).result()["roc_auc"] == 0.5


@pytest.mark.parametrize("weight", [None, [1.0], [0.5]])
def test_a_single_sample_has_one_order(weight):
    metric = RISK.streamed([0.3], [0.1], weight)
    assert metric.result() == pytest.approx({"aurc": 0.3, "excess_aurc": 0.0})
    assert metric.error_bound() == {"aurc": 0.0, "excess_aurc": 0.0}


@ALL
def test_bound_falls_with_the_number_of_bins(case):
    arrays = cases.samples(case, size=2000)
    bounds = [
        case.streamed(*arrays, num_bins=1 << power).error_bound()
        for power in (10, 16)
    ]
    for name, bound in bounds[0].items():
        assert bounds[1][name] < bound / 4


@pytest.mark.parametrize(
    "case, names",
    [
        (ERROR_RATE, ["aurc", "excess_aurc"]),
        (LIFT, ["aulc", "raulc"]),
        (DETECTION, ["roc_auc", "fpr_at_tpr"]),
    ],
    ids=["error_rate", "lift", "detection"],
)
def test_no_bound_is_tighter(case, names):
    # Two bins of three samples each, in all orders.
    happened = np.array([1, 0, 1, 0, 0, 1])
    low, high = np.array([0.1, 0.2, 0.3]), np.array([1.1, 1.2, 1.3])
    options = {"num_bins": 2, "score_range": (0, 2)}
    metric = case.streamed(happened, np.append(low, high), **options)
    result, bound = metric.result(), metric.error_bound()
    worst = dict.fromkeys(names, 0.0)
    for orders in itertools.product(itertools.permutations(range(3)), repeat=2):
        score = np.append(low[list(orders[0])], high[list(orders[1])])
        exact = case.exact(happened, score)
        for name in names:
            distance = abs(exact[name] - result[name])
            worst[name] = max(worst[name], distance)
    assert worst == pytest.approx({name: bound[name] for name in names})


def test_losses_of_any_sign_and_size():
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e6):
        loss = (scale * rng.normal(size=300)).astype("float32")
        score = rng.uniform(size=300).astype("float32")
        exact = RISK.exact(loss, score)
        metric = RISK.streamed(loss, score)
        assert_within(metric, exact)
        assert max(metric.error_bound().values()) < scale
