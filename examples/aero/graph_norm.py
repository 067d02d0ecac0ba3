"""Normalisation over the nodes of a graph."""

import keras
from graph_layer import PACKAGE, without_padding
from graph_pooling import mean_of_nodes
from graph_shapes import NODES, check_shapes, shapes_of
from keras import ops

from keras_zigzag.number_checks import checked_number


@keras.saving.register_keras_serializable(package=PACKAGE)
class GraphNorm(keras.layers.Layer):
    """Normalises each feature over the nodes of a graph.

    A part of the mean is taken away, which is learnt, since all of it would
    hide what the structure of a regular graph says. Padded nodes do not
    count, and neither do the other graphs of the batch.

    Reference: [Cai et al., 2021](https://arxiv.org/abs/2009.03294),
    equation 6.

    Args:
        epsilon: Float. Added to the variance. Defaults to `1e-5`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Input: `(batch_size, num_nodes, num_features)`.

    Output: of the same shape.

    Raises:
        ValueError: If `epsilon` is no positive number, or the input has
            another rank.

    Example:

    >>> GraphNorm()(keras.ops.array([[[1.0], [3.0]]]))
    [[[-1.], [1.]]]
    """

    def __init__(self, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = checked_number(
            "epsilon",
            epsilon,
            lambda number: number > 0,
            "be a positive number, since the features of a graph may all be "
            "alike",
        )
        self.supports_masking = True

    def build(self, input_shape):
        check_shapes(self, input_shape, NODES)

        def weight(name, initializer):
            # Moments have no room in half precision.
            return self.add_weight(
                name=name,
                shape=(input_shape[-1],),
                initializer=initializer,
                dtype="float32",
                autocast=False,
            )

        self.mean_scale = weight("mean_scale", "ones")
        self.scale = weight("scale", "ones")
        self.offset = weight("offset", "zeros")
        self.built = True

    def call(self, inputs, mask=None):
        check_shapes(self, shapes_of(inputs), NODES)
        values = ops.cast(without_padding(inputs, mask), "float32")
        centred = values - self.mean_scale * mean_of_nodes(values, mask)
        squares = without_padding(ops.square(centred), mask)
        variance = mean_of_nodes(squares, mask)
        normalised = centred * ops.rsqrt(variance + self.epsilon)
        return ops.cast(self.scale * normalised + self.offset, inputs.dtype)

    def compute_output_shape(self, input_shape):
        check_shapes(self, input_shape, NODES)
        return input_shape

    def get_config(self):
        return super().get_config() | {"epsilon": self.epsilon}
