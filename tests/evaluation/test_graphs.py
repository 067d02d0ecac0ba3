"""Reports on models of nodes: padding counts in none of their numbers."""

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from tests import graphs
from tests.baselines import toys

pytestmark = [
    pytest.mark.one_quick_on("jax"),
    pytest.mark.first_quick_on("tensorflow", "torch"),
]
SIZES = (6, 4, 5, 3, 6, 2)


def made(masked=True, **kwargs):
    keras.utils.set_random_seed(0)
    base = graphs.node_network(masked=masked)
    model = kz.ZigZagModel.from_model(base, "regression", **kwargs)
    model.adapt(np.array([[[-1.0], [1.0]]]))
    return toys.randomise(model)


def sets():
    data = graphs.graphs(SIZES)
    ood = graphs.graphs((3, 5), seed=7)
    ood["features"] *= 3
    return data, graphs.node_values(data), ood


def expected_report(data, y, ood):
    """From arrays that hold the nodes that are there, one after another."""
    model = made()
    out = model.predict(data, verbose=0)
    out_ood = model.predict(ood, verbose=0)
    is_node = data["node_mask"]
    return kz.evaluate_scores(
        y[is_node],
        out["prediction"][is_node],
        out["uncertainty"][is_node],
        out_ood["uncertainty"][ood["node_mask"]],
        task="regression",
    )


def same(report, expected):
    assert report.keys() == expected.keys()
    np.testing.assert_allclose(
        list(report.values()), list(expected.values()), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("batch_size", [4, 32])
def test_padding_is_left_out(batch_size):
    data, y, ood = sets()
    y_other = np.where(data["node_mask"][..., None], y, 99.0)
    report = kz.evaluate_uncertainty(
        made(), (data, y_other), ood, batch_size=batch_size
    )
    same(report, expected_report(data, y, ood))
    assert report.samples.id.num_samples == len(SIZES)
    assert report.samples.ood["ood"].num_samples == 2
    low, high = report.bootstrap(num_resamples=50).intervals["mae"]
    assert low < report["mae"] < high


def test_meshes_without_nodes_are_samples():
    data, y, ood = sets()
    ood["node_mask"] = ood["node_mask"] & [[True], [False]]
    report = kz.evaluate_uncertainty(made(), (data, y), ood)
    assert report.samples.ood["ood"].num_samples == 2


def test_arrays_with_weights():
    data, y, ood = sets()
    out = made().predict(data, verbose=0)
    assert np.isnan(out["uncertainty"]).any()
    report = kz.evaluate_scores(
        y,
        out["prediction"],
        out["uncertainty"],
        task="regression",
        sample_weight=data["node_mask"].astype("float32"),
    )
    expected = expected_report(data, y, ood)
    same(report, {key: expected[key] for key in report})
    with pytest.raises(ValueError, match="NaN"):
        kz.evaluate_scores(
            y, out["prediction"], out["uncertainty"], task="regression"
        )


def test_a_network_without_masks_and_weights():
    data, y, _ = sets()
    weight = data["node_mask"].astype("float32")
    report = kz.evaluate_uncertainty(made(masked=False), (data, y, weight))
    expected = kz.evaluate_uncertainty(made(), (data, y))
    same(report, expected)


@pytest.mark.parametrize("by_weight", [False, True])
@pytest.mark.parametrize("aggregate", ["mean", "max"])
def test_one_uncertainty_per_mesh(aggregate, by_weight):
    data, y, ood = sets()
    is_node = data["node_mask"]
    model = made(aggregate=aggregate)
    out, out_ood = (model.predict(x, verbose=0) for x in (data, ood))
    errors = (out["prediction"] - y)[..., 0]
    per_mesh = [
        (np.abs(error[there]).mean(), (error[there] ** 2).mean())
        for error, there in zip(errors, is_node, strict=True)
    ]
    absolute, square = np.array(per_mesh).T
    if by_weight:
        report = kz.evaluate_scores(
            y,
            out["prediction"],
            out["uncertainty"],
            out_ood["uncertainty"],
            task="regression",
            sample_weight=is_node,
        )
    else:
        report = kz.evaluate_uncertainty(model, (data, y), ood, batch_size=4)
    expected = kz.evaluate_scores(
        absolute[:, None],
        np.zeros((len(SIZES), 1)),
        out["uncertainty"],
        out_ood["uncertainty"],
        task="regression",
    )
    expected = dict(expected) | {"rmse": np.sqrt(square.mean())}
    same(report, expected)
    np.testing.assert_allclose(report.loss, absolute, rtol=1e-5)


def test_one_of_two_outputs():
    data, _, ood = sets()
    targets = {
        "node": graphs.node_values(data),
        "graph": graphs.graph_values(data),
    }
    model = kz.ZigZagModel.from_model(graphs.both_network(), "regression")
    model.adapt(targets, sample_weight={"node": data["node_mask"]})
    toys.randomise(model)
    for output, count in (("node", sum(SIZES)), ("graph", len(SIZES))):
        report = kz.evaluate_uncertainty(
            model, (data, targets), ood, output=output
        )
        assert len(report.uncertainty) == count


def test_masked_steps_of_an_ordinary_model():
    model = toys.tagger()
    model.compile("adam", "sparse_categorical_crossentropy")
    x = toys.tokens()
    y = np.random.default_rng(1).integers(0, 3, x.shape)
    report = kz.evaluate_uncertainty(model, (x, y))
    assert len(report.loss) == (x != 0).sum()
