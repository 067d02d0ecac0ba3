"""Which output a report is about, and what its loss says of the labels."""

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag import metrics

layers = keras.layers
pytestmark = pytest.mark.first_quick_on("jax", "torch")

SPARSE = keras.losses.SparseCategoricalCrossentropy


def images(*shape):
    return np.random.default_rng(0).normal(size=(6, *shape)).astype("float32")


def binary_map():
    """Segmentation without a channel axis: `(N, 4, 5)`."""
    inputs = keras.Input((4, 5, 1))
    x = layers.Conv2D(1, 1, activation="sigmoid")(inputs)
    return keras.Model(inputs, layers.Reshape((4, 5))(x))


@pytest.mark.parametrize("kind", ["ordinary", "zigzag"])
def test_the_entropy_of_a_map_of_yes_and_no(kind):
    model = base = binary_map()
    base.compile("adam", "binary_crossentropy")
    if kind == "zigzag":
        model = kz.ZigZagModel.from_model(base, task="binary")
    x = images(4, 5, 1)
    y = np.random.default_rng(1).integers(0, 2, (6, 4, 5))
    report = kz.evaluate_uncertainty(model, (x, y), score="entropy")
    p = base.predict(x, verbose=0).astype("float64")
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    np.testing.assert_allclose(report.uncertainty, entropy.ravel(), rtol=1e-5)
    assert report["accuracy"] == pytest.approx(np.mean((p > 0.5) == y))
    if kind == "zigzag":
        beside = kz.evaluate_uncertainty(model, (x, y)).entropy
        assert dict(beside) == pytest.approx(dict(report))


def classifier(name="kind", num_classes=3):
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(num_classes, "softmax", name=name),
        ]
    )


@pytest.mark.parametrize("packed", ["alone", "list", "dict", "argument"])
@pytest.mark.parametrize("ignored", [0, 255])
def test_the_label_that_a_loss_ignores(packed, ignored):
    model = kz.ZigZagModel.from_model(classifier(), task="classification")
    loss = SPARSE(ignore_class=ignored)
    losses = {"alone": loss, "list": [loss], "dict": {"kind": loss}}
    model.compile("adam", losses.get(packed, SPARSE()))
    x, y = images(4), np.array([1, 2, ignored, 1, 2, ignored])
    given = {"ignore_class": ignored} if packed == "argument" else {}
    report = kz.evaluate_uncertainty(model, (x, y), **given)
    assert len(report.uncertainty) == 4
    kept = y != ignored
    p = model.predict(x, verbose=0)["prediction"]
    assert report["accuracy"] == np.mean((p.argmax(-1) == y)[kept])
    callback = kz.callbacks.UncertaintyEvaluation((x, y), **given)
    if packed != "argument":
        model.fit(x, y, verbose=0, callbacks=[callback])
        assert len(callback.report.uncertainty) == 4


def test_a_loss_in_a_list_says_what_the_task_is():
    model = classifier()
    model.compile("adam", ["sparse_categorical_crossentropy"])
    x, y = images(4), np.array([0, 1, 2, 0, 1, 2])
    assert "accuracy" in kz.evaluate_uncertainty(model, (x, y))


def two_in_a_list():
    inputs = keras.Input((4,))
    x = layers.Dense(5, activation="relu")(inputs)
    outputs = [
        layers.Dense(3, activation="softmax", name="kind")(x),
        layers.Dense(1, name="size")(x),
    ]
    return keras.Model(inputs, outputs)


@pytest.mark.parametrize("kind", ["ordinary", "zigzag", "baseline"])
@pytest.mark.parametrize("by", ["name", "index"])
def test_outputs_in_a_list_with_targets_by_name(kind, by):
    model = base = two_in_a_list()
    tasks = ["classification", "regression"]
    if kind == "zigzag":
        model = kz.ZigZagModel.from_model(base, tasks)
        model.adapt([np.zeros(6), np.arange(6.0)])
    elif kind == "baseline":
        model = kz.baselines.MCDropout.from_model(
            base, tasks, num_samples=2, rate=0.5, seed=0
        )
    labels = np.array([0, 1, 2, 0, 9, 9])
    model.compile("adam", {"kind": SPARSE(ignore_class=9), "size": "mse"})
    x = images(4)
    y = {"kind": labels, "size": np.arange(6.0)[:, None]}
    output = {"name": "kind", "index": 0}[by]
    report = kz.evaluate_uncertainty(model, (x, y), output=output)
    assert len(report.uncertainty) == 4
    # And the targets in a list, as the outputs are.
    same = kz.evaluate_uncertainty(model, (x, [*y.values()]), output=output)
    assert same["accuracy"] == report["accuracy"]
    with pytest.raises(ValueError, match="no such output"):
        kz.evaluate_uncertainty(model, (x, y), output="weight")
    with pytest.raises(ValueError, match="about one output"):
        kz.evaluate_uncertainty(model, (x, y))


