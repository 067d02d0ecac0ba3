"""From the nodes of a graph to one vector."""

import keras
from graph_layer import PACKAGE, without_padding
from graph_shapes import NODES, check_shapes, shapes_of
from keras import ops


class GlobalPooling(keras.layers.Layer):
    """What the poolings over all nodes of a graph share.

    A graph without nodes has NaN, so that whoever asks for its prediction is
    not told something that looks certain. In training it has zeros, since
    with NaN one such graph would spoil the weights.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None, training=False):
        check_shapes(self, shapes_of(inputs), NODES)
        inputs, mask = with_padding(inputs, mask)
        pooled = self.pool(inputs, mask)
        if mask is None:
            return pooled
        has_nodes = ops.any(ops.cast(mask, "bool"), axis=1, keepdims=True)
        return ops.where(has_nodes, pooled, 0.0 if training else float("nan"))

    def pool(self, inputs, mask):
        """What graphs have, `(batch_size, num_features)`, if they have nodes.

        Args:
            inputs: Tensor, `(batch_size, num_nodes, num_features)`.
            mask: Tensor, `(batch_size, num_nodes)`, or `None` where each
                graph has nodes, all of them there.
        """
        raise NotImplementedError

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        check_shapes(self, input_shape, NODES)
        return (input_shape[0], *input_shape[2:])


@keras.saving.register_keras_serializable(package=PACKAGE)
class GlobalMaxPooling(GlobalPooling):
    """The largest value of each feature over the nodes of a graph.

    Padded nodes do not count. A graph without nodes has NaN, and in training
    zeros.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Input: `(batch_size, num_nodes, num_features)`.

    Output: `(batch_size, num_features)`.

    Raises:
        ValueError: If the input has another rank.

    Example:

    >>> GlobalMaxPooling()(keras.ops.array([[[1.0], [3.0], [2.0]]]))
    [[3.]]
    """

    def pool(self, inputs, mask):
        if mask is None:
            return largest(inputs, inputs)
        mask = ops.expand_dims(ops.cast(mask, "bool"), axis=-1)
        lowest = ops.cast(float("-inf"), inputs.dtype)
        return largest(inputs, ops.where(mask, inputs, lowest))


@keras.saving.register_keras_serializable(package=PACKAGE)
class GlobalMeanPooling(GlobalPooling):
    """The mean of each feature over the nodes of a graph.

    Padded nodes do not count. A graph without nodes has NaN, and in training
    zeros. Unlike `keras.layers.GlobalAveragePooling1D` it adds in float32,
    and takes no notice of NaN at padded nodes.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Input: `(batch_size, num_nodes, num_features)`.

    Output: `(batch_size, num_features)`.

    Raises:
        ValueError: If the input has another rank.

    Example:

    >>> GlobalMeanPooling()(keras.ops.array([[[1.0], [3.0], [2.0]]]))
    [[2.]]
    """

    def pool(self, inputs, mask):
        values = ops.cast(without_padding(inputs, mask), "float32")
        means = mean_of_nodes(values, mask)
        return ops.cast(ops.squeeze(means, axis=1), inputs.dtype)


def with_padding(inputs, mask):
    """Inputs and mask with one node more, unless there are nodes for sure.

    It is padding: without nodes there would be nothing to take a maximum of.
    """
    num_nodes = inputs.shape[1]
    if isinstance(num_nodes, int) and num_nodes > 0:
        return inputs, mask
    if mask is None:
        mask = ops.ones(ops.shape(inputs)[:2], "int32")
    mask = ops.pad(ops.cast(mask, "int32"), [[0, 0], [0, 1]])
    return ops.pad(inputs, [[0, 0], [0, 1], [0, 0]]), mask


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
        mask = ops.ones(ops.shape(values)[:2], values.dtype)
    # Of no nodes the mean is zero: NaN would get into gradients.
    count = ops.sum(ops.cast(mask, values.dtype), axis=1)
    count = ops.reshape(ops.maximum(count, 1), (-1, 1, 1))
    return ops.sum(values, axis=1, keepdims=True) / count
