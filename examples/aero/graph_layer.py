"""What the layers of graph networks share."""

import keras
from edge_blocks import EdgeBlocks, check_blocks, check_edges
from graph_shapes import EDGES, NODES, check_shapes, shapes_of
from keras import ops

from keras_zigzag.number_checks import checked_count

PACKAGE = "keras_zigzag_examples"


class GraphLayer(keras.layers.Layer):
    """What the layers that pass messages share.

    `values` names what there is for each edge, and the last of its axes; the
    layer may do without if `needs_values` is false.

    Args:
        filters: Integer. Number of features of the output.
        degree: Integer or `None`. Rows of a block of edges.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    values = ("edge features", "num_edge_features")
    needs_values = True

    def __init__(self, filters, degree=None, **kwargs):
        super().__init__(**kwargs)
        self.filters = checked_count("filters", filters)
        self.degree = None
        if degree is not None:
            self.degree = checked_count("degree", degree)
        self.supports_masking = True

    def compute_mask(self, inputs, mask=None):
        return first_of(mask)

    def check_shapes(self, shapes):
        """Raises a `ValueError` for what is no list of the inputs."""
        name, last_axis = self.values
        axes = NODES | EDGES | {name: ("batch_size", "num_edges", last_axis)}
        check_shapes(self, shapes, axes, last_optional=not self.needs_values)
        check_blocks(shapes[1][1], shapes[0][1], self.degree)

    def read(self, inputs, mask):
        """Features as rows of one graph, blocks of edges, and the rest."""
        self.check_shapes(shapes_of(inputs))
        features, edges, *rest = inputs
        check_edges(edges)
        features = without_padding(features, first_of(mask))
        blocks = EdgeBlocks(edges, num_nodes_of(features), self.degree)
        return rows_of(features), blocks, rest

    @property
    def num_outputs(self):
        return self.filters

    def compute_output_shape(self, input_shape):
        self.check_shapes(input_shape)
        return (*input_shape[0][:-1], self.num_outputs)

    def as_nodes(self, rows, blocks):
        return ops.reshape(rows, (-1, blocks.num_nodes, rows.shape[-1]))

    def get_config(self):
        config = {"filters": self.filters, "degree": self.degree}
        return super().get_config() | config


def first_of(mask):
    """The mask of the first input, which is that of the features."""
    return mask[0] if isinstance(mask, (list, tuple)) else mask


def without_padding(features, mask):
    """Features that are zero at padded nodes, even where they are NaN."""
    if mask is None:
        return features
    mask = ops.expand_dims(ops.cast(mask, "bool"), axis=-1)
    return ops.where(mask, features, ops.zeros_like(features))


def num_nodes_of(features):
    return ops.shape(features)[1]


def rows_of(features):
    return ops.reshape(features, (-1, features.shape[-1]))
