"""Ablations see the training and validation samples of a base, and no more."""

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag.benchmark import Data, report, run, runner
from tests.benchmark import tiny_protocol
from tests.examples.protocol_files import load_file

pytestmark = pytest.mark.backend("tensorflow")
UNTOUCHED = object()  # Any use of it as data is an error.


@pytest.fixture(scope="module")
def ablation():
    return load_file("ablation")


@pytest.fixture(scope="module")
def held_out():
    return load_file("held_out")


def classes(seed, num_classes=5):
    """Each input is a number of its own; its last digit is the class."""
    numbers = np.random.default_rng(seed).permutation(1000)
    x, y = numbers[:, None].astype("float32"), numbers % 10 % num_classes
    train, validation = (x[:800], y[:800]), (x[800:], y[800:])
    return Data(train, validation, UNTOUCHED, {"far": UNTOUCHED})


def values(seed):
    x = np.random.default_rng(seed).permutation(1000)[:, None] / 1000
    x = np.concatenate([np.round(x), x], axis=1).astype("float32")
    y = 2 * x[:, 1:]
    train, validation = (x[:900], y[:900]), (x[900:], y[900:])
    return Data(train, validation, UNTOUCHED, {"shifted": UNTOUCHED})


def base(task="classification", **changes):
    """An experiment whose test and OOD sets cannot be read."""
    load = tiny_protocol.load_values
    if task == "classification":
        load = three_classes

    def untouched(seed):
        data = load(seed)
        return Data(data.train, data.validation, UNTOUCHED, {"a": UNTOUCHED})

    return tiny_protocol.make(
        task, 1, load=untouched, build=builders[task], **changes
    )


def three_classes(seed):
    data = tiny_protocol.load_data(seed)
    sets = [
        (x, np.digitize(x[:, 1], [-0.5, 0.5]))
        for x, _ in (data.train, data.validation)
    ]
    return Data(*sets, UNTOUCHED, {"far": UNTOUCHED})


def deep(num_outputs, activation):
    hidden = [keras.layers.Dense(8, "relu") for _ in range(3)]
    last = keras.layers.Dense(num_outputs, activation)
    return keras.Sequential([keras.Input((4,)), *hidden, last])


builders = {
    "classification": lambda: deep(3, "softmax"),
    "regression": lambda: deep(1, None),
}


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_the_class_that_is_held_out(held_out, seed):
    data = held_out.without_a_class(seed, classes)
    whole = classes(seed)
    (x, y), (x_test, y_test) = data.train, data.test
    class_of = {"train": x % 10 % 5, "test": x_test % 10 % 5}
    unknown = seed % 5
    known = [one for one in range(5) if one != unknown]
    for found, labels in zip(class_of.values(), (y, y_test), strict=True):
        assert set(found[:, 0]) == set(known)
        # Numbered without a gap, in the same order.
        np.testing.assert_array_equal(np.take(known, labels), found[:, 0])
    assert set(data.ood["held_out"][:, 0] % 10 % 5) == {unknown}
    assert set(x[:, 0]) <= set(whole.train[0][:, 0])
    assert set(x_test[:, 0]) <= set(whole.validation[0][:, 0])
    assert len(x) + len(x_test) + len(data.ood["held_out"]) == 1000


def test_no_more_unknown_samples_than_asked_for(held_out, monkeypatch):
    monkeypatch.setattr(held_out, "MAX_UNKNOWN", 60)
    unknown = held_out.without_a_class(1, classes).ood["held_out"]
    assert len(unknown) == 60
    # Those of the validation come first.
    validation = set(classes(1).validation[0][:, 0])
    assert set(unknown[:30, 0]) <= validation


def test_the_part_of_a_feature_that_is_unknown(held_out):
    data = held_out.without_upper_part(0, values)
    (x, y), (x_test, y_test) = data.train, data.test
    unknown = data.ood["next"]
    assert [len(x), len(x_test), len(unknown)] == [680, 170, 150]
    assert max(x[:, 1].max(), x_test[:, 1].max()) < unknown[:, 1].min()
    every = np.concatenate([x[:, 1], x_test[:, 1], unknown[:, 1]])
    assert len(np.unique(every)) == 1000
    np.testing.assert_array_equal(y, 2 * x[:, 1:])
    np.testing.assert_array_equal(y_test, 2 * x_test[:, 1:])


