"""Answers per node of a graph: masks, mixed sizes, aggregates."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests import graphs
from tests.helpers import (
    assert_all_saved_in_fresh_process,
    assert_config_round_trip,
)

# JAX compiles each operation of each network.
pytestmark = [
    pytest.mark.one_quick_on("jax"),
    pytest.mark.first_quick_on("tensorflow", "torch"),
]


def made(base=None, task="regression", eager=True, **kwargs):
    base = base or graphs.node_network()
    model = kz.ZigZagModel.from_model(base, task, seed=0, **kwargs)
    model.adapt(np.array([[-1.0], [1.0]]).reshape(2, *[1] * 2))
    model.compile(
        keras.optimizers.Adam(0.01),
        "mse",
        metrics=["mae"],
        run_eagerly=eager and keras.backend.backend() == "tensorflow",
    )
    return model


def trained(**kwargs):
    data = graphs.graphs()
    model = made(**kwargs)
    model.fit(data, graphs.node_values(data), epochs=2, verbose=0)
    return model, data


@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_padding_counts_in_no_loss_and_no_metric(passes):
    data = graphs.graphs()
    targets = graphs.node_values(data)
    is_node = data["node_mask"][..., None]
    logs = []
    for other in (0.0, 7.0):
        keras.utils.set_random_seed(0)
        model = made(passes=passes, eager=passes == "sampled")
        y = np.where(is_node, targets, other).astype("float32")
        history = model.fit(
            data, y, batch_size=3, epochs=2, shuffle=False, verbose=0
        ).history
        found = model.evaluate(data, y, verbose=0, return_dict=True)
        logs.append((history, found))
    keras.tree.map_structure(
        lambda one, two: np.testing.assert_allclose(one, two, rtol=1e-5), *logs
    )
    prediction = model.predict(data, verbose=0)["prediction"]
    error = np.abs(prediction - targets)[data["node_mask"]].mean()
    assert found["mae"] == pytest.approx(error, rel=1e-4)


def test_a_weight_per_node():
    """Keras's other way to leave out padding needs no mask in the network."""
    data = graphs.graphs()
    weight = data["node_mask"].astype("float32")
    answers = []
    for other in (0.0, 7.0):
        keras.utils.set_random_seed(0)
        model = made(graphs.node_network(masked=False))
        model.compile(
            "sgd",
            "mse",
            weighted_metrics=["mae"],
            run_eagerly=keras.backend.backend() == "tensorflow",
        )
        y = graphs.node_values(data)
        y = np.where(weight[..., None] > 0, y, other).astype("float32")
        model.fit(data, y, sample_weight=weight, shuffle=False, verbose=0)
        found = model.evaluate(data, y, sample_weight=weight, verbose=0)
        answers.append([found, model.predict(data, verbose=0)["prediction"]])
    for one, two in zip(*answers, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)


def test_the_uncertainty_of_padding_is_nan():
    model, data = trained()
    out = model.predict(data, verbose=0)
    assert set(out) == {"prediction", "uncertainty"}
    assert out["prediction"].shape == (4, 6, 1)
    assert np.isfinite(out["prediction"]).all()
    assert out["uncertainty"].shape == (4, 6)
    np.testing.assert_array_equal(
        np.isnan(out["uncertainty"]), ~data["node_mask"]
    )
    served = model.with_threshold(1e9).predict(data, verbose=0)
    np.testing.assert_array_equal(served["accept"], data["node_mask"])


