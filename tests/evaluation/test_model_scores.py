import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag import metrics
from tests.evaluation.models import (
    compiled_classifier,
    ordinary,
    segmentation,
    sets,
    two_outputs,
)
from tests.zigzag.toys import linear, randomise, value_data

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def same(report, expected, **tolerances):
    assert report.keys() == expected.keys()
    np.testing.assert_allclose(
        list(report.values()), list(expected.values()), **tolerances
    )


def test_the_scores_are_those_of_predict():
    x, y, ood = sets()
    model = compiled_classifier()
    report = kz.evaluate_uncertainty(model, (x, y), ood)
    out, out_ood = (model.predict(data, verbose=0) for data in (x, ood))
    expected = kz.evaluate_scores(
        y, out["prediction"], out["uncertainty"], out_ood["uncertainty"]
    )
    same(report, expected, rtol=1e-5, atol=1e-6)
    assert report.name == model.name
    assert str(report).startswith(f"{model.name}, classification, 64 ID")


def test_the_entropy_is_beside_it():
    x, y, ood = sets()
    model = compiled_classifier()
    report = kz.evaluate_uncertainty(model, (x, y), ood, name="m")
    entropy = kz.evaluate_uncertainty(model, (x, y), ood, score="entropy")
    assert dict(report.entropy) == dict(entropy)
    assert report.entropy.name == "m, entropy"
    assert entropy.entropy is None
    p = model.predict(x, verbose=0)["prediction"].astype("float64")
    np.testing.assert_allclose(
        entropy.uncertainty, -(p * np.log(p)).sum(-1), rtol=1e-5
    )
    header = report.to_markdown().splitlines()[0]
    assert [cell.strip() for cell in header.split("|")[1:-1]] == [
        "m",
        "uncertainty",
        "entropy",
    ]
    text = report.to_json()
    again = kz.UncertaintyReport.from_json(text)
    assert dict(again.entropy) == dict(report.entropy)


class TestScores:
    def test_an_ordinary_classifier_has_its_entropy(self):
        x, y, ood = sets()
        model = ordinary()
        report = kz.evaluate_uncertainty(model, (x, y), ood)
        same(
            report, kz.evaluate_uncertainty(model, (x, y), ood, score="entropy")
        )
        assert report.entropy is None

    def test_a_callable_of_the_outputs(self):
        x, y, _ = sets()
        report = kz.evaluate_uncertainty(
            ordinary(), (x, y), score=lambda p: 1 - p.max(axis=-1)
        )
        p = report.prediction
        np.testing.assert_allclose(report.uncertainty, 1 - p.max(-1), rtol=1e-6)
        assert report.entropy is not None

    def test_logits(self):
        x, y, _ = sets()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        report = kz.evaluate_uncertainty(ordinary(None, loss=loss), (x, y))
        np.testing.assert_allclose(report.prediction.sum(-1), 1, rtol=1e-5)

    def test_one_probability(self):
        x, y, _ = sets()
        model = ordinary("sigmoid", 1, "binary_crossentropy")
        report = kz.evaluate_uncertainty(model, (x, y > 0))
        assert report.task == "binary"
        p = report.prediction[:, 0].astype("float64")
        expected = -p * np.log(p) - (1 - p) * np.log(1 - p)
        np.testing.assert_allclose(report.uncertainty, expected, rtol=1e-5)

    @pytest.mark.parametrize(
        "model, kwargs, message",
        [
            (lambda: ordinary(None, 1, "mse"), {}, "An ordinary model of"),
            (ordinary, {"score": "uncertainty"}, "has no uncertainty"),
            (ordinary, {"score": "variance"}, "`score` must be one of"),
            (lambda: ordinary(loss=sum), {}, "what the task is"),
            (ordinary, {"batch_size": 0}, "`batch_size` must be"),
            (
                lambda: ordinary(None),
                {"score": "entropy"},
                "Only probabilities have an entropy",
            ),
        ],
    )
    def test_bad_input(self, model, kwargs, message):
        x, y, _ = sets()
        with pytest.raises(ValueError, match=message):
            kz.evaluate_uncertainty(model(), (x, y), **kwargs)


def test_regression():
    x, y = value_data(20)
    model = randomise(linear())
    report = kz.evaluate_uncertainty(model, (x, y, np.ones(20)))
    assert report.task == "regression" and report.entropy is None
    out = model.predict(x, verbose=0)
    expected = kz.evaluate_scores(
        y, out["prediction"], out["uncertainty"], task="regression"
    )
    same(report, expected, rtol=1e-5, atol=1e-6)


