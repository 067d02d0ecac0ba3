"""Attention along the edges of a graph."""

import keras
from graph_layer import PACKAGE, GraphLayer
from keras import ops

from keras_zigzag.number_checks import checked_count


@keras.saving.register_keras_serializable(package=PACKAGE)
class TransformerConv(GraphLayer):
    """Multi-head attention of a node to the sources of its edges.

    The weights of the edges of a node add up to one. Beside them, the node
    reads itself by a skip connection, which a gate may weigh against them.
    A node without edges has the skip connection alone.

    Reference: [Shi et al., 2020](https://arxiv.org/abs/2009.03509),
    equations 3 to 5, without the normalisation and activation.

    Args:
        filters: Integer. Number of features of each head.
        num_heads: Integer. Number of heads. Defaults to `1`.
        concat: Boolean. Whether the heads stand side by side; otherwise they
            are averaged. Defaults to `True`.
        beta: Boolean. Whether a learnt gate weighs the skip connection, which
            is added otherwise. Defaults to `False`.
        root_weight: Boolean. Whether there is a skip connection. Defaults to
            `True`.
        use_bias: Boolean. Whether there are biases. Defaults to `True`.
        degree: Integer. Rows of a block of edges, where `meshes.in_blocks`
            laid them so, which is faster. Defaults to `None`: any order.
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of the features, `(batch_size, num_nodes, num_features)`, the
    edges, `(batch_size, num_edges, 2)`, and, if there are any, features of
    the edges, `(batch_size, num_edges, num_edge_features)`, which are added
    to keys and values.

    Output: `(batch_size, num_nodes, num_heads * filters)`, or with
    `concat=False` `(batch_size, num_nodes, filters)`.

    Raises:
        ValueError: If a count is not positive, there is a gate without a skip
            connection, or the inputs are no such list.

    Example:

    >>> features = keras.Input((None, 3))
    >>> edges = keras.Input((None, 2), dtype="int32")
    >>> TransformerConv(8, num_heads=4, beta=True)([features, edges]).shape
    (None, None, 32)
    """

    needs_values = False

    def __init__(
        self,
        filters,
        num_heads=1,
        concat=True,
        beta=False,
        root_weight=True,
        use_bias=True,
        degree=None,
        **kwargs,
    ):
        super().__init__(filters, degree, **kwargs)
        if beta and not root_weight:
            raise ValueError(
                "The gate weighs the skip connection, so `beta=True` needs "
                f"`root_weight=True`. Received: root_weight={root_weight!r}"
            )
        self.num_heads = checked_count("num_heads", num_heads)
        self.concat = concat
        self.beta = beta
        self.root_weight = root_weight
        self.use_bias = use_bias

    @property
    def num_outputs(self):
        return self.filters * (self.num_heads if self.concat else 1)

    def build(self, input_shape):
        self.check_shapes(input_shape)
        width = self.num_heads * self.filters
        num_features = input_shape[0][-1]
        self.query = self.add_projection("query", num_features, width)
        self.key = self.add_projection("key", num_features, width)
        self.value = self.add_projection("value", num_features, width)
        if len(input_shape) == 3:
            self.edge_kernel = self.add_weight(
                name="edge_kernel", shape=(input_shape[2][-1], width)
            )
        if self.root_weight:
            self.skip = self.add_projection(
                "skip", num_features, self.num_outputs
            )
        if self.beta:
            self.gate = self.add_weight(
                name="gate", shape=(3 * self.num_outputs, 1)
            )
        self.built = True

    def call(self, inputs, mask=None):
        features, blocks, rest = self.read(inputs, mask)
        query = project(features, self.query)
        key, value = self.of_sources(features, blocks)
        if rest:
            edge_features = blocks.clear(blocks.of_edges(rest[0]), filler=0)
            edge = ops.matmul(edge_features, self.edge_kernel)
            key, value = key + edge, value + edge
        products = ops.cast(blocks.from_targets(query) * key, "float32")
        # Sums over the features of each head. A matrix of zeros and ones is
        # faster than an axis of heads, which would be short.
        head = ops.repeat(ops.eye(self.num_heads), self.filters, axis=1)
        scores = ops.matmul(products, ops.transpose(head))
        weights = blocks.softmax(scores / self.filters**0.5)
        values = ops.matmul(weights, head) * ops.cast(value, "float32")
        outputs = self.joined(ops.cast(blocks.sum(values), features.dtype))
        return self.as_nodes(self.with_skip(outputs, features), blocks)

    def add_projection(self, name, size, width):
        kernel = self.add_weight(name=f"{name}_kernel", shape=(size, width))
        if not self.use_bias:
            return kernel, None
        bias = self.add_weight(
            name=f"{name}_bias", shape=(width,), initializer="zeros"
        )
        return kernel, bias

    def of_sources(self, features, blocks):
        """Keys and values by blocks, `(blocks, degree, heads * filters)`."""
        both = [project(features, self.key), project(features, self.value)]
        # One gather of both.
        both = blocks.from_sources(ops.concatenate(both, axis=-1))
        return ops.split(both, 2, axis=-1)

    def joined(self, values):
        """Rows with the heads side by side, or averaged."""
        if self.concat:
            return values
        shape = (-1, self.num_heads, self.filters)
        return ops.mean(ops.reshape(values, shape), axis=1)

    def with_skip(self, outputs, features):
        if not self.root_weight:
            return outputs
        skip = project(features, self.skip)
        if not self.beta:
            return outputs + skip
        both = ops.concatenate([outputs, skip, outputs - skip], axis=-1)
        share = ops.sigmoid(ops.matmul(both, self.gate))
        return share * skip + (1 - share) * outputs

    def get_config(self):
        return super().get_config() | {
            "num_heads": self.num_heads,
            "concat": self.concat,
            "beta": self.beta,
            "root_weight": self.root_weight,
            "use_bias": self.use_bias,
        }


def project(values, projection):
    kernel, bias = projection
    values = ops.matmul(values, kernel)
    return values if bias is None else values + bias