def test_what_is_in_the_padding_changes_nothing():
    model, data = trained()
    other = graphs.with_other_padding(data)
    one, two = (model.predict(x, verbose=0) for x in (data, other))
    is_node = data["node_mask"]
    for key in ("prediction", "uncertainty"):
        np.testing.assert_allclose(
            one[key][is_node], two[key][is_node], rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("aggregate", [None, "mean", "max"])
def test_mixed_sizes_and_a_batch_of_one(aggregate):
    model, data = trained(aggregate=aggregate)
    together = model.predict(data, verbose=0)
    more = graphs.with_more_padding(data, 9)
    more = model.predict(more, verbose=0)
    for index in range(4):
        alone = graphs.rows(data, slice(index, index + 1))
        size = int(data["node_mask"][index].sum())
        alone = {
            "features": alone["features"][:, :size],
            "edges": alone["edges"][:, : 2 * size],
            "node_mask": alone["node_mask"][:, :size],
        }
        alone = model.predict(alone, verbose=0)
        for out in (together, more):
            for key in ("prediction", "uncertainty"):
                found, expected = out[key][index], alone[key][0]
                found = found[:size] if np.ndim(found) else found
                np.testing.assert_allclose(
                    found, expected, rtol=1e-4, atol=1e-6
                )


@pytest.mark.parametrize(
    "aggregate, function", [("mean", np.nanmean), ("max", np.nanmax)]
)
def test_one_uncertainty_per_mesh(aggregate, function):
    model, data = trained()
    config = model.get_config() | {"aggregate": aggregate}
    aggregated = kz.ZigZagModel.from_config(config)
    aggregated.set_weights(model.get_weights())
    per_node = model.predict(data, verbose=0)["uncertainty"]
    out = aggregated.predict(data, verbose=0)
    assert out["uncertainty"].shape == (4,)
    assert out["uncertainty"].dtype == np.float32
    np.testing.assert_allclose(
        out["uncertainty"], function(per_node, axis=1), rtol=1e-5
    )


def test_an_empty_mesh_and_a_broken_one():
    model, data = trained(aggregate="mean", eager=True)
    data = {name: value.copy() for name, value in data.items()}
    data["node_mask"][1] = False
    data["features"][2, 0, 0] = np.nan
    out = model.predict(data, verbose=0)["uncertainty"]
    np.testing.assert_array_equal(np.isnan(out), [False, True, True, False])


def test_answers_per_node_and_per_mesh():
    data = graphs.graphs()
    targets = {
        "node": graphs.node_values(data),
        "graph": graphs.graph_values(data),
    }
    model = kz.ZigZagModel.from_model(
        graphs.both_network(), "regression", aggregate="max"
    )
    model.adapt(targets, sample_weight={"node": data["node_mask"]})
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(data, targets, verbose=0)
    out = model.predict(data, verbose=0)
    assert out["prediction"]["node"].shape == (4, 6, 1)
    assert out["uncertainty"]["node"].shape == (4,)
    assert out["uncertainty"]["graph"].shape == (4,)
    assert np.isfinite(out["uncertainty"]["node"]).all()


def test_padding_has_no_share_in_the_scale():
    data = graphs.graphs()
    targets = graphs.node_values(data) + 5.0
    model = kz.ZigZagModel.from_model(graphs.node_network(), "regression")
    model.adapt(targets, sample_weight=data["node_mask"])
    real = targets[data["node_mask"]]
    mean = ops.convert_to_numpy(model.prior.mean)
    np.testing.assert_allclose(mean, real.mean(axis=0), rtol=1e-5)
    model.adapt([(data, targets, data["node_mask"])].__iter__())
    again = ops.convert_to_numpy(model.prior.mean)
    np.testing.assert_allclose(again, mean, rtol=1e-6)
    with pytest.raises(ValueError, match="per target or per sample"):
        model.adapt(targets, sample_weight=np.ones((4, 5)))


@pytest.mark.slow_but_on("torch")
def test_configs_and_saving():
    assert_config_round_trip(made(aggregate="mean"))
    assert "aggregate" not in kz.UncertaintyModel().get_config()
    # The layers of the tests are not known in a fresh process.
    cases = {
        str(aggregate): (plain_model(aggregate), plain_inputs())
        for aggregate in (None, "mean")
    }
    assert_all_saved_in_fresh_process(cases)


def plain_model(aggregate):
    nodes = keras.Input((None, 3), name="nodes")
    is_node = keras.Input((None,), dtype="bool", name="is_node")
    x = keras.layers.Dense(4, activation="relu")(nodes)
    x = kz.MaskPlaces()([x, is_node])
    base = keras.Model([nodes, is_node], keras.layers.Dense(1)(x))
    model = kz.ZigZagModel.from_model(base, "regression", aggregate=aggregate)
    generator = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(generator.standard_normal(weight.shape))
    return model


def plain_inputs():
    data = graphs.graphs()
    return [data["features"], data["node_mask"]]


def test_saved_with_a_users_layers(tmp_path):
    model, data = trained(aggregate="mean")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    assert loaded.aggregate == "mean"
    keras.tree.map_structure(
        lambda one, two: np.testing.assert_allclose(one, two, rtol=1e-5),
        model.predict(data, verbose=0),
        loaded.predict(data, verbose=0),
    )


def test_bad_input():
    with pytest.raises(ValueError, match="Expected 'mean' or 'max'"):
        made(aggregate="median")
    with pytest.raises(ValueError, match=r"takes `\[features, mask\]`"):
        kz.MaskPlaces()([np.ones((2, 5, 3)), np.ones((2, 4), bool)])
    with pytest.raises(ValueError, match=r"takes `\[features, mask\]`"):
        kz.MaskPlaces()(np.ones((2, 5, 3)))
    for shape in [(2, 5, 3), (2,), (2, 5, 1)]:
        with pytest.raises(ValueError, match="one Boolean for each place"):
            kz.MaskPlaces()([np.ones((2, 5, 3)), np.ones(shape, bool)])
    with pytest.raises(ValueError, match="one Boolean for each place"):
        kz.MaskPlaces()([np.ones((2, 5, 4, 3)), np.ones((2, 5), bool)])


@pytest.mark.parametrize("name", ["mean", "max"])
def test_aggregates_against_numpy(name):
    function = kz.aggregates.get(name)
    generator = np.random.default_rng(0)
    score = generator.uniform(size=(5, 7)).astype("float32")
    weight = generator.uniform(size=(5, 7)).astype("float32")
    weight[:, 2] = 0.0
    score[:, 2] = np.nan
    weight[4] = 0.0
    score[3, 1] = np.nan
    found = ops.convert_to_numpy(function(score, weight))
    for row in (0, 1, 2):
        kept = weight[row] > 0
        values = score[row][kept]
        expected = values.max()
        if name == "mean":
            expected = np.average(values, weights=weight[row][kept])
        assert found[row] == pytest.approx(expected, rel=1e-5)
    assert np.isnan(found[3:]).all()
    every = ops.convert_to_numpy(function(score[:3, 3:]))
    expected = getattr(np, name)(score[:3, 3:], axis=1)
    np.testing.assert_allclose(every, expected, rtol=1e-6)
