"""What a method costs and changes, from its model."""

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag.benchmark import run_costs
from keras_zigzag.benchmark.run_costs import (
    enough,
    first_batches,
    leaf_layers,
    share_of_changed_layers,
)
from tests.baselines import toys


@pytest.mark.parametrize(
    ("method", "options", "share"),
    [
        ("SingleModel", {}, 0.0),
        ("DeepEnsemble", {"num_members": 2}, 0.0),
        # Beside two layers of the base a dropout, and one that repeats rows.
        ("MCDropout", {"layers": 1}, 0.5),
        # One that repeats rows, and two with fast weights.
        ("BatchEnsemble", {}, 1.0),
    ],
)
def test_share_of_changed_layers(method, options, share):
    base = toys.mlp()
    model = kz.methods()[method].model.from_model(
        base, task="classification", **options
    )
    assert share_of_changed_layers(base, model) == share


def test_layers_of_nested_models_count_once():
    shared = keras.layers.Dense(4)
    inner = keras.Sequential([keras.Input((4,)), shared, keras.layers.ReLU()])
    inputs = keras.Input((4,))
    model = keras.Model(inputs, inner(inner(shared(inputs))))
    kinds = [type(layer).__name__ for layer in leaf_layers(model)]
    assert sorted(kinds) == ["Dense", "ReLU"]


def test_first_batches_are_limited():
    x = np.zeros((50_000, 1), "float32")
    taken, labels = first_batches((x, np.arange(50_000)), 1000)
    assert len(taken) == len(labels) == 8000
    taken, _ = first_batches((x[:30], np.arange(30)), 8)
    assert len(taken) == 30


@pytest.mark.parametrize(("seconds", "count"), [(0.0, 8), (1e9, 20)])
def test_fewer_batches_of_what_takes_long(seconds, count, monkeypatch):
    monkeypatch.setattr(run_costs, "SECONDS", seconds)
    single = toys.mlp()
    single.compile("sgd", "sparse_categorical_crossentropy")
    x = np.zeros((40, *single.input_shape[1:]), "float32")
    taken, labels = enough(single, x, np.zeros(40, int), 2)
    assert len(taken) == len(labels) == 2 * count
