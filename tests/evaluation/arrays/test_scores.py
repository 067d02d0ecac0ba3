import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag import metrics
from tests.evaluation.arrays.data import classification, regression


def test_classification():
    labels, p, u, ood = classification()
    report = kz.evaluate_scores(labels, p, u, {"svhn": ood})
    correct = p.argmax(axis=-1) == labels
    assert dict(report) == {
        "accuracy": pytest.approx(correct.mean()),
        "aulc": metrics.aulc(correct, u),
        "raulc": metrics.raulc(correct, u),
        "aurc": metrics.aurc(~correct, u),
        "excess_aurc": metrics.excess_aurc(~correct, u),
        "augrc": metrics.augrc(~correct, u),
        "prediction_rejection_ratio": metrics.prediction_rejection_ratio(
            ~correct, u
        ),
        "ece": metrics.expected_calibration_error(labels, p),
        "nll": metrics.negative_log_likelihood(labels, p),
        "brier": metrics.brier_score(labels, p),
        "svhn_roc_auc": metrics.roc_auc(u, ood),
        "svhn_pr_auc": metrics.pr_auc(u, ood),
        "svhn_average_precision": metrics.average_precision(u, ood),
        "svhn_fpr95": metrics.fpr_at_tpr(u, ood),
        "svhn_prevalence": 1 / 3,
    }
    assert report.missing == {}


def test_regression():
    y, prediction, u, ood = regression()
    report = kz.evaluate_scores(y, prediction, u, ood, task="regression")
    error = np.abs(y - prediction).mean(axis=-1)
    assert dict(report) == {
        "mae": pytest.approx(error.mean()),
        "rmse": pytest.approx(np.sqrt(np.mean((y - prediction) ** 2))),
        "aulc": metrics.aulc_regression(error, u),
        "raulc": metrics.raulc_regression(error, u),
        "aurc": metrics.aurc(error, u),
        "excess_aurc": metrics.excess_aurc(error, u),
        "prediction_rejection_ratio": metrics.prediction_rejection_ratio(
            error, u
        ),
        "ause": metrics.ause(error, u),
        "pearson": metrics.pearson(error, u),
        "spearman": metrics.spearman(error, u),
        "cumulative_calibration_error": metrics.cumulative_calibration_error(
            error, u
        ),
        "ood_roc_auc": metrics.roc_auc(u, ood),
        "ood_pr_auc": metrics.pr_auc(u, ood),
        "ood_average_precision": metrics.average_precision(u, ood),
        "ood_fpr95": metrics.fpr_at_tpr(u, ood),
        "ood_prevalence": 0.25,
    }


def test_one_uncertainty_for_all_values_of_a_sample():
    generator = np.random.default_rng(0)
    targets = generator.normal(size=(50, 7, 1))
    prediction = targets + generator.normal(size=targets.shape)
    uncertainty = generator.uniform(size=50)
    report = kz.evaluate_scores(
        targets, prediction, uncertainty, task="regression"
    )
    errors = np.abs(prediction - targets).mean(axis=(1, 2))
    assert report["mae"] == pytest.approx(errors.mean())
    assert report["pearson"] == pytest.approx(
        np.corrcoef(errors, uncertainty)[0, 1]
    )
    with pytest.raises(ValueError, match="as many values"):
        kz.evaluate_scores(
            targets, prediction[:, :3], uncertainty, task="regression"
        )


@pytest.mark.parametrize("bad", [2, -1, np.nan, np.inf])
def test_binary_labels_are_yes_or_no(bad):
    labels, given = np.array([1.0, 0.0, bad]), ([0.9, 0.2, 0.8], [1, 2, 3])
    with pytest.raises(ValueError, match=f"must be 0 or 1. .* with {bad}"):
        kz.evaluate_scores(labels, *given, task="binary")
    report = kz.evaluate_scores(
        labels, *given, task="binary", sample_weight=[1, 1, 0]
    )
    assert report["accuracy"] == 1.0


