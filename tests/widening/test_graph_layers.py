"""A user's layers on graphs: features first in a list of inputs."""

import functools

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag.prior_layers import AddPrior, ConcatenatePrior
from tests import graphs
from tests.widening.checker import check_widening
from tests.widening.test_branches import entries

# JAX compiles each operation of each network.
pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers
# Without a mask, since the check takes no uncertainty of NaN.
node_network = functools.partial(graphs.node_network, masked=False)
NETWORKS = {
    "graph": (graphs.graph_network, graphs.graph_values),
    "node": (node_network, graphs.node_values),
}


@pytest.mark.slow_but_on("tensorflow", "torch")
@pytest.mark.parametrize("nodes", [6, None])
@pytest.mark.parametrize("kind", NETWORKS)
def test_the_first_graph_layer_takes_the_prior(kind, nodes):
    make, targets = NETWORKS[kind]
    data = graphs.graphs()
    base = make(nodes)
    model = check_widening(base, data, targets(data), "regression")
    (entry,) = entries(model.network)
    assert isinstance(entry, ConcatenatePrior)
    kernel = model.network.get_layer("first").kernel
    assert kernel.shape == (2, 3 + 2, 8)
    assert model.network.get_layer("second").kernel.shape == (2, 8, 8)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(base.get_layer("first").kernel).shape, (2, 3, 8)
    )


# A prior per graph, added to all nodes, would go away with their mean.
@pytest.mark.parametrize(
    "kind, layer",
    [
        ("graph", "second"),
        ("graph", "dense"),
        ("node", "second"),
        ("node", "scale"),
        ("node", "dense"),
    ],
)
def test_a_later_layer_by_name(kind, layer):
    make, targets = NETWORKS[kind]
    data = graphs.graphs()
    check_widening(make(), data, targets(data), "regression", layer=layer)


def test_several_channels_of_a_dense_answer():
    data = graphs.graphs()
    targets = graphs.node_values(data, 2)
    base = node_network(outputs=2)
    model = check_widening(base, data, targets, "regression")
    assert model.network.input[1].shape == (None, None, 3)


def test_a_prior_per_graph_is_the_same_at_all_nodes():
    data = graphs.graphs()
    model = kz.ZigZagModel.from_model(graphs.graph_network(), "regression")
    entry = model.network.get_layer("first_prior")
    prior = np.arange(8.0, dtype="float32").reshape(4, 2)
    joined = entry([data["features"], ops.convert_to_tensor(prior)])
    joined = ops.convert_to_numpy(joined)
    assert joined.shape == (4, 6, 5)
    np.testing.assert_array_equal(joined[..., :3], data["features"])
    for node in range(6):
        np.testing.assert_array_equal(joined[:, node, 3:], prior)


def test_a_prior_per_node_goes_in_as_it_is():
    data = graphs.graphs()
    model = kz.ZigZagModel.from_model(graphs.node_network(), "regression")
    entry = model.network.get_layer("first_prior")
    prior = np.arange(48.0, dtype="float32").reshape(4, 6, 2)
    joined = entry([data["features"], ops.convert_to_tensor(prior)])
    np.testing.assert_array_equal(ops.convert_to_numpy(joined)[..., 3:], prior)


def edge_inputs():
    return (
        keras.Input((None, 3), name="features"),
        keras.Input((None, 2), dtype="int32", name="edges"),
        keras.Input((None, 1), name="lengths"),
    )


def edge_data():
    data = graphs.graphs()
    lengths = np.random.default_rng(3).uniform(size=(4, 12, 1))
    return [data["features"], data["edges"], lengths.astype("float32")]


def test_rows_of_the_prior_within_a_kernel():
    features, edges, lengths = edge_inputs()
    x = graphs.EdgeLayer(4, name="first")([features, edges, lengths])
    x = graphs.EdgeLayer(4, name="second")([x, edges, lengths])
    base = keras.Model([features, edges, lengths], layers.Dense(1)(x))
    data = edge_data()
    old = ops.convert_to_numpy(base.get_layer("first").kernel)
    widened = kz.widen_model(base, "value")
    new = ops.convert_to_numpy(widened.get_layer("first").kernel)
    # Both ends, of which each has two channels of the prior, then the length.
    read = [0, 1, 2, 5, 6, 7, 10]
    np.testing.assert_array_equal(new[read], old)
    np.testing.assert_array_equal(np.delete(new, read, 0), 0.0)
    targets = np.random.default_rng(1).standard_normal((4, 6, 1))
    model = check_widening(base, data, targets, "regression")
    # The lengths come from the input in each layer; the features do not.
    (entry,) = entries(model.network)
    assert isinstance(entry, ConcatenatePrior)


