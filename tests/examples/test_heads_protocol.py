"""Experiments with heads: what they are made of, and that they run."""

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag.benchmark import Data, report, run, runner
from tests.benchmark import tiny_protocol
from tests.examples.protocol_files import load_file

pytestmark = pytest.mark.backend("tensorflow")
FIVE = "ZigZag, 5 heads"
FILES = ["mnist", "mnist_split", "uci", "airfoils"]


@pytest.fixture(scope="module")
def heads():
    return load_file("heads")


@pytest.fixture(scope="module")
def protocols(heads):
    return {one.name: one for one in heads.protocols(quick=False)}


def test_the_experiments(protocols):
    names = ["mnist", "mnist_split", "cifar10", "airfoils"]
    others = {f"heads-{one}" for one in names}
    assert others < set(protocols)
    sets = [one for name, one in protocols.items() if name not in others]
    assert len(sets) == 9 and {one.group for one in sets} == {"heads-uci"}
    assert protocols["heads-mnist"].title == "Heads: MNIST"
    # The larger ones of these take days.
    quick = [protocols[f"heads-{one}"] for one in ("cifar10", "airfoils")]
    assert all(one.settings["quick"] for one in quick)
    assert not protocols["heads-mnist"].settings["quick"]


@pytest.mark.parametrize(
    "name",
    [
        "mnist",
        "mnist_split",
        "uci-yacht",
        pytest.param("airfoils", marks=pytest.mark.slow),
        pytest.param("cifar10", marks=pytest.mark.slow),
    ],
)
def test_all_variants_of_a_base(protocols, name):
    protocol = protocols[f"heads-{name}"]
    base = protocol.build()
    num_heads = {
        label: variant.arguments.get("num_heads", 1)
        for label, variant in protocol.all_variants().items()
        if variant.method == "ZigZagModel"
    }
    assert set(num_heads.values()) == {1, 2, 5, 10}
    sizes, trunks = {}, {}
    for label, number in num_heads.items():
        variant = protocol.all_variants()[label]
        model = kz.ZigZagModel.from_model(
            base, task=protocol.task, **variant.arguments
        )
        assert model.num_heads == number
        sizes[label] = model.count_params()
        trunks[label] = num_layers_of_no_head(model)
    assert sizes["ZigZag"] < sizes["ZigZag, 2 heads"] < sizes[FIVE]
    last, more = f"{FIVE}, of the last layer", f"{FIVE}, of more layers"
    assert trunks[last] > trunks[FIVE] > trunks[more]
    assert sizes[last] < sizes[FIVE] < sizes[more]


def test_ensembles_scored_by_means_alone(protocols):
    only = set(protocols["heads-uci-yacht"].all_variants())
    only -= set(protocols["heads-mnist"].all_variants())
    five = "DeepEnsemble, 5 members"
    assert only == {f"{five}, disagreement", f"{five}, no variances"}
    protocol = protocols["heads-uci-yacht"]
    x = np.random.default_rng(0).normal(size=(6, 6)).astype("float32")
    spread = {}
    for label in (five, *only):
        variant = protocol.all_variants()[label]
        keras.utils.set_random_seed(0)
        model = kz.baselines.DeepEnsemble.from_model(
            protocol.build(),
            task="regression",
            seed=0,
            **variant.arguments,
        )
        found = model.predict(x, verbose=0)["uncertainty"]
        means = [means_of(one(x)) for one in model.members]
        spread[label] = found, np.std(means, axis=0)[:, 0]
    found, expected = spread[f"{five}, disagreement"]
    np.testing.assert_allclose(found, expected**2, rtol=1e-4)
    found, expected = spread[f"{five}, no variances"]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    found, expected = spread[five]
    assert (found > 1.01 * expected).all()


def means_of(outputs):
    """Of a member, that may predict variances too."""
    return keras.ops.convert_to_numpy(keras.tree.flatten(outputs)[0])


def num_layers_of_no_head(model):
    kinds = (keras.layers.Dense, keras.layers.Conv2D)
    return sum(
        isinstance(layer, kinds) and "_head_" not in layer.name
        for layer in model.network.layers
    )


def test_the_targets_that_are_unknown(heads):
    def load(seed):
        y = np.random.default_rng(seed).permutation(1000)[:, None] / 1000
        x = np.stack([y, -y], axis=2)
        train, validation = (x[:900], y[:900]), (x[900:], y[900:])
        return Data(train, validation, None, {"upper": None})

    data = heads.without_upper_targets(0, load)
    assert [len(data.train[0]), len(data.test[0])] == [680, 170]
    np.testing.assert_array_equal(data.train[0][:, :, 0], data.train[1])
    known = max(data.train[1].max(), data.test[1].max())
    assert len(data.ood["next"]) == 150
    assert data.ood["next"][:, :, 0].min() > known


@pytest.mark.slow
def test_a_report_of_all_variants(heads, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "costs_of", lambda *arguments: {"size": 1})
    hidden = [keras.layers.Dense(8, "relu") for _ in range(3)]
    layers = [keras.Input((4,)), *hidden, keras.layers.Dense(1)]
    base = tiny_protocol.make(
        "regression",
        1,
        build=lambda: keras.models.clone_model(keras.Sequential(layers)),
    )
    protocol = heads.make("uci", base)
    records = run(protocol, seeds=2, out=tmp_path, progress=False)
    assert [one["error"] for one in records] == [None] * len(records)
    text = report(tmp_path).read_text()
    for reference in ("ZigZag", "SingleModel", *heads.REFERENCES):
        assert f"### Against {reference}, over the seeds" in text