def test_images_of_several_sizes():
    model = segmentation()
    rng = np.random.default_rng(0)
    batches = [
        (
            rng.normal(size=(2, size, size, 1)).astype("float32"),
            rng.integers(3, size=(2, size, size)),
        )
        for size in (4, 6)
    ]
    report = kz.evaluate_uncertainty(model, iter(batches))
    assert report.uncertainty.shape == (2 * 16 + 2 * 36,)
    assert report.samples.id.num_samples == 4
    assert report.samples.id.sample.max() == 3
    assert report.entropy.uncertainty.shape == report.uncertainty.shape


class TestOutputs:
    def data(self):
        x, y, ood = sets()
        return (x, {"kind": y, "size": x[:, :1]}), ood

    def test_one_report_each(self):
        id_data, ood = self.data()
        model = two_outputs()
        out = model.predict(id_data[0], verbose=0)
        for output, task in {
            "kind": "classification",
            "size": "regression",
        }.items():
            report = kz.evaluate_uncertainty(model, id_data, ood, output=output)
            expected = kz.evaluate_scores(
                id_data[1][output],
                out["prediction"][output],
                out["uncertainty"][output],
                task=task,
            )
            for key in expected:
                assert report[key] == pytest.approx(expected[key], abs=1e-5)

    def test_which_must_be_said(self):
        id_data, _ = self.data()
        model = two_outputs()
        with pytest.raises(ValueError, match=r"outputs \['kind', 'size'\]"):
            kz.evaluate_uncertainty(model, id_data)
        with pytest.raises(ValueError, match="no such output"):
            kz.evaluate_uncertainty(model, id_data, output="colour")


def test_one_pass_over_each_set(monkeypatch):
    x, y, ood = sets(70)
    model = compiled_classifier()
    rows = []
    predict = model.predict_on_batch

    def counted(batch):
        rows.append(len(batch))
        return predict(batch)

    monkeypatch.setattr(model, "predict_on_batch", counted)
    kz.evaluate_uncertainty(model, (x, y), {"far": ood})
    assert rows == [32, 32, 6, 32, 3]


def test_batches_whose_weights_are_all_zero():
    x, y, _ = sets()
    weight = np.ones(len(y))
    weight[:8] = 0.0
    model = compiled_classifier()
    reports = [
        kz.evaluate_uncertainty(model, (x, y, weight), batch_size=size)
        for size in (8, len(y))
    ]
    assert dict(reports[0]) == pytest.approx(dict(reports[1]))


def test_progress_bar(capsys):
    x, y, _ = sets()
    kz.evaluate_uncertainty(compiled_classifier(), (x, y), verbose=1)
    assert "2/2" in capsys.readouterr().out


def test_nan_scores():
    x, y, _ = sets()
    x[3, 0] = np.nan
    model = compiled_classifier()
    with pytest.raises(ValueError, match="nan_policy"):
        kz.evaluate_uncertainty(model, (x, y))
    report = kz.evaluate_uncertainty(model, (x, y), nan_policy="worst")
    assert np.isnan(report.uncertainty).sum() == 1
    assert "raulc" in report


@pytest.mark.parametrize("task", ["classification", "binary"])
def test_no_answer_is_a_wrong_one(task):
    shape = (4, 3) if task == "classification" else (4, 1)
    prediction = np.full(shape, np.nan)
    prediction[3] = [0.1, 0.8, 0.1] if task == "classification" else 0.9
    scores = np.array([np.nan] * 3 + [0.1])
    report = kz.evaluate_scores(
        [0, 0, 0, 1], prediction, scores, task=task, nan_policy="worst"
    )
    assert report["accuracy"] == 0.25
    # Right, then wrong and wrong and wrong.
    risks = np.array([0, 1 / 2, 2 / 3, 3 / 4])
    wrong = np.array([True, True, True, False])
    assert report["aurc"] == metrics.aurc(wrong, scores, nan_policy="worst")
    assert report["aurc"] >= risks[:2].mean()


def test_mixed_precision():
    x, y, ood = sets()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = compiled_classifier()
        report = kz.evaluate_uncertainty(model, (x, y), ood)
    finally:
        keras.config.set_dtype_policy("float32")
    assert report.missing == {}


@pytest.mark.backend("tensorflow")
def test_two_replicas(two_replicas):
    x, y, ood = sets()
    alone = kz.evaluate_uncertainty(compiled_classifier(), (x, y), ood)
    with two_replicas.scope():
        model = compiled_classifier()
    report = kz.evaluate_uncertainty(model, (x, y), ood, batch_size=64)
    same(report, alone, rtol=1e-4, atol=1e-5)
