"""What has the weight 0, is ignored or masked is nowhere in a report."""

import warnings

import keras
import numpy as np
import pytest

import keras_zigzag as kz

layers = keras.layers
pytestmark = pytest.mark.one_quick_on("jax", "torch")


def sequences():
    """A regression of steps, and data of which two in five are padding."""
    base = keras.Sequential([keras.Input((None, 3)), layers.Dense(1)])
    model = kz.ZigZagModel.from_model(base, task="regression")
    x, far = np.random.default_rng(0).normal(size=(2, 8, 5, 3))
    y = x.sum(axis=-1, keepdims=True)
    model.adapt(y)
    weight = np.ones((8, 5))
    weight[:, 3:] = 0
    return model, x, far, y, weight


@pytest.mark.parametrize("kind", ["arrays", "batches"])
def test_padding_of_an_ood_set(kind):
    model, x, far, y, weight = sequences()
    ood = far, y, weight
    if kind == "batches":
        parts = [tuple(part[i : i + 4] for part in ood) for i in (0, 4)]
        ood = iter(parts)
    report = kz.evaluate_uncertainty(model, (x, y, weight), {"far": ood})
    assert report.uncertainty.size == 24
    assert report.ood_uncertainty["far"].size == 24
    assert report["far_prevalence"] == 0.5
    whole = kz.evaluate_uncertainty(model, (x, y, weight), {"far": far})
    assert whole.ood_uncertainty["far"].size == 40


def test_padding_of_an_ood_set_with_one_uncertainty_per_sample():
    model, x, far, y, weight = sequences()
    weight[0] = 0
    model = model.with_options(aggregate="mean")
    report = kz.evaluate_uncertainty(
        model, (x, y, weight), {"far": (far, y, weight)}
    )
    assert report.ood_uncertainty["far"].size == 7


def test_a_map_with_one_uncertainty_per_image():
    base = keras.Sequential(
        [keras.Input((6, 6, 1)), layers.Conv2D(1, 1, activation="sigmoid")]
    )
    model = kz.ZigZagModel.from_model(base, task="binary", aggregate="mean")
    x = np.random.default_rng(0).normal(size=(10, 6, 6, 1))
    y = (x > 0).astype("float32")
    report = kz.evaluate_uncertainty(model, (x, y))
    assert len(report.uncertainty) == 10
    # The entropy of the prediction is one for each pixel.
    assert report.entropy is None
    by_sample = np.r_[0.0, np.ones(9)]
    report = kz.evaluate_uncertainty(model, (x, y, by_sample))
    assert len(report.uncertainty) == 9
    assert "accuracy" in report.bootstrap(20).intervals
    by_place = np.ones((10, 6, 6))
    with pytest.raises(ValueError, match="aggregate=None"):
        kz.evaluate_uncertainty(model, (x, y, by_place))


def test_classes_of_places_with_one_uncertainty_per_image():
    p = np.full((4, 5, 5, 3), 1 / 3)
    with pytest.raises(ValueError, match=r"\(4, 5, 5, 3\) and .* \(4,\)"):
        kz.evaluate_scores(np.zeros((4, 5, 5), int), p, np.arange(4.0))


def test_equal_means_share_a_mark():
    def reports(values):
        return [
            kz.UncertaintyReport({"aurc": value}, "classification")
            for value in values
        ]

    values = [0.1, 0.2, 0.3]
    # The sums of which differ in their last digit.
    assert np.mean(values) != np.mean(values[::-1])
    both = {"a": reports(values), "b": reports(values[::-1])}
    worse = {"c": reports([0.4, 0.4, 0.4])}
    text = kz.compare(both | worse).to_markdown()
    assert text.count("**0.200 ± 0.100**") == 2
    assert "_0.400 ± 0.000_" in text


def test_a_bootstrap_of_few_samples_of_many(monkeypatch):
    from keras_zigzag.evaluation import bootstrap

    sizes = []
    counts = bootstrap._counts

    def counted(generator, num_samples, count):
        sizes.append(num_samples * count)
        return counts(generator, num_samples, count)

    monkeypatch.setattr(bootstrap, "_counts", counted)
    monkeypatch.setattr(bootstrap, "CHUNK", 10_000)
    generator = np.random.default_rng(0)
    labels, prediction = generator.integers(0, 2, (2, 5_000))
    weight = (np.arange(5_000) < 50).astype(float)
    kz.evaluate_scores(
        labels, prediction, generator.random(5_000), sample_weight=weight
    ).bootstrap(10)
    assert max(sizes) <= 10_000


def test_an_ignored_label_of_a_binary_task():
    report = kz.evaluate_scores(
        [0, 1, 255],
        [0.1, 0.8, 0.5],
        [0.1, 0.2, 0.3],
        task="binary",
        ignore_class=255,
    )
    assert len(report.uncertainty) == 2 and report["accuracy"] == 1.0
    with pytest.raises(ValueError, match="ignore_class=-1 and task='regress"):
        kz.evaluate_scores(
            [1.0], [1.0], [0.1], task="regression", ignore_class=-1
        )


def test_a_label_that_is_not_there_may_be_nan():
    arguments = [0.0, 1.0, np.nan], [0, 0, 0], [1.0, 2.0, 3.0]
    report = kz.evaluate_scores(*arguments, sample_weight=[1, 1, 0])
    assert report["accuracy"] == 0.5
    with pytest.raises(ValueError, match="whole numbers"):
        kz.evaluate_scores(*arguments)


def test_sizes_that_vary_in_the_id_set():
    base = keras.Sequential(
        [
            keras.Input((None, None, 1)),
            layers.Conv2D(3, 3, padding="same", activation="softmax"),
        ]
    )
    model = kz.ZigZagModel.from_model(base, task="classification")
    generator = np.random.default_rng(0)
    images = {
        size: generator.normal(size=(2, size, size, 1)) for size in (4, 6, 8)
    }
    batches = [
        (images[size], generator.integers(3, size=(2, size, size)))
        for size in (4, 6)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kz.evaluate_uncertainty(model, iter(batches), images[4] + 0.1)
    with pytest.warns(UserWarning, match=r"\(8, 8, 1\), those of the ID set"):
        kz.evaluate_uncertainty(model, batches[0], images[8])