@keras.saving.register_keras_serializable("tests")
class Blocks(graphs.NeighbourMean):
    """Takes edges in blocks of three rows that end at one node."""

    def call(self, inputs):
        features, edges = inputs
        count, num_nodes = edges.shape[1], features.shape[1]
        if None not in (count, num_nodes) and count != 3 * num_nodes:
            raise ValueError(f"Received: {count} edges of {num_nodes} nodes")
        return super().call([features, edges])


def test_edges_in_blocks():
    inputs = graphs.graph_inputs()
    x = Blocks(6, name="first")([inputs["features"], inputs["edges"]])
    base = keras.Model(inputs, layers.Dense(1)(x))
    widened = kz.widen_model(base, "value")
    assert isinstance(entries(widened)[0], ConcatenatePrior)
    assert widened.get_layer("first").kernel.shape == (2, 5, 6)


@keras.saving.register_keras_serializable("tests")
class Differences(graphs.GraphLayer):
    """Reads what the neighbours have more than the mean of the channels."""

    def build(self, shapes):
        shape = (shapes[0][-1], self.units)
        self.kernel = self.add_weight(name="kernel", shape=shape)

    def call(self, inputs):
        features, edges = inputs
        messages = graphs.gathered(features, edges[..., 0])
        messages = messages - ops.mean(messages, -1, keepdims=True)
        mean = graphs.mean_at_targets(messages, edges, features)
        return self.activation(ops.matmul(mean, self.kernel))


@keras.saving.register_keras_serializable("tests")
class Particular(Differences):
    """Takes no edges but those of rings, hence no random numbers."""

    def call(self, inputs):
        _, edges = inputs
        if ops.is_tensor(edges) and keras.backend.backend() != "jax":
            edges = ops.convert_to_numpy(edges)
            if not (edges < 0).any():
                raise ValueError("Received: other edges")
        return super().call(inputs)


@pytest.mark.parametrize("first", [Differences, Particular])
def test_what_cannot_be_widened_gets_the_prior_added(first):
    inputs = graphs.graph_inputs()
    x = first(6)([inputs["features"], inputs["edges"]])
    base = keras.Model(inputs, layers.Dense(1)(x))
    data = graphs.graphs()
    if first is Particular:
        widened = kz.widen_model(base, "value")
        assert isinstance(entries(widened)[0], AddPrior)
        return
    model = check_widening(base, data, graphs.node_values(data), "regression")
    assert isinstance(entries(model.network)[0], AddPrior)


def test_a_normalisation_of_the_user_is_passed_over():
    inputs = graphs.graph_inputs()
    x = graphs.GraphScale(name="scale")(
        [inputs["features"], inputs["node_mask"]]
    )
    x = graphs.NeighbourMean(4, name="first")([x, inputs["edges"]])
    base = keras.Model(inputs, layers.Dense(1)(x))
    data = graphs.graphs()
    model = check_widening(base, data, graphs.node_values(data), "regression")
    assert model.network.get_layer("first").kernel.shape == (2, 5, 4)


def test_features_first_among_several():
    features, edges = keras.Input((None, 3)), keras.Input((None, 2), dtype=int)
    x = graphs.NeighbourMean(4)([features, edges])
    for _ in range(2):
        x = layers.Add()([x, graphs.NeighbourMean(4)([x, edges])])
    base = keras.Model([features, edges], layers.Dense(1)(x))
    assert len(entries(kz.widen_model(base, "value"))) == 1


@keras.saving.register_keras_serializable("tests")
class EdgesFirst(layers.Layer):
    """Reads a matrix of neighbours before the features."""

    def build(self, shapes):
        self.kernel = self.add_weight(shape=(shapes[1][-1], 4), name="kernel")

    def call(self, inputs):
        matrix, features = inputs
        return ops.matmul(matrix, ops.matmul(features, self.kernel))


def test_features_that_are_not_first():
    matrix, features = keras.Input((None, None)), keras.Input((None, 3))
    x = EdgesFirst(name="wrong")([matrix, features])
    base = keras.Model([matrix, features], layers.Dense(1)(x))
    with pytest.raises(ValueError, match="a first input of shape"):
        kz.widen_model(base, "value")
    assert kz.widen_model(base, "value", layer=base.layers[-1].name)


def test_no_layer_that_learns():
    inputs = graphs.graph_inputs()
    x = graphs.NodePooling()([inputs["features"], inputs["node_mask"]])
    base = keras.Model(inputs, layers.Rescaling(2.0)(x))
    with pytest.raises(ValueError, match="none of its layers mixes features"):
        kz.widen_model(base, "value")
