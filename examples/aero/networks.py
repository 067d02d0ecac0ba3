"""Networks for shapes: lift-to-drag, drag, and the pressure at each vertex.

All graphs of a data set have the same edges here, a ring of nodes or the
triangles of one mesh, so they are part of the network, and its input is what
is known of each node. The kinds and numbers of layers are those of the
appendix of Durasov et al. (2024); how wide they are is ours.
"""

from typing import NamedTuple

import keras
import numpy as np
from graph_layer import PACKAGE
from graph_layers import (
    GlobalMaxPooling,
    GMMConv,
    GraphNorm,
    RelativeCoordinates,
    TransformerConv,
)
from keras import layers, ops


class Size(NamedTuple):
    """How large a network is.

    Args:
        layers: Integer. Number of graph layers.
        filters: Integer. Features of a node.
        widths: Sequence of integers. Units of the hidden dense layers.
    """

    layers: int
    filters: int
    widths: tuple[int, ...]

    def __str__(self):
        widths = ", ".join(map(str, self.widths))
        return (
            f"{self.layers} graph layers of {self.filters} features, dense "
            f"layers of {widths} and the outputs"
        )


@keras.saving.register_keras_serializable(package=PACKAGE)
class FixedEdges(layers.Layer):
    """The same edges for each graph of a batch.

    Args:
        edges: Array of shape `(num_edges, 2)`, pairs of source and target.
        **kwargs: Arguments of `keras.layers.Layer`.

    Input: anything with the batch on its first axis.

    Output: `(batch_size, num_edges, 2)` in int32.
    """

    def __init__(self, edges, **kwargs):
        super().__init__(**kwargs)
        self.edges = np.asarray(edges, "int32")
        self.autocast = False

    def call(self, inputs):
        shape = (ops.shape(inputs)[0], *self.edges.shape)
        return ops.broadcast_to(ops.convert_to_tensor(self.edges), shape)

    def compute_output_spec(self, inputs):
        shape = (inputs.shape[0], *self.edges.shape)
        return keras.KerasTensor(shape, "int32")

    def get_config(self):
        return super().get_config() | {"edges": self.edges.tolist()}


class Graph(NamedTuple):
    """What all shapes of a data set share.

    Args:
        num_nodes: Integer.
        num_features: Integer. Numbers of each node, its coordinates first.
        num_dims: Integer. How many of them are coordinates.
        edges: Array of shape `(num_edges, 2)`, in blocks of `degree` rows.
        degree: Integer.
        edge_length: Float. Typical length of an edge, in the coordinates'
            units.
    """

    num_nodes: int
    num_features: int
    num_dims: int
    edges: np.ndarray
    degree: int
    edge_length: float


def value_network(graph, size, kernel_size=5):
    """One value for each shape: Gaussian mixtures, ELU, skips, the maximum."""
    nodes, edges, pseudo = _inputs(graph)

    def convolved(x):
        layer = GMMConv(size.filters, kernel_size, degree=graph.degree)
        return layers.ELU()(layer([x, edges, pseudo]))

    x = GlobalMaxPooling()(_with_skips(convolved, nodes, size.layers))
    return keras.Model(nodes, _dense(x, size.widths))


def node_network(graph, size, num_heads=4):
    """One value for each node: transformers, normalised, with skips."""
    nodes, edges, pseudo = _inputs(graph)

    def attended(x):
        layer = TransformerConv(
            size.filters // num_heads, num_heads, degree=graph.degree
        )
        return layers.ELU()(GraphNorm()(layer([x, edges, pseudo])))

    x = _with_skips(attended, nodes, size.layers)
    return keras.Model(nodes, _dense(x, size.widths))


def _inputs(graph):
    """Nodes, their edges, and the coordinates along these."""
    nodes = keras.Input((graph.num_nodes, graph.num_features))
    edges = FixedEdges(graph.edges)(nodes)
    coordinates = nodes[:, :, : graph.num_dims]
    relative = RelativeCoordinates(graph.edge_length)
    return nodes, edges, relative([coordinates, edges])


def _with_skips(block, x, num_blocks):
    """Blocks one after the other; the sum of many does not grow with them."""
    scale = (num_blocks - 1) ** -0.5 if num_blocks > 1 else 1.0
    x = block(x)
    for _ in range(num_blocks - 1):
        x = layers.Add()([x, layers.Rescaling(scale)(block(x))])
    return x


def _dense(x, widths):
    for width in widths:
        x = layers.ELU()(layers.Dense(width)(x))
    return layers.Dense(1)(x)