def test_binary_by_hand():
    report = kz.evaluate_scores(
        targets=[[0], [1], [1]],
        prediction=[[0.1], [0.7], [0.4]],
        uncertainty=[0.1, 0.2, 0.3],
        task="binary",
    )
    assert report["accuracy"] == pytest.approx(2 / 3)
    assert report["raulc"] == 1.0
    assert report["brier"] == pytest.approx((0.01 + 0.09 + 0.36) / 3)
    assert report["nll"] == pytest.approx(-np.log([0.9, 0.7, 0.4]).mean())


def test_several_labels_are_right_together():
    report = kz.evaluate_scores(
        targets=[[0, 1], [1, 1]],
        prediction=[[0.1, 0.8], [0.7, 0.2]],
        uncertainty=[0.1, 0.2],
        task="binary",
        sample_weight=[1.0, 3.0],
    )
    assert report["accuracy"] == 0.25
    per_label = np.reshape([0.01, 0.04, 0.09, 0.64], (2, 2)).mean(axis=1)
    assert report["brier"] == pytest.approx(per_label @ [0.25, 0.75])


class TestSameAnswers:
    def test_forms_of_labels(self):
        labels, p, u, _ = classification()
        expected = dict(kz.evaluate_scores(labels, p, u))
        for targets in (labels[:, None], np.eye(3)[labels], labels.tolist()):
            assert dict(kz.evaluate_scores(targets, p, u)) == expected

    def test_logits(self):
        labels, p, u, _ = classification()
        report = kz.evaluate_scores(labels, np.log(p), u, from_logits=True)
        assert report["nll"] == pytest.approx(
            metrics.negative_log_likelihood(labels, p)
        )
        binary = kz.evaluate_scores(
            [0, 1], [-1.0, 1.0], [1, 2], task="binary", from_logits=True
        )
        assert binary["nll"] == pytest.approx(np.log1p(np.exp(-1)))

    def test_a_column_of_scores(self):
        labels, p, u, _ = classification()
        assert kz.evaluate_scores(labels, p, u[:, None]) == kz.evaluate_scores(
            labels, p, u
        )

    def test_tables(self):
        pandas = pytest.importorskip("pandas")
        labels, p, u, _ = classification()
        table = pandas.DataFrame({"label": labels, "u": u})
        report = kz.evaluate_scores(table.label, pandas.DataFrame(p), table.u)
        # A table lies in memory otherwise, and is summed in another order.
        assert dict(report) == pytest.approx(
            dict(kz.evaluate_scores(labels, p, u)), rel=1e-12
        )

    def test_dense_answers_count_by_place(self):
        labels, p, u, ood = classification(size=60)
        dense = kz.evaluate_scores(
            labels.reshape(5, 3, 4),
            p.reshape(5, 3, 4, 3),
            u.reshape(5, 3, 4),
            ood.reshape(5, 6),
            sample_weight=np.ones(5),
        )
        flat = kz.evaluate_scores(labels, p, u, ood)
        for key in flat:
            assert dense[key] == pytest.approx(flat[key], abs=1e-12)
        assert dense.uncertainty.shape == (60,)
        assert dense.samples.id.num_samples == 5

    def test_ignored_places_do_not_count(self):
        labels, p, u, _ = classification()
        some = np.arange(60) % 4 > 0
        expected = kz.evaluate_scores(labels[some], p[some], u[some])
        labels[~some] = 255
        report = kz.evaluate_scores(labels, p, u, ignore_class=255)
        assert dict(report) == dict(expected)


def test_weights_are_numbers_of_samples():
    labels, p, u, ood = classification()
    twice = np.arange(60) % 2 + 1
    weighted = kz.evaluate_scores(labels, p, u, ood, sample_weight=twice)
    repeated = kz.evaluate_scores(
        *(np.repeat(array, twice, axis=0) for array in (labels, p, u)), ood
    )
    for key, value in repeated.items():
        assert weighted[key] == pytest.approx(value, abs=1e-12), key


