"""Small layers on graphs, such as a user writes, and data for them.

A batch holds features `(batch, nodes, channels)`, edges `(batch, edges, 2)`
from a source to a target, which are -1 where there is none, and a mask of
nodes `(batch, nodes)` that is false where there is none.
"""

import keras
import numpy as np
from keras import ops

import keras_zigzag as kz

layers = keras.layers


def gathered(features, nodes):
    """Features at the nodes `(batch, edges)`; those of -1 mean nothing."""
    nodes = ops.expand_dims(ops.maximum(nodes, 0), -1)
    return ops.take_along_axis(features, nodes, axis=1)


def mean_at_targets(messages, edges, like):
    """Mean message at each node, 0 where no edge ends."""
    batch, size = ops.shape(like)[0], ops.shape(like)[1]
    targets = edges[..., 1]
    is_edge = targets >= 0
    first = ops.arange(batch, dtype="int32")[:, None] * size
    # What is no edge is gathered behind the last node.
    targets = ops.where(is_edge, ops.cast(targets, "int32") + first, -1)
    targets = ops.where(is_edge, targets, batch * size)
    counted = ops.concatenate([messages, ops.ones_like(messages[..., :1])], -1)
    total = ops.segment_sum(
        ops.reshape(counted, (-1, counted.shape[-1])),
        ops.reshape(targets, (-1,)),
        num_segments=batch * size + 1,
    )[:-1]
    total = ops.reshape(total, (batch, size, counted.shape[-1]))
    return total[..., :-1] / ops.maximum(total[..., -1:], 1.0)


