"""Layers of graph networks, for Keras on any backend.

Nodes are `(batch_size, num_nodes, num_features)`, edges are `(batch_size,
num_edges, 2)` pairs of source and target, padded with -1. Graphs of different
sizes share a batch: `keras_zigzag.MaskPlaces` says which nodes there are, and
its mask goes along with the features through every layer, the loss and the
metrics. What stands at padded nodes means nothing, and nothing comes of it.
Layers cannot look at values; `meshes.py` checks them beforehand.

Example:

>>> features = keras.Input((None, 3))
>>> edges = keras.Input((None, 2), dtype="int32")
>>> node_mask = keras.Input((None,), dtype="bool")
>>> x = keras_zigzag.MaskPlaces()([features, node_mask])
>>> pseudo = RelativeCoordinates(scale=0.1)([x, edges])
>>> x = keras.layers.ELU()(GMMConv(16)([x, edges, pseudo]))
>>> x = GraphNorm()(TransformerConv(8, num_heads=2)([x, edges]))
>>> outputs = keras.layers.Dense(1)(GlobalMaxPooling()(x))
>>> model = keras.Model([features, edges, node_mask], outputs)
"""

from gmm_conv import GMMConv
from graph_inputs import RelativeCoordinates
from graph_norm import GraphNorm
from graph_pooling import GlobalMaxPooling, GlobalMeanPooling
from transformer_conv import TransformerConv

__all__ = [
    "GMMConv",
    "GlobalMaxPooling",
    "GlobalMeanPooling",
    "GraphNorm",
    "RelativeCoordinates",
    "TransformerConv",
]
