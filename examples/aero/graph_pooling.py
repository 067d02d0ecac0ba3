"""From the nodes of a graph to one vector."""

import keras
from graph_layer import PACKAGE, without_padding
from keras import ops


class GlobalPooling(keras.layers.Layer):
    """What the poolings over all nodes of a graph share.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0], *input_shape[2:])


@keras.saving.register_keras_serializable(package=PACKAGE)
class GlobalMaxPooling(GlobalPooling):
    """The largest value of each feature over the nodes of a graph.

    Padded nodes do not count. A graph without nodes has zeros.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Input: `(batch_size, num_nodes, num_features)`.

    Output: `(batch_size, num_features)`.

    Example:

    >>> GlobalMaxPooling()(keras.ops.array([[[1.0], [3.0], [2.0]]]))
    [[3.]]
    """

    def call(self, inputs, mask=None):
        if mask is None:
            return largest(inputs, inputs)
        mask = ops.expand_dims(ops.cast(mask, "bool"), axis=-1)
        lowest = ops.cast(float("-inf"), inputs.dtype)
        highest = largest(inputs, ops.where(mask, inputs, lowest))
        return ops.where(
            ops.any(mask, axis=1), highest, ops.zeros_like(highest)
        )


@keras.saving.register_keras_serializable(package=PACKAGE)
class GlobalMeanPooling(GlobalPooling):
    """The mean of each feature over the nodes of a graph.

    Padded nodes do not count. A graph without nodes has zeros. Unlike
    `keras.layers.GlobalAveragePooling1D` it adds in float32, and takes no
    notice of NaN at padded nodes.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Input: `(batch_size, num_nodes, num_features)`.

    Output: `(batch_size, num_features)`.

    Example:

    >>> GlobalMeanPooling()(keras.ops.array([[[1.0], [3.0], [2.0]]]))
    [[2.]]
    """

    def call(self, inputs, mask=None):
        values = ops.cast(without_padding(inputs, mask), "float32")
        means = mean_of_nodes(values, mask)
        return ops.cast(ops.squeeze(means, axis=1), inputs.dtype)


def largest(values, ranks):
    """Of each feature the value that ranks highest, NaN before all others.

    The gradient of a maximum compares it with all values once more. XLA may
    compute these anew, a bit differently, and then no value is the maximum:
    gradients are lost on TensorFlow, and NaN on JAX.
    """
    ranks = ops.stop_gradient(ranks)
    place = ops.expand_dims(ops.argmax(ranks, axis=1), axis=1)
    picked = ops.squeeze(ops.take_along_axis(values, place, axis=1), axis=1)
    highest = ops.max(ranks, axis=1)
    return ops.where(ops.isnan(highest), highest, picked)


def mean_of_nodes(values, mask):
    """Means, `(batch_size, 1, ...)`, of values that are zero at padding."""
    if mask is None:
        return ops.mean(values, axis=1, keepdims=True)
    count = ops.sum(ops.cast(mask, values.dtype), axis=1)
    count = ops.reshape(ops.maximum(count, 1), (-1, 1, 1))
    return ops.sum(values, axis=1, keepdims=True) / count
