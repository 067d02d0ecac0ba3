"""A convolution on graphs with Gaussian weights of the edges."""

import keras
from graph_layer import PACKAGE, GraphLayer
from keras import ops

from keras_zigzag.number_checks import checked_count

MIN_VARIANCE = 1e-6  # of a Gaussian


@keras.saving.register_keras_serializable(package=PACKAGE)
class GMMConv(GraphLayer):
    """A convolution on graphs with Gaussian weights of the edges.

    Each of `kernel_size` Gaussians over the pseudo-coordinates of an edge
    weighs what its source has; the weighted features are reduced at the
    target, and each Gaussian has a kernel of its own. The weights of a
    target are not normalised to one.

    Reference: [Monti et al., 2017](https://arxiv.org/abs/1611.08402),
    equations 9 to 11, with diagonal covariances.

    Args:
        filters: Integer. Number of features of the output.
        kernel_size: Integer. Number of Gaussians. Defaults to `5`.
        aggregation: String, `"mean"` or `"sum"` over the edges of a target.
            Defaults to `"mean"`.
        root_weight: Boolean. Whether a node also reads itself, by a kernel
            of its own. Defaults to `True`.
        use_bias: Boolean. Whether there is a bias. Defaults to `True`.
        degree: Integer. Rows of a block of edges, where `meshes.in_blocks`
            laid them so, which is faster. Defaults to `None`: any order.
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of the features, `(batch_size, num_nodes, num_features)`, the
    edges, `(batch_size, num_edges, 2)`, and their pseudo-coordinates,
    `(batch_size, num_edges, num_dims)`.

    Output: `(batch_size, num_nodes, filters)`.

    Raises:
        ValueError: If a count is not positive, an aggregation is unknown, or
            the inputs are no such list.

    Example:

    >>> features = keras.Input((160, 2))
    >>> edges = keras.Input((320, 2), dtype="int32")
    >>> pseudo = RelativeCoordinates(scale=0.01)([features, edges])
    >>> GMMConv(16, degree=2)([features, edges, pseudo]).shape
    (None, 160, 16)
    """

    values = ("pseudo-coordinates", "num_dims")

    def __init__(
        self,
        filters,
        kernel_size=5,
        aggregation="mean",
        root_weight=True,
        use_bias=True,
        degree=None,
        **kwargs,
    ):
        super().__init__(filters, degree, **kwargs)
        if aggregation not in ("mean", "sum"):
            raise ValueError(
                "`aggregation` must be 'mean' or 'sum'. "
                f"Received: aggregation={aggregation!r}"
            )
        self.kernel_size = checked_count("kernel_size", kernel_size)
        self.aggregation = aggregation
        self.root_weight = root_weight
        self.use_bias = use_bias

    def build(self, input_shape):
        self.check_shapes(input_shape)
        num_features, num_dims = input_shape[0][-1], input_shape[2][-1]
        size = self.kernel_size
        self.kernel = self.add_weight(
            name="kernel", shape=(size, num_features, self.filters)
        )
        # Half precision would round the Gaussians before they are trained.
        self.means = self.add_weight(
            name="means",
            shape=(size, num_dims),
            initializer=keras.initializers.RandomUniform(-1, 1),
            dtype="float32",
            autocast=False,
        )
        self.deviations = self.add_weight(
            name="deviations",
            shape=(size, num_dims),
            initializer="ones",
            dtype="float32",
            autocast=False,
        )
        if self.root_weight:
            self.root_kernel = self.add_weight(
                name="root_kernel", shape=(num_features, self.filters)
            )
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias", shape=(self.filters,), initializer="zeros"
            )
        self.built = True

    def call(self, inputs, mask=None):
        features, blocks, (pseudo,) = self.read(inputs, mask)
        # Before the Gaussians, since NaN at padding has a gradient of NaN.
        pseudo = blocks.clear(blocks.of_edges(pseudo), filler=0)
        weights = self.gaussians(pseudo)
        outputs = self.convolve(features, blocks, blocks.clear(weights))
        if self.root_weight:
            outputs = outputs + ops.matmul(features, self.root_kernel)
        if self.use_bias:
            outputs = outputs + self.bias
        return self.as_nodes(outputs, blocks)

    def gaussians(self, pseudo):
        """Weights by blocks, `(blocks, degree, kernel_size)`, in float32."""
        pseudo = ops.expand_dims(ops.cast(pseudo, "float32"), axis=2)
        variances = ops.square(self.deviations) + MIN_VARIANCE
        distances = ops.square(pseudo - self.means) / variances
        return ops.exp(-0.5 * ops.sum(distances, axis=-1))

    def convolve(self, features, blocks, weights):
        """Sums or means over edges, `(nodes, filters)`."""
        weights = ops.cast(weights, features.dtype)
        if blocks.any_order:
            sums = self.kernels_first(features, blocks, weights)
        else:
            sums = self.edges_first(features, blocks, weights)
        if self.aggregation == "mean":
            sums = sums / ops.expand_dims(blocks.counts(), axis=1)
        return ops.cast(sums, features.dtype)

    def kernels_first(self, features, blocks, weights):
        """Where segment sums are the most work: they get `filters` values."""
        kernel = ops.reshape(
            ops.swapaxes(self.kernel, 0, 1), (features.shape[-1], -1)
        )
        values = blocks.from_sources(ops.matmul(features, kernel))
        values = ops.reshape(values, (-1, self.kernel_size, self.filters))
        # A product of matrices, since XLA would compute sums of products
        # again and again within the segment sum.
        weighted = ops.matmul(weights, values)
        return blocks.sum(ops.cast(weighted, "float32"))

    def edges_first(self, features, blocks, weights):
        """Where gathers are the most work: they get the features alone."""
        neighbours = blocks.from_sources(features)
        sums = ops.matmul(ops.swapaxes(weights, 1, 2), neighbours)
        sums = blocks.sum_of_blocks(ops.cast(sums, "float32"))
        width = self.kernel_size * features.shape[-1]
        sums = ops.cast(ops.reshape(sums, (-1, width)), features.dtype)
        kernel = ops.reshape(self.kernel, (width, self.filters))
        return ops.cast(ops.matmul(sums, kernel), "float32")

    def get_config(self):
        return super().get_config() | {
            "kernel_size": self.kernel_size,
            "aggregation": self.aggregation,
            "root_weight": self.root_weight,
            "use_bias": self.use_bias,
        }
