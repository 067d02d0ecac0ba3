"""What the layers of graph networks share."""

import keras
from edge_blocks import EdgeBlocks, check_blocks, check_edges
from keras import ops

PACKAGE = "keras_zigzag_examples"


class GraphLayer(keras.layers.Layer):
    """What the layers that pass messages share.

    Args:
        filters: Integer. Number of features of the output.
        degree: Integer or `None`. Rows of a block of edges.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, filters, degree=None, **kwargs):
        super().__init__(**kwargs)
        check_count("filters", filters)
        if degree is not None:
            check_count("degree", degree)
        self.filters = filters
        self.degree = degree
        self.supports_masking = True

    def compute_mask(self, inputs, mask=None):
        return first_of(mask)

    def check_shapes(self, shapes, needed, optional=None):
        """Raises a `ValueError` for what is no list of these inputs."""
        counts = [len(needed.split(", "))]
        names = needed
        if optional:
            counts.append(counts[0] + 1)
            names = f"{needed}, and {optional} if there are any"
        is_list = isinstance(shapes[0], (list, tuple))
        if not is_list or len(shapes) not in counts:
            raise ValueError(
                f"`{type(self).__name__}` takes a list of {names}. "
                f"Received: inputs of shape {shapes}."
            )
        check_blocks(shapes[1][1], shapes[0][1], self.degree)

    def read(self, inputs, mask):
        """Features as rows of one graph, blocks of edges, and the rest."""
        features, edges, *rest = inputs
        check_edges(edges)
        features = without_padding(features, first_of(mask))
        blocks = EdgeBlocks(edges, num_nodes_of(features), self.degree)
        return rows_of(features), blocks, rest

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


def check_count(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"`{name}` must be a positive integer. Received: {name}={value!r}"
        )
