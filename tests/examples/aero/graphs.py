"""Small graphs and layers for tests."""

import keras
import numpy as np
from graph_batches import pad_graphs
from keras import ops

from keras_zigzag import MaskPlaces

NUM_FEATURES = 3
NUM_DIMS = 2


def random_graph(num_nodes, num_edges, seed=0):
    """Features and edges of one graph, some of them between the same nodes."""
    generator = np.random.default_rng(seed)
    features = generator.standard_normal((num_nodes, NUM_FEATURES))
    edges = generator.integers(0, num_nodes, (num_edges, 2))
    return features.astype("float32"), edges


def mixed_batch(degree=None, **sizes):
    """Three graphs of different sizes; the last has no edges."""
    graphs = [random_graph(5, 12), random_graph(3, 4, 1), random_graph(2, 0)]
    features, edges = zip(*graphs, strict=True)
    return graphs, pad_graphs(features, edges, degree=degree, **sizes)


def edge_values(edges, num_values=NUM_DIMS):
    """Numbers that depend on the ends of an edge alone, NaN at padding."""
    edges = np.asarray(edges, "float32")
    source, target = edges[..., 0], edges[..., 1]
    columns = [
        np.sin(1.7 * source + (0.6 + column) * target)
        for column in range(num_values)
    ]
    values = np.stack(columns, axis=-1).astype("float32")
    return np.where(edges[..., :1] < 0, np.float32("nan"), values)


def build(layer, batch):
    """Builds a convolution for a batch of padded graphs."""
    shape = batch["edges"].shape
    layer.build([batch["features"].shape, shape, (*shape[:2], NUM_DIMS)])


def randomise(layer, batch=None):
    """Gives a layer weights of which none is zero or one."""
    if batch is not None:
        build(layer, batch)
    generator = np.random.default_rng(0)
    layer.set_weights(
        [generator.normal(0.4, 0.5, weight.shape) for weight in layer.weights]
    )


def as_array(tensor):
    return ops.convert_to_numpy(tensor)


def call(layer, inputs, mask=None):
    """What a built layer says of arrays."""

    def function(inputs, mask):
        return layer(inputs) if mask is None else layer(inputs, mask=mask)

    if keras.backend.backend() == "jax":
        import jax

        # Or JAX compiles every operation by itself.
        function = jax.jit(function)
    return as_array(function(inputs, mask))


def call_conv(layer, batch):
    """What a built convolution says of a batch of padded graphs."""
    inputs = [batch["features"], batch["edges"], edge_values(batch["edges"])]
    return call(layer, inputs, [batch["node_mask"], None, None])


def build_model(convolve, **sizes):
    """A network of one number a graph."""
    from graph_layers import (
        GlobalMaxPooling,
        GlobalMeanPooling,
        GraphNorm,
        RelativeCoordinates,
    )

    num_nodes, num_edges = sizes.get("num_nodes"), sizes.get("num_edges")
    features = keras.Input((num_nodes, NUM_FEATURES), name="features")
    edges = keras.Input((num_edges, 2), dtype="int32", name="edges")
    node_mask = keras.Input((num_nodes,), dtype="bool", name="node_mask")
    x = MaskPlaces()([features, node_mask])
    pseudo = RelativeCoordinates(scale=2.0)([x, edges])
    x = convolve([x, edges, pseudo])
    x = keras.layers.ELU()(GraphNorm()(x))
    pooled = [GlobalMaxPooling()(x), GlobalMeanPooling()(x)]
    x = keras.layers.Concatenate()(pooled)
    outputs = keras.layers.Dense(1, dtype="float32")(x)
    inputs = {"features": features, "edges": edges, "node_mask": node_mask}
    return keras.Model(inputs, outputs)
