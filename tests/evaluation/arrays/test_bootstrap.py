import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag.evaluation import bootstrap
from keras_zigzag.evaluation.resampled_metrics import ResampledMetrics
from tests.evaluation.arrays.data import classification, regression


def reports():
    labels, p, u, ood = classification()
    y, prediction, v, ood_v = regression()
    bits = (labels > 0).astype(int)
    return {
        "classification": kz.evaluate_scores(labels, p, u, {"s": ood}),
        "binary": kz.evaluate_scores(
            np.stack([bits, 1 - bits], -1), p[:, 1:], u, ood, task="binary"
        ),
        "regression": kz.evaluate_scores(
            y, prediction, v, ood_v, task="regression"
        ),
    }


@pytest.mark.parametrize("task", reports())
@pytest.mark.parametrize("seed", range(2))
def test_a_resample_is_the_samples_drawn(task, seed):
    report = reports()[task]
    samples = report.samples
    (name,) = samples.ood
    rng = np.random.default_rng(seed)
    drawn = rng.integers(60, size=(3, 60))
    num_ood = samples.ood[name].num_samples
    ood_drawn = rng.integers(num_ood, size=(3, num_ood))
    functions = ResampledMetrics(samples).functions(
        counts(drawn), {name: counts(ood_drawn)}
    )
    for row in range(3):
        some = drawn[row]
        expected = kz.evaluate_scores(
            report.targets[some],
            report.prediction[some],
            report.uncertainty[some],
            {name: report.ood_uncertainty[name][ood_drawn[row]]},
            task=task,
        )
        for key, value in expected.items():
            if not key.endswith("prevalence"):
                assert functions[key]()[row] == pytest.approx(
                    value, rel=1e-9, abs=1e-12
                ), key


@pytest.mark.parametrize("task", reports())
def test_intervals_hold_the_value(task):
    report = reports()[task].bootstrap(200)
    keys = {key for key in report if not key.endswith("prevalence")}
    assert report.intervals.keys() == keys
    for key, (low, high) in report.intervals.items():
        assert low < high, key
    low, high = report.intervals["aurc"]
    assert low < report["aurc"] < high


def test_accuracy_is_binomial():
    labels = np.zeros(400, dtype=int)
    answers = (np.arange(400) % 4 == 0).astype(int)
    report = kz.evaluate_scores(labels, answers, np.arange(400))
    low, high = report.bootstrap(2000).intervals["accuracy"]
    half = 1.96 * np.sqrt(0.75 * 0.25 / 400)
    assert low == pytest.approx(0.75 - half, abs=0.006)
    assert high == pytest.approx(0.75 + half, abs=0.006)


def test_seed():
    report = reports()["classification"]
    assert report.bootstrap(50).intervals == report.bootstrap(50).intervals
    other = report.bootstrap(50, seed=1).intervals
    assert other != report.bootstrap(50).intervals


def test_chunks(monkeypatch):
    report = reports()["regression"]
    whole = report.bootstrap(40).intervals
    monkeypatch.setattr(bootstrap, "CHUNK", 8 * 80)
    parts = report.bootstrap(40).intervals
    for key, ends in whole.items():
        assert parts[key] == pytest.approx(ends)


def test_sets_are_drawn_apart():
    labels, p, u, ood = classification()
    alone = kz.evaluate_scores(labels, p, u).bootstrap(50).intervals
    both = kz.evaluate_scores(labels, p, u, ood).bootstrap(50).intervals
    assert {key: both[key] for key in alone} == alone


def test_whole_images_are_drawn():
    # All pixels of an image are alike, so that only images vary.
    correct = np.repeat([[0], [1]] * 10, 50, axis=1)
    score = np.arange(20)[:, None] + np.zeros((1, 50))
    dense = kz.evaluate_scores(np.ones((20, 50), dtype=int), correct, score)
    images = kz.evaluate_scores(
        np.ones(20, dtype=int), correct[:, 0], score[:, 0]
    )
    assert dense.bootstrap(100).intervals["accuracy"] == pytest.approx(
        images.bootstrap(100).intervals["accuracy"]
    )


def test_weights():
    labels, p, u, _ = classification()
    weight = np.arange(60) % 3 + 1.0
    report = kz.evaluate_scores(labels, p, u, sample_weight=weight)
    low, high = report.bootstrap(100).intervals["raulc"]
    assert low < report["raulc"] < high


def test_few_mistakes_leave_some_resamples_without_a_value():
    report = kz.evaluate_scores([0, 0, 0, 0], [0, 0, 0, 1], [1, 2, 3, 4])
    assert report.bootstrap(100).intervals["raulc"] == (1.0, 1.0)


def test_progress_bar(capsys):
    reports()["classification"].bootstrap(20, verbose=1)
    assert "20/20" in capsys.readouterr().out
    reports()["classification"].bootstrap(20)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "kwargs", [{"num_resamples": 1}, {"confidence": 1.0}, {"confidence": 0}]
)
def test_bad_input(kwargs):
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        reports()["classification"].bootstrap(**kwargs)


def counts(drawn):
    return np.stack(
        [np.bincount(row, minlength=row.size) for row in drawn]
    ).astype(float)