class GraphLayer(layers.Layer):
    """Takes `[features, edges]` and gives `units` channels; abstract."""

    def __init__(self, units, activation="relu", **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.activation = keras.activations.get(activation)
        self.supports_masking = True

    def compute_output_shape(self, shapes):
        return (*shapes[0][:-1], self.units)

    def get_config(self):
        activation = keras.activations.serialize(self.activation)
        return super().get_config() | {
            "units": self.units,
            "activation": activation,
        }


@keras.saving.register_keras_serializable("tests")
class NeighbourMean(GraphLayer):
    """One kernel for the node, one for the mean of its neighbours.

    Both are one weight, `(2, channels, units)`: the features are not first.
    """

    def build(self, shapes):
        shape = (2, shapes[0][-1], self.units)
        self.kernel = self.add_weight(name="kernel", shape=shape)
        self.bias = self.add_weight(
            name="bias", shape=(self.units,), initializer="zeros"
        )

    def call(self, inputs):
        features, edges = inputs
        messages = gathered(features, edges[..., 0])
        mean = mean_at_targets(messages, edges, features)
        answer = ops.matmul(features, self.kernel[0])
        answer = answer + ops.matmul(mean, self.kernel[1])
        return self.activation(answer + self.bias)


@keras.saving.register_keras_serializable("tests")
class EdgeLayer(GraphLayer):
    """Reads both ends and the length of an edge, `(2 * channels + 1, units)`.

    What the prior is read by lies in two places within the kernel.
    """

    def build(self, shapes):
        shape = (2 * shapes[0][-1] + 1, self.units)
        self.kernel = self.add_weight(name="kernel", shape=shape)

    def call(self, inputs):
        features, edges, lengths = inputs
        ends = [
            gathered(features, edges[..., 1]),
            gathered(features, edges[..., 0]),
            lengths,
        ]
        messages = ops.matmul(ops.concatenate(ends, -1), self.kernel)
        return mean_at_targets(self.activation(messages), edges, features)


@keras.saving.register_keras_serializable("tests")
class GraphScale(layers.Layer):
    """Takes the mean over the real nodes off and scales each channel."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, shapes):
        self.scale = self.add_weight(
            name="scale", shape=(shapes[0][-1],), initializer="ones"
        )

    def call(self, inputs):
        features, is_node = inputs
        is_node = ops.cast(is_node, features.dtype)[..., None]
        count = ops.maximum(ops.sum(is_node, 1, keepdims=True), 1.0)
        mean = ops.sum(features * is_node, 1, keepdims=True) / count
        return (features - mean) * self.scale

    def compute_output_shape(self, shapes):
        return shapes[0]


@keras.saving.register_keras_serializable("tests")
class NodePooling(layers.Layer):
    """Mean over the real nodes."""

    def call(self, inputs):
        features, is_node = inputs
        is_node = ops.cast(is_node, features.dtype)[..., None]
        count = ops.maximum(ops.sum(is_node, 1), 1.0)
        return ops.sum(features * is_node, 1) / count

    def compute_output_shape(self, shapes):
        return (shapes[0][0], shapes[0][2])


def ring(size, num_edges):
    """Edges of a closed line of nodes, both ways, filled up with -1."""
    nodes = np.arange(size)
    edges = np.stack([nodes, np.roll(nodes, 1)], -1)
    edges = np.concatenate([edges, edges[:, ::-1]])
    padded = np.full((num_edges, 2), -1)
    padded[: len(edges)] = edges
    return padded


def graphs(sizes=(6, 4, 5, 3), num_nodes=6, channels=3, seed=0):
    """Rings of these sizes, padded to the same number of nodes."""
    generator = np.random.default_rng(seed)
    shape = (len(sizes), num_nodes, channels)
    is_node = np.arange(num_nodes) < np.array(sizes)[:, None]
    features = generator.standard_normal(shape) * is_node[..., None]
    return {
        "features": features.astype("float32"),
        "edges": np.array([ring(size, 2 * num_nodes) for size in sizes]).astype(
            "int32"
        ),
        "node_mask": is_node,
    }


def node_values(data, num_values=1, seed=1):
    shape = (*data["node_mask"].shape, num_values)
    values = np.random.default_rng(seed).standard_normal(shape)
    return (values * data["node_mask"][..., None]).astype("float32")


def graph_values(data, num_values=1, seed=1):
    shape = (len(data["node_mask"]), num_values)
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def graph_inputs(nodes=None, channels=3):
    edges = None if nodes is None else 2 * nodes
    return {
        "features": keras.Input((nodes, channels), name="features"),
        "edges": keras.Input((edges, 2), dtype="int32", name="edges"),
        "node_mask": keras.Input((nodes,), dtype="bool", name="node_mask"),
    }


def hidden(inputs, width=8):
    """Two graph layers with a scale between them."""
    edges = inputs["edges"]
    x = NeighbourMean(width, name="first")([inputs["features"], edges])
    x = GraphScale(name="scale")([x, inputs["node_mask"]])
    return NeighbourMean(width, name="second")([x, edges])


def graph_network(nodes=None, outputs=1, **kwargs):
    """One answer per graph, from all inputs by name."""
    inputs = graph_inputs(nodes)
    x = NodePooling()([hidden(inputs), inputs["node_mask"]])
    x = layers.Dense(8, activation="relu", name="dense")(x)
    answers = layers.Dense(outputs, name="answers", **kwargs)(x)
    return keras.Model(inputs, answers, name="per_graph")


def node_network(nodes=None, outputs=1, masked=True, **kwargs):
    """One answer per node, which Keras knows for padding if `masked`."""
    inputs = graph_inputs(nodes)
    x = hidden(inputs)
    if masked:
        x = kz.MaskPlaces(name="mask")([x, inputs["node_mask"]])
    x = layers.Dense(8, activation="relu", name="dense")(x)
    answers = layers.Dense(outputs, name="answers", **kwargs)(x)
    return keras.Model(inputs, answers, name="per_node")


def both_network(nodes=None):
    """One answer per node and one per graph."""
    inputs = graph_inputs(nodes)
    x = hidden(inputs)
    pooled = NodePooling()([x, inputs["node_mask"]])
    x = kz.MaskPlaces(name="mask")([x, inputs["node_mask"]])
    answers = {
        "node": layers.Dense(1, name="node")(x),
        "graph": layers.Dense(1, name="graph")(pooled),
    }
    return keras.Model(inputs, answers, name="both")


def with_other_padding(data):
    """The same graphs, with something else where there is no node."""
    noise = np.random.default_rng(9).normal(0, 5, data["features"].shape)
    is_node = data["node_mask"][..., None]
    features = np.where(is_node, data["features"], noise).astype("float32")
    return data | {"features": features}


def rows(data, index):
    """Some of the graphs."""
    return {name: value[index] for name, value in data.items()}


def with_more_padding(data, num_nodes):
    """The same graphs, padded to more nodes and edges."""
    extra = num_nodes - data["node_mask"].shape[1]
    sizes = {"features": (0, extra), "node_mask": (0, extra)}
    sizes["edges"] = (0, 2 * extra)
    return {
        name: np.pad(
            value,
            [(0, 0), sizes[name]] + [(0, 0)] * (value.ndim - 2),
            constant_values=-1 if name == "edges" else 0,
        )
        for name, value in data.items()
    }