def test_the_target_of_one_output_by_its_name():
    model = kz.ZigZagModel.from_model(classifier(), task="classification")
    model.compile("adam", "sparse_categorical_crossentropy")
    x, y = images(4), np.array([0, 1, 2, 0, 1, 2])
    report = kz.evaluate_uncertainty(model, (x, {"kind": y}))
    out = model.predict(x, verbose=0)
    correct = out["prediction"].argmax(-1) == y
    assert report["aurc"] == pytest.approx(
        metrics.aurc(~correct, out["uncertainty"])
    )


def log_of(model, id_data, x, y):
    # Others need an answer that is right.
    callback = kz.callbacks.UncertaintyEvaluation(
        id_data, on_error="raise", metrics="aurc"
    )
    model.fit(x, y, verbose=0, callbacks=[callback])
    return callback.report


def test_the_callback_takes_labels_that_do_not_count():
    model = kz.ZigZagModel.from_model(classifier(), task="classification")
    model.compile("adam", "sparse_categorical_crossentropy")
    x, y = images(4), np.array([0, 1, 2, 0, 1, 2])
    weight = np.array([1, 1, 1, 1, 0, 0])
    void = np.where(weight == 1, y, -1)
    assert len(log_of(model, (x, void, weight), x, y).uncertainty) == 4
    with pytest.raises(ValueError, match="In `id_data`: Labels must lie"):
        log_of(model, (x, void), x, y)


def test_the_callback_takes_values_that_do_not_count():
    base = keras.Sequential([keras.Input((None, 2)), layers.Dense(1)])
    model = kz.ZigZagModel.from_model(base, task="regression")
    x = images(3, 2)
    y = x.sum(-1, keepdims=True)
    model.adapt(y)
    model.compile("adam", "mse")
    weight = np.ones((6, 3))
    weight[:, 2] = 0
    padded = np.where(weight[..., None] == 1, y, np.nan)
    assert log_of(model, (x, padded, weight), x, y).uncertainty.size == 12
    with pytest.raises(ValueError, match="In `id_data`"):
        log_of(model, (x, padded), x, y)


def test_the_callback_takes_both_kinds_of_labels():
    model = kz.ZigZagModel.from_model(classifier(), task="classification")
    model.compile("adam", "categorical_crossentropy")
    x, y = images(4), np.array([0, 1, 2, 0, 1, 2])
    one_hot = np.eye(3)[y]
    report = log_of(model, (x, y), x, one_hot)
    assert dict(report) == dict(kz.evaluate_uncertainty(model, (x, one_hot)))


def test_a_metric_that_there_is_not():
    report = kz.evaluate_scores([0, 1], [0, 0], [0.1, 0.2])
    with pytest.raises(KeyError, match="no metric 'svhn_roc_auc'.*accuracy"):
        report["svhn_roc_auc"]
    assert report.get("svhn_roc_auc") is None
    assert "svhn_roc_auc" not in report


@pytest.mark.parametrize("weighted", [False, True])
def test_the_callback_takes_tensors(weighted):
    model = kz.ZigZagModel.from_model(classifier(), task="classification")
    model.compile("adam", "sparse_categorical_crossentropy")
    x, y = images(4), np.array([0, 1, 2, 0, 1, -1 if weighted else 2])
    data = [x, y, np.array([1.0, 1, 1, 1, 1, 0])][: 2 + weighted]
    tensors = tuple(map(keras.ops.convert_to_tensor, data))
    report = log_of(model, tensors, x, np.abs(y))
    assert len(report.uncertainty) == 6 - weighted
