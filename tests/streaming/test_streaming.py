"""What every streaming metric has to do, on every backend."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_zigzag import metrics
from tests.helpers import assert_config_round_trip

from . import cases
from .cases import CASES, DETECTION, LIFT, RISK

pytestmark = pytest.mark.first_quick_on("jax", "torch")

ALL = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
FEW_BINS = {"num_bins": 30, "score_range": (0, 2)}


@ALL
def test_order_and_batches_do_not_matter(case):
    arrays = cases.samples(case)
    whole = case.streamed(*arrays)
    for sizes in ([1, 199], [50, 50, 50, 50]):
        order = np.random.default_rng(1).permutation(200)
        metric = case()
        for part in np.split(order, np.cumsum(sizes)[:-1]):
            metric.update_state(*(array[part] for array in arrays))
        # To the last bit: the sums are exact.
        assert metric.result() == whole.result()
        assert metric.error_bound() == whole.error_bound()


@ALL
def test_large_batches_are_summed_in_chunks(case, monkeypatch):
    from keras_zigzag.metrics.streaming import histogram

    arrays = cases.samples(case)
    expected = case.streamed(*arrays).result()
    monkeypatch.setattr(histogram, "CHUNK", 64)
    assert case.streamed(*arrays).result() == expected


@ALL
def test_floats_by_name(case):
    result = case.streamed(*cases.samples(case)).result()
    assert all(type(value) is float for value in result.values())


@ALL
def test_tensors_lists_and_dense_arrays(case):
    happened, score = cases.samples(case)
    expected = case.streamed(happened, score).result()
    shaped = [array.reshape(4, 5, 10) for array in (happened, score)]
    for arrays in (
        [ops.convert_to_tensor(a) for a in (happened, score)],
        [ops.convert_to_tensor(a) for a in shaped],
        [happened, ops.convert_to_tensor(score)],
        [happened.tolist(), score.tolist()],
        shaped,
    ):
        assert case.streamed(*arrays).result() == expected


@ALL
def test_a_weight_of_two_is_two_samples(case):
    happened, score = cases.samples(case)
    times = np.random.default_rng(1).integers(0, 4, size=200)
    many = np.repeat(happened, times), np.repeat(score, times)
    assert case.streamed(happened, score, times).result() == pytest.approx(
        case.streamed(*many).result(), rel=1e-6
    )


@ALL
def test_masked_batches_and_empty_ones(case):
    arrays = cases.samples(case)
    metric = case.streamed(*arrays)
    expected = metric.result()
    metric.update_state(*arrays, np.zeros(200))
    metric.update_state([], [])
    metric.update_state(*(ops.convert_to_tensor(a)[:0] for a in arrays))
    assert metric.result() == expected


@ALL
def test_more_samples_than_float32_counts(case):
    # As after a billion samples with the score of the first.
    happened, score = cases.samples(case, size=8)
    billion = np.array([2.0**30] + 7 * [1.0])
    metric = case.streamed(happened[:1], score[:1], billion[:1])
    for _ in range(3):
        metric.update_state(happened, score)
    times = np.where(np.arange(8) == 0, 2.0**30 + 3, 3)
    count, _ = metric._counts_and_totals()
    assert count.sum() == times.sum() == 2.0**30 + 24
    exact = case.exact(happened, score, times)
    bound = metric.error_bound()
    for name, value in metric.result().items():
        assert abs(value - exact[name]) <= bound[name] + 1e-9


@ALL
def test_merge_state(case):
    arrays = cases.samples(case)
    expected = case.streamed(*arrays).result()
    parts = [
        case.streamed(*(a[part] for a in arrays), name=f"part_{number}")
        for number, part in enumerate(np.split(np.arange(200), [20, 90]))
    ]
    parts[0].merge_state(parts[1:])
    assert parts[0].result() == expected


@ALL
def test_sums_of_the_state_are_a_merge(case):
    arrays = cases.samples(case)
    expected = case.streamed(*arrays).result()
    first, second = (
        case.streamed(*(a[part] for a in arrays))
        for part in (slice(70), slice(70, None))
    )
    for own, other in zip(first.variables, second.variables, strict=True):
        assert own.aggregation == "sum"
        own.assign_add(other.value)
    assert first.result() == pytest.approx(expected, rel=1e-6)


def test_merge_of_another_configuration():
    with pytest.raises(ValueError, match="same class and configuration"):
        LIFT().merge_state([LIFT(num_bins=2048)])
    with pytest.raises(ValueError, match="Received: StreamingRiskCoverage"):
        LIFT().merge_state([RISK()])


@ALL
def test_reset_state(case):
    first, second = (cases.samples(case, seed) for seed in (0, 1))
    metric = case.streamed(*first)
    metric.reset_state()
    with pytest.raises(ValueError, match="Received: none since the last reset"):
        metric.result()
    metric.update_state(*second)
    assert metric.result() == case.streamed(*second).result()


@ALL
@pytest.mark.parametrize("options", [{}, FEW_BINS])
def test_config(case, options):
    metric = case(nan_policy="worst", name="pixels", **options)
    restored = assert_config_round_trip(metric)
    arrays = cases.samples(case)
    restored.update_state(*arrays)
    assert restored.result() == case.streamed(*arrays, **options).result()


def test_detection_at_another_rate():
    metric = DETECTION(tpr=0.5)
    assert assert_config_round_trip(metric).tpr == 0.5
    is_ood, score = cases.samples(DETECTION)
    metric.update_state(is_ood, score)
    exact = metrics.fpr_at_tpr(score[~is_ood], score[is_ood], 0.5)
    error = abs(metric.result()["fpr_at_tpr"] - exact)
    assert error <= metric.error_bound()["fpr_at_tpr"]
    with pytest.raises(ValueError, match="tpr=95"):
        DETECTION(tpr=95)


def test_detection_takes_one_set_at_a_time():
    is_ood, score = cases.samples(DETECTION)
    expected = DETECTION.streamed(is_ood, score).result()
    for tensor in (np.asarray, ops.convert_to_tensor):
        metric = DETECTION()
        metric.update_state(False, tensor(score[~is_ood]))
        metric.update_state(True, tensor(score[is_ood]))
        assert metric.result() == expected


@ALL
def test_nan_raises_or_is_the_worst(case):
    happened, score = cases.samples(case)
    infinite, nan = (np.where(score > 2, v, score) for v in (np.inf, np.nan))
    number = np.count_nonzero(np.isnan(nan))
    with pytest.raises(ValueError, match=f"must not hold NaN.*{number} NaN"):
        case().update_state(happened, nan)
    metric = case.streamed(happened, ops.convert_to_tensor(nan))
    with pytest.raises(ValueError, match=f"not hold NaN.*Received: {number} "):
        metric.result()
    with pytest.raises(ValueError, match="not hold NaN"):
        metric.error_bound()
    for values in (nan, ops.convert_to_tensor(nan)):
        worst = case.streamed(happened, values, nan_policy="worst")
        assert worst.result() == case.streamed(happened, infinite).result()
    with pytest.raises(ValueError, match="nan_policy='omit'"):
        case(nan_policy="omit")


@ALL
def test_infinity_is_below_nan(case):
    happened, score = cases.samples(case)
    both = np.where(score > 3, np.nan, np.where(score > 2, np.inf, score))
    finite = np.where(score > 3, 8.0, np.where(score > 2, 4.0, score))
    metric = case.streamed(happened, both, nan_policy="worst")
    assert metric.result() == case.streamed(happened, finite).result()


@ALL
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_and_weights_that_are_not_valid(case, bad):
    happened, score = cases.samples(case)
    happened = happened.astype("float32")
    wrong = np.where(np.arange(200) == 5, bad, happened).astype("float32")
    weight = np.where(np.arange(200) < 3, -1, 1).astype("float32")
    with pytest.raises(ValueError, match=f"`{case.happened}` must"):
        case().update_state(wrong, score)
    with pytest.raises(ValueError, match="smallest value of -1"):
        case().update_state(happened, score, weight)
    metric = case.streamed(ops.convert_to_tensor(wrong), score)
    with pytest.raises(ValueError, match=f"`{case.happened}`.*Received: 1 oth"):
        metric.result()
    metric = case.streamed(happened, score, ops.convert_to_tensor(weight))
    with pytest.raises(ValueError, match="`sample_weight`.*Received: 3 other"):
        metric.result()


@ALL
@pytest.mark.parametrize("nan_policy", ["raise", "worst"])
@pytest.mark.parametrize("options", [{}, FEW_BINS])
def test_a_weight_of_zero_is_no_sample(case, nan_policy, options):
    happened, score = cases.samples(case)
    weight = (np.arange(200) % 3 > 0).astype("float32")
    kept = weight > 0
    options = {**options, "nan_policy": nan_policy}
    expected = case.streamed(happened[kept], score[kept], **options)
    arrays = *(np.where(kept, a, np.nan) for a in (happened, score)), weight
    for as_kind in (np.asarray, ops.convert_to_tensor):
        given = (as_kind(array.astype("float32")) for array in arrays)
        metric = case.streamed(*given, **options)
        assert metric.result() == expected.result()
        assert metric.error_bound() == expected.error_bound()


@ALL
@pytest.mark.parametrize("tensor", [np.asarray, ops.convert_to_tensor])
def test_shapes_must_agree(case, tensor):
    ones = tensor(np.ones(2, dtype="float32"))
    for other in (np.ones((2, 1)), np.ones(3)):
        other = tensor(other.astype("float32"))
        with pytest.raises(ValueError, match="one value per sample in each"):
            case().update_state(ones, other)
        with pytest.raises(ValueError, match="`sample_weight` of shape"):
            case().update_state(ones, ones, other)


def test_strings_and_labels():
    with pytest.raises(ValueError, match="`uncertainty` must hold real num"):
        RISK().update_state([1.0], ["high"])
    with pytest.raises(ValueError, match="`correct` .* values from 0 to 7"):
        LIFT().update_state([0, 7], [0.1, 0.2])


def test_one_class_only():
    with pytest.raises(ValueError, match="2 samples, all of them wrong"):
        LIFT.streamed([0, 0], [1, 2]).result()
    with pytest.raises(ValueError, match="2 samples, all of them correct"):
        LIFT.streamed([1, 1], [1, 2]).result()
    with pytest.raises(ValueError, match="no OOD sample since"):
        DETECTION.streamed([0, 0], [1, 2]).result()
    with pytest.raises(ValueError, match="no ID sample since"):
        DETECTION.streamed([1, 1], [1, 2]).error_bound()


def test_weights_that_sum_to_one():
    weight = np.full(200, 1 / 200)
    with pytest.raises(ValueError, match="2 stands for two samples"):
        RISK.streamed(*cases.samples(RISK), weight).result()


def test_sums_beyond_float32():
    metric = RISK.streamed([3e38, 3e38], [1.0, 1.0])
    with pytest.raises(ValueError, match="too large for float32"):
        metric.result()


class Dense(keras.Model):
    """Has the risk of its answers counted while it is evaluated."""

    def __init__(self):
        super().__init__()
        self.risk = RISK()

    def call(self, x):
        return x

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        loss = ops.abs(y - y_pred)
        self.risk.update_state(loss, x)
        return {"mean": ops.mean(loss)}


def test_within_a_compiled_model():
    loss, score = cases.samples(RISK)
    model = Dense()
    model.compile(loss="mse")
    model.evaluate(score, score + loss, batch_size=32, verbose=0)
    # Rounded as the model did.
    loss = np.abs((score + loss) - score)
    assert model.risk.result() == RISK.streamed(loss, score).result()
