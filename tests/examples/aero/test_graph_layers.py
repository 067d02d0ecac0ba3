import functools

import graph_layers
import numpy as np
import pytest
from graph_layers import (
    GlobalMaxPooling,
    GlobalMeanPooling,
    GMMConv,
    GraphNorm,
    RelativeCoordinates,
    TransformerConv,
)
from meshes import relative_coordinates

from tests.examples.aero import oracles
from tests.examples.aero.graphs import (
    as_array,
    build,
    call,
    call_conv,
    edge_values,
    mixed_batch,
    random_graph,
    randomise,
)
from tests.helpers import assert_config_round_trip

# Blocks that hold all edges of a node, and blocks that do not.
DEGREES = [None, 1, 2, 6]


def assert_as_oracle(layer, degree, oracle):
    graphs, batch = mixed_batch(degree, num_nodes=6)
    randomise(layer, batch)
    outputs = call_conv(layer, batch)
    for output, (features, edges) in zip(outputs, graphs, strict=True):
        expected = oracle(features.astype(float), edges, edge_values(edges))
        np.testing.assert_allclose(
            output[: len(features)], expected, rtol=1e-4, atol=1e-5
        )
    assert np.isfinite(outputs).all()


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("aggregation", ["mean", "sum"])
def test_gmm_conv_values(degree, aggregation):
    layer = GMMConv(4, 3, aggregation=aggregation, degree=degree)
    assert_as_oracle(
        layer,
        degree,
        lambda *graph: oracles.gmm_conv(
            *graph,
            *map(np.array, layer.get_weights()),
            mean=aggregation == "mean",
        ),
    )


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("beta, concat", [(True, True), (False, False)])
def test_transformer_conv_values(degree, beta, concat):
    layer = TransformerConv(
        4, num_heads=2, beta=beta, concat=concat, degree=degree
    )

    def oracle(features, edges, edge_features):
        weights = {w.name: as_array(w.value) for w in layer.weights}
        pairs = [
            (weights[f"{name}_kernel"], weights[f"{name}_bias"])
            for name in ("query", "key", "value", "skip")
        ]
        return oracles.transformer_conv(
            features,
            edges,
            edge_features,
            *pairs[:3],
            weights["edge_kernel"],
            pairs[3],
            weights.get("gate"),
            num_heads=2,
            concat=concat,
        )

    assert_as_oracle(layer, degree, oracle)


def test_options_leave_weights_out():
    _, batch = mixed_batch()
    bare = GMMConv(4, 3, root_weight=False, use_bias=False)
    build(bare, batch)
    assert [weight.name for weight in bare.weights] == [
        "kernel",
        "means",
        "deviations",
    ]
    bare = TransformerConv(4, root_weight=False, use_bias=False)
    bare.build([batch["features"].shape, batch["edges"].shape])
    assert [weight.name for weight in bare.weights] == [
        "query_kernel",
        "key_kernel",
        "value_kernel",
    ]


def test_graph_norm_values():
    graphs, batch = mixed_batch()
    batch["features"][1, 3:] = np.nan
    layer = GraphNorm()
    layer.build(batch["features"].shape)
    randomise(layer)
    outputs = call(layer, batch["features"], batch["node_mask"])
    for output, (features, _) in zip(outputs, graphs, strict=True):
        expected = oracles.graph_norm(features, *layer.get_weights())
        np.testing.assert_allclose(
            output[: len(features)], expected, rtol=1e-4, atol=1e-5
        )
    assert np.isfinite(outputs).all()


@pytest.mark.parametrize(
    "layer, reduce",
    [(GlobalMaxPooling(), np.max), (GlobalMeanPooling(), np.mean)],
)
def test_pooling_values(layer, reduce):
    graphs, batch = mixed_batch()
    batch["features"][~batch["node_mask"]] = np.nan
    outputs = call(layer, batch["features"] - 9, batch["node_mask"])
    expected = [reduce(features - 9, axis=0) for features, _ in graphs]
    np.testing.assert_allclose(outputs, expected, rtol=1e-5)


def test_relative_coordinates_values():
    graphs, batch = mixed_batch()
    layer = RelativeCoordinates(scale=0.5)
    outputs = call(layer, [batch["features"], batch["edges"]])
    for output, (features, edges) in zip(outputs, graphs, strict=True):
        expected = 2 * relative_coordinates(features, edges)
        np.testing.assert_allclose(output[: len(edges)], expected, rtol=1e-5)
        assert (output[len(edges) :] == 0).all()


@pytest.mark.parametrize("make", [GMMConv, TransformerConv])
def test_nodes_and_edges_have_no_order(make):
    features, edges = random_graph(6, 15)
    generator = np.random.default_rng(1)
    nodes, rows = generator.permutation(6), generator.permutation(15)
    place = np.argsort(nodes)
    values = edge_values(edges)
    layer = make(4)
    graph = [features, edges, values]
    moved = [features[nodes], place[edges[rows]], values[rows]]
    layer.build([(1, *array.shape) for array in graph])
    before, after = (
        call(layer, [array[None] for array in inputs])[0]
        for inputs in (graph, moved)
    )
    np.testing.assert_allclose(after, before[nodes], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "layer",
    [
        RelativeCoordinates(scale=2.0),
        GMMConv(4, 3, "sum", root_weight=False, use_bias=False, degree=2),
        TransformerConv(
            4, 2, concat=False, beta=True, use_bias=False, degree=6
        ),
        GraphNorm(epsilon=1e-3),
        GlobalMaxPooling(),
        GlobalMeanPooling(),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_config(layer):
    assert_config_round_trip(layer)
    assert type(layer).__name__ in graph_layers.__all__


@pytest.mark.parametrize(
    "make",
    [
        lambda: GMMConv(0),
        lambda: GMMConv(4, kernel_size=2.5),
        lambda: GMMConv(4, aggregation="max"),
        lambda: GMMConv(4, degree=0),
        lambda: TransformerConv(4, num_heads=True),
        lambda: TransformerConv(4, beta=True, root_weight=False),
        lambda: GraphNorm(epsilon=0),
        lambda: RelativeCoordinates(scale=float("nan")),
        *[
            functools.partial(make, value)
            for make in (GraphNorm, RelativeCoordinates)
            for value in ("a", None, True)
        ],
    ],
)
def test_bad_arguments(make):
    with pytest.raises(ValueError, match="Received: "):
        make()


def test_numbers_of_numpy():
    four, half = np.int64(4), np.float32(0.5)
    for layer in (
        GMMConv(four, kernel_size=np.int32(3), degree=np.uint8(2)),
        TransformerConv(four, num_heads=np.int16(2)),
        GraphNorm(epsilon=half),
        RelativeCoordinates(scale=half),
    ):
        assert_config_round_trip(layer)


def test_bad_inputs():
    features, edges = np.ones((1, 4, 3)), np.zeros((1, 6, 2), "int32")
    values = np.ones((1, 6, 2))
    for inputs in (
        [features, edges],
        features,
        [features, edges, *2 * [values]],
    ):
        with pytest.raises(ValueError, match="Received: "):
            GMMConv(4)(inputs)
    with pytest.raises(ValueError, match="pairs of source and target"):
        GMMConv(4)([features, edges.astype("float32"), values])
    for degree in (2, 4):
        with pytest.raises(ValueError, match="in_blocks"):
            GMMConv(4, degree=degree)([features, edges, values])
