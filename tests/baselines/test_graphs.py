"""Every method of regression on networks of a user's graph layers."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag import baselines
from keras_zigzag.benchmark import Data
from keras_zigzag.benchmark.scoring import scores_of
from tests import graphs
from tests.baselines import toys
from tests.helpers import assert_config_round_trip

# TensorFlow and JAX take seconds to compile each network.
pytestmark = [
    pytest.mark.first_quick_on("tensorflow", "jax"),
    pytest.mark.filterwarnings("ignore:The certificates are random"),
]


def of(method, **options):
    def make(base, **kwargs):
        return method.from_model(base, task="regression", **(options | kwargs))

    return make


METHODS = {
    "single_model": of(baselines.SingleModel),
    "deep_ensemble": of(baselines.DeepEnsemble, num_members=2, seed=0),
    "mc_dropout": of(baselines.MCDropout, layers=1, num_samples=3, seed=0),
    "evidential": of(baselines.EvidentialModel),
    "orthonormal_certificates": of(
        baselines.OrthonormalCertificates, num_steps=5, seed=0
    ),
    "two_models": of(baselines.TwoModels),
    "sngp": of(baselines.SNGP, num_features=16, seed=0),
    "batch_ensemble": of(
        baselines.BatchEnsemble, num_members=2, layers=1, seed=0
    ),
    "masksembles": of(baselines.Masksembles, num_masks=3, layers=1, seed=0),
    "variance_propagation": of(baselines.VariancePropagation, layers=1),
}
SAMPLED = ("mc_dropout", "deep_ensemble", "batch_ensemble", "masksembles")
OWN_LOSS = ("single_model", "deep_ensemble", "evidential")
NETWORKS = {
    "graph": (graphs.graph_network, graphs.graph_values),
    "node": (graphs.node_network, graphs.node_values),
}
every = pytest.mark.parametrize("name", METHODS)


def made(name, base, **kwargs):
    model = METHODS[name](base, **kwargs)
    model.compile(
        keras.optimizers.Adam(0.01),
        None if name in OWN_LOSS else "mse",
        metrics=["mae"],
        run_eagerly=keras.backend.backend() == "tensorflow",
    )
    return model


@every
@pytest.mark.parametrize("kind", NETWORKS)
def test_trains_predicts_and_loads(name, kind, tmp_path):
    make, targets = NETWORKS[kind]
    data = graphs.graphs()
    base = make()
    before = toys.weights_of(base)
    model = made(name, base)
    logs = model.fit(data, targets(data), batch_size=3, epochs=2, verbose=0)
    assert np.isfinite(logs.history["loss"]).all()
    toys.assert_same(toys.weights_of(base), before)
    out = model.predict(data, batch_size=3, verbose=0)
    assert set(out) == {"prediction", "uncertainty"}
    assert out["prediction"].shape == targets(data).shape
    assert out["uncertainty"].shape == targets(data).shape[:-1]
    assert out["uncertainty"].dtype == np.float32
    is_there = data["node_mask"] if kind == "node" else np.ones(4, bool)
    np.testing.assert_array_equal(np.isfinite(out["uncertainty"]), is_there)
    assert np.isfinite(out["prediction"]).all()
    alone = graphs.rows(data, slice(1, 2))
    alone = model.predict(alone, verbose=0)["uncertainty"]
    np.testing.assert_allclose(
        alone, out["uncertainty"][1:2], rtol=1e-3, atol=1e-5
    )
    assert_config_round_trip(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    again = loaded.predict(data, verbose=0)
    for key, value in out.items():
        np.testing.assert_allclose(again[key], value, rtol=1e-4, atol=1e-5)


@every
def test_padding_counts_nowhere(name):
    data = graphs.graphs()
    y = graphs.node_values(data)
    is_node = data["node_mask"]
    found = []
    for other in (0.0, 7.0):
        keras.utils.set_random_seed(0)
        model = made(name, graphs.node_network())
        targets = np.where(is_node[..., None], y, other).astype("float32")
        x = graphs.with_other_padding(data) if other else data
        logs = model.fit(x, targets, shuffle=False, verbose=0).history
        results = model.evaluate(x, targets, verbose=0, return_dict=True)
        out = model.predict(x, verbose=0)
        scores = [out[key][is_node] for key in sorted(out)]
        found.append([logs, results, scores])
    for one, two in zip(*map(keras.tree.flatten, found), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-5)
    error = np.abs(out["prediction"] - y)[is_node].mean()
    assert results["mae"] == pytest.approx(error, rel=1e-3)


@every
@pytest.mark.parametrize("aggregate", ["mean", "max"])
def test_one_uncertainty_per_mesh(name, aggregate):
    data = graphs.graphs()
    keras.utils.set_random_seed(0)
    model = made(name, graphs.node_network(), aggregate=aggregate)
    toys.randomise(model)
    found = model.predict(data, verbose=0)["uncertainty"]
    assert found.shape == (4,)
    config = model.get_config()
    assert config.pop("aggregate") == aggregate
    per_node = type(model).from_config(config)
    per_node.set_weights(model.get_weights())
    scores = per_node.predict(data, verbose=0)["uncertainty"]
    expected = getattr(np, f"nan{aggregate}")(scores, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_an_autoencoder_takes_one_input():
    with pytest.raises(ValueError, match="one input.*OrthonormalCert"):
        baselines.AutoencoderError.from_model(
            graphs.graph_network(), task="regression"
        )


def test_variance_goes_through_known_layers_only():
    with pytest.raises(ValueError, match="NeighbourMean.*smaller number"):
        baselines.VariancePropagation.from_model(
            graphs.graph_network(), task="regression", layers=3
        )


def test_options_are_named_where_one_is_unknown():
    with pytest.raises(ValueError, match="'aggregate'"):
        METHODS["mc_dropout"](graphs.node_network(), aggregates="mean")
    with pytest.raises(ValueError, match="Expected 'mean' or 'max'"):
        METHODS["mc_dropout"](graphs.node_network(), aggregate="sum")
    with pytest.raises(ValueError, match="Expected 'mean' or 'max'"):
        kz.ZigZagModel.from_model(
            graphs.node_network(), "regression", aggregate=3
        )


@pytest.mark.parametrize("aggregate", [None, "mean", "max"])
@pytest.mark.parametrize("name", SAMPLED)
def test_the_samples_together_say_what_the_model_says(name, aggregate):
    data = graphs.graphs()
    data["features"][1, 0, 0] = np.nan
    base = toys.randomise(graphs.node_network())
    model = METHODS[name](base, aggregate=aggregate)
    inputs = {key: ops.convert_to_tensor(one) for key, one in data.items()}
    expected = model.predict(data, verbose=0)
    found = model.combine(model.samples(inputs), data)
    for key, values in expected.items():
        np.testing.assert_allclose(
            ops.convert_to_numpy(found[key]), values, rtol=1e-4, atol=1e-6
        )
    assert np.isnan(expected["uncertainty"]).any()
    data = Data(
        (data, None), (data, None), (data, graphs.node_values(data)), {}
    )
    scores = scores_of(model, data, "regression", batch_size=4)
    np.testing.assert_allclose(
        scores["id_uncertainty"], expected["uncertainty"], rtol=1e-4, atol=1e-6
    )