class TestMissing:
    def test_no_mistake(self):
        report = kz.evaluate_scores([0, 1], [0, 1], [0.1, 0.2])
        assert "raulc" not in report
        assert "without a mistake" in report.missing["raulc"]
        assert report["accuracy"] == 1.0
        assert report.get("raulc") is None
        with pytest.raises(KeyError, match="not defined here: rAULC"):
            report["raulc"]

    def test_classes_have_no_likelihood(self):
        report = kz.evaluate_scores([0, 1], [0, 0], [0.1, 0.2])
        assert {"nll", "ece", "brier"} <= report.missing.keys()

    def test_nothing_is_nan(self):
        report = kz.evaluate_scores([1, 0], [0, 1], [0.5, 0.5])
        assert np.isfinite(list(report.values())).all()
        assert "all of them wrong" in report.missing["aulc"]


class TestBadInput:
    @pytest.mark.parametrize(
        "arguments, message",
        [
            (([0, 1], [0, 1, 1], [1, 2, 3]), "one class index per"),
            (([0, 1], [0, 1, 1], [1, 2]), "shape of `uncertainty`"),
            (([0, 1], [0.2, 0.3], [1, 2]), "integer classes"),
            (([0.5, 1], [0, 1], [1, 2]), "whole numbers"),
            (([0, 1], [0, 1], ["a", "b"]), "real numbers"),
            (([], [], []), "at least one sample"),
            (([0, 1], [0, 1], [1, np.nan]), "nan_policy"),
            (([0, 1], [0, 1], [1, 2], []), r"ood_uncertainty\['ood'\]"),
            (([0, 1], [0, 1], [1, 2], {"": [1]}), "not empty"),
            (([0, 1], [0, 1], [1, 2], {"a": [np.nan]}), r"\['a'\].*NaN"),
        ],
    )
    def test_classification(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            kz.evaluate_scores(*arguments)

    @pytest.mark.parametrize(
        "shapes, message",
        [
            (((4, 2), (4, 3), (4,)), "as many values"),
            (((4,), (3,), (3,)), "`targets` must have"),
            (((4,), (4,), (3,)), "`prediction` must have"),
        ],
    )
    def test_regression(self, shapes, message):
        arrays = map(np.ones, shapes)
        with pytest.raises(ValueError, match=message):
            kz.evaluate_scores(*arrays, task="regression")

    def test_options(self):
        with pytest.raises(ValueError, match="`task` must be one of"):
            kz.evaluate_scores([0, 1], [0, 1], [1, 2], task="ranking")
        with pytest.raises(ValueError, match="`sample_weight` must have one"):
            kz.evaluate_scores([0, 1], [0, 1], [1, 2], sample_weight=[1, 2, 3])

    def test_nan_on_request(self):
        report = kz.evaluate_scores(
            [0, 1], [0, 0], [0.1, np.nan], [np.nan], nan_policy="worst"
        )
        assert report["raulc"] == 1.0
        assert report["ood_roc_auc"] == 0.75

    def test_swapped_sets_give_a_hint(self):
        labels, p, u, _ = classification()
        report = kz.evaluate_scores(labels, p, u + 1, {"noise": u})
        (hint,) = report.hints
        assert "below ½" in hint and "swapped" in hint and "'noise'" in hint
        assert kz.evaluate_scores(labels, p, u, u + 1).hints == []

    def test_the_same_set_twice_gives_a_hint(self):
        labels, p, u, _ = classification()
        (hint,) = kz.evaluate_scores(labels, p, u, {"noise": u}).hints
        assert "'noise'" in hint and "twice" in hint


class TestWhatIsLeftOut:
    def test_a_weight_of_zero_is_no_sample(self):
        y, p, u = [0.0, 1.0, 0.0, 9.0], [1.0, 2.0, 5.0, 1.0], [1.0, 2, 3, 9]
        weighted = kz.evaluate_scores(
            y, p, u, task="regression", sample_weight=[1, 1, 1, 0]
        )
        without = kz.evaluate_scores(y[:3], p[:3], u[:3], task="regression")
        assert dict(weighted) == pytest.approx(dict(without))
        assert weighted.missing == without.missing

    def test_what_stands_where_the_weight_is_zero_is_not_read(self):
        y, p, u = [0.0, 1.0, 0.0, np.nan], [1.0, 2.0, 5.0, 1.0], [1.0, 2, 3, 9]
        weighted = kz.evaluate_scores(
            y, p, u, task="regression", sample_weight=[1, 1, 1, 0]
        )
        without = kz.evaluate_scores(y[:3], p[:3], u[:3], task="regression")
        assert dict(weighted) == pytest.approx(dict(without))

    def test_a_label_that_does_not_count_can_be_resampled(self):
        report = kz.evaluate_scores(
            [0, 1, 1, 0, -1, 1],
            [0.1, 0.8, 0.4, 0.3, 0.5, 0.9],
            [0.1, 0.2, 0.9, 0.3, 0.5, 0.1],
            task="binary",
            sample_weight=[1, 1, 1, 1, 0, 1],
        )
        intervals = report.bootstrap(num_resamples=50)
        assert "brier" in report and "brier" in intervals

    @pytest.mark.parametrize("by_sample", [False, True])
    def test_a_mesh_of_which_no_place_counts(self, by_sample):
        rng = np.random.default_rng(0)
        targets, prediction = rng.normal(size=(2, 5, 4, 1))
        score = rng.uniform(size=5)
        weight = np.ones((5, 4))
        weight[:, 3] = 0.5
        weight[2] = 0.0
        score[2] = np.nan
        if by_sample:
            weight = weight[:, 0]
        report = kz.evaluate_scores(
            targets,
            prediction,
            score,
            task="regression",
            sample_weight=weight,
        )
        kept = [0, 1, 3, 4]
        expected = kz.evaluate_scores(
            targets[kept],
            prediction[kept],
            score[kept],
            task="regression",
            sample_weight=weight[kept],
        )
        assert dict(report) == pytest.approx(dict(expected))
        assert len(report) > 8

    def test_what_is_constant_but_for_weights_of_zero_is_missing(self):
        report = kz.evaluate_scores(
            [0.0, 0.0, 1.0],
            [0.0, 0.0, 5.0],
            [1, 2, 3],
            task="regression",
            sample_weight=[1, 1, 0],
        )
        assert {"pearson", "spearman", "ause"} <= set(report.missing)
        assert all(np.isfinite(value) for value in report.values())

    def test_nothing_left(self):
        with pytest.raises(ValueError, match="no places left.*2 samples"):
            kz.evaluate_scores(
                [255, 255], [[0.9, 0.1]] * 2, [0.1, 0.2], ignore_class=255
            )

    @pytest.mark.parametrize("label", [-1, 2])
    def test_labels_that_are_no_classes(self, label):
        with pytest.raises(ValueError, match="0…1.*Received.*ignore_class"):
            kz.evaluate_scores([0, label], [[0.9, 0.1]] * 2, [0.1, 0.2])


class TestHints:
    def test_scores_that_are_all_the_same(self):
        labels, p, u, _ = classification()
        (hint,) = kz.evaluate_scores(labels, p, 0 * u, {"o": 0 * u[:9]}).hints
        assert "All uncertainties are 0" in hint

    def test_scores_that_rank_backwards(self):
        labels, p, _, _ = classification(size=200)
        correct = p.argmax(axis=-1) == labels
        (hint,) = kz.evaluate_scores(labels, p, correct).hints
        assert "below 0" in hint

    def test_images_in_the_place_of_scores(self):
        labels, p, u, _ = classification()
        with pytest.raises(ValueError, match=r"one.*\(9, 8, 8, 1\)"):
            kz.evaluate_scores(labels, p, u, {"o": np.zeros((9, 8, 8, 1))})