@pytest.mark.parametrize("quick", [True, False])
def test_the_experiments(ablation, quick):
    protocols = {one.name: one for one in ablation.protocols(quick)}
    images = [f"ablation-{one}" for one in ("mnist", "mnist_split", "cifar10")]
    assert list(protocols)[:3] == images
    sets = list(protocols.values())[3:]
    assert len(sets) == 9 and {one.group for one in sets} == {"ablation-uci"}
    assert sets[0].name == "ablation-uci-boston"
    mnist = protocols["ablation-mnist"]
    assert mnist.title == "Ablation: MNIST"
    rate = float(mnist.training.optimizer().learning_rate)
    assert rate == pytest.approx(1e-3)
    assert protocols["ablation-cifar10"].settings["quick"]
    assert not any(one.paper for one in protocols.values())


@pytest.mark.parametrize(
    ("name", "num_outputs", "middle", "last"),
    [
        ("mnist", 9, "Dense", (50, 50)),
        ("mnist_split", 4, "Dense", (50, 50)),
        pytest.param(
            "cifar10", 9, "Conv2D", (3, 3, 64, 64), marks=pytest.mark.slow
        ),
        ("uci-yacht", 1, "Dense", (64, 64)),
    ],
)
def test_all_variants_of_a_base(ablation, name, num_outputs, middle, last):
    protocols = {one.name: one for one in ablation.protocols(quick=True)}
    protocol = protocols[f"ablation-{name}"]
    model = protocol.build()
    assert model.output_shape == (None, num_outputs)
    variants = protocol.all_variants()
    layers = [one.options.get("layer") for one in variants.values()]
    middle_name, last_name = [one for one in layers if one]
    assert type(model.get_layer(middle_name)).__name__ == middle
    assert model.get_layer(last_name).kernel.shape == last
    for label, variant in variants.items():
        method = kz.methods()[variant.method].model
        made = method.from_model(model, task=protocol.task, **variant.arguments)
        assert isinstance(made, kz.UncertaintyModel), label


def test_the_middle_of_the_resnet_begins_its_second_block(ablation):
    protocols = {one.name: one for one in ablation.protocols(quick=True)}
    layer = protocols["ablation-cifar10"].build().get_layer("mixing_4")
    assert layer.kernel.shape == (3, 3, 16, 32)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_report_of_two_variants(ablation, task, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "costs_of", lambda *arguments: {"size": 1})
    protocol = ablation.make(base(task), layers=(2, 3))
    labels = ["ZigZag, sampled", "ZigZag", "ZigZag, three passes"]
    records = run(protocol, labels, 2, tmp_path, progress=False)
    assert [one["error"] for one in records] == [None] * 6
    ood = {"classification": "held_out", "regression": "next"}[task]
    assert all(f"{ood}_roc_auc" in one["metrics"] for one in records)
    text = report(tmp_path).read_text()
    assert "### Against ZigZag, over the seeds" in text
    assert "Against ZigZag, sampled" not in text
    # The entropy of one network is there once.
    assert ("ZigZag, entropy of y0" in text) == (task == "classification")
    assert "ZigZag, three passes, entropy" not in text
    (against,) = [
        part
        for part in text.split("### ")
        if part.startswith("Against ZigZag, over the seeds")
    ]
    assert "| ZigZag, sampled " in against and " [" in against


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_variant_runs(ablation, task, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "costs_of", lambda *arguments: {"size": 1})
    protocol = ablation.make(base(task), layers=(2, 3))
    records = run(protocol, seeds=1, out=tmp_path, progress=False)
    assert {one["method"]: one["error"] for one in records} == dict.fromkeys(
        protocol.all_variants()
    )
    # What is in the variants was not changed by the models made with them.
    assert run(protocol, seeds=1, out=tmp_path, progress=False) == records
