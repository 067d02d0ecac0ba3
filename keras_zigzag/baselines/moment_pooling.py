"""Moments behind pooling layers."""

import itertools
import math
from typing import Any

from keras import ops

from keras_zigzag.baselines.moments import Moments, maximum

Tensor = Any
# Smaller than any number in a network, and its square is finite in float32.
LOWEST = -1e18


def average_pooling(layer: Any, x: Moments) -> Moments:
    """The variance of the mean of independent numbers is a fraction.

    With padding, Keras repeats the edge on PyTorch; what is repeated is taken
    for independent there.
    """
    counts: Any = math.prod(layer.pool_size)
    if layer.padding == "same":
        counts = _counts(layer, x.mean)
    return Moments(layer.call(x.mean), layer.call(x.spread) / counts)


def _counts(layer: Any, like: Tensor) -> Tensor:
    """How many numbers each window holds, which at the edges are fewer."""
    ones = ops.ones_like(like[:1])
    first = layer.data_format == "channels_first"
    ones = ones[:, :1] if first else ones[..., :1]
    return ops.conv(
        ones,
        ops.ones((*layer.pool_size, 1, 1)),
        strides=layer.strides,
        padding="same",
        data_format=layer.data_format,
    )


def global_average_pooling(layer: Any, x: Moments) -> Moments:
    axes = _spatial_axes(layer, x)
    if x.weight is None:
        weight: Any = ops.ones_like(x.mean)
    else:
        axis = 1 if layer.data_format == "channels_first" else -1
        weight = ops.expand_dims(ops.cast(x.weight, "float32"), axis)
    weight = weight / ops.sum(weight, axis=axes, keepdims=True)

    def total(of: Tensor) -> Tensor:
        return ops.sum(of, axis=axes, keepdims=layer.keepdims)

    return Moments(total(weight * x.mean), total(ops.square(weight) * x.spread))


def max_pooling(layer: Any, x: Moments) -> Moments:
    """Clark's maximum of pairs, of the pairs' maxima, and so on."""
    mean = _windows(layer, x.mean, LOWEST)
    variance = _windows(layer, x.spread, 0.0)
    return _largest(
        [Moments(*entry) for entry in zip(mean, variance, strict=True)]
    )


def global_max_pooling(layer: Any, x: Moments) -> Moments:
    """Clark's maximum of halves, of their halves, and so on."""
    axes = _spatial_axes(layer, x)
    shape = x.mean.shape
    size = math.prod(shape[axis] for axis in axes)
    channels = shape[1] if axes[0] == 2 else shape[-1]

    def flat(tensor: Tensor) -> Tensor:
        if axes[0] == 1:
            return ops.reshape(tensor, (-1, size, channels))
        tensor = ops.reshape(tensor, (-1, channels, size))
        return ops.transpose(tensor, (0, 2, 1))

    x = Moments(flat(x.mean), flat(x.spread))
    while size > 1:
        half = size // 2
        halves = maximum(_part(x, 0, half), _part(x, half, 2 * half))
        if size % 2:
            halves = _joined(halves, _part(x, 2 * half, size))
        x, size = halves, half + size % 2
    mean, variance = x.mean[:, 0], x.spread[:, 0]
    if layer.keepdims:
        mean = ops.expand_dims(mean, axes)
        variance = ops.expand_dims(variance, axes)
    return Moments(mean, variance)


def _part(x: Moments, start: int, end: int) -> Moments:
    return Moments(x.mean[:, start:end], x.spread[:, start:end])


def _joined(one: Moments, other: Moments) -> Moments:
    return Moments(
        ops.concatenate([one.mean, other.mean], axis=1),
        ops.concatenate([one.spread, other.spread], axis=1),
    )


def _largest(entries: list[Moments]) -> Moments:
    while len(entries) > 1:
        pairs = [
            maximum(*entries[index : index + 2])
            for index in range(0, len(entries) - 1, 2)
        ]
        entries = pairs + entries[2 * len(pairs) :]
    return entries[0]


def _windows(layer: Any, tensor: Tensor, blank: float) -> list[Tensor]:
    """The first entries of all windows, the second ones, and so on."""
    axes = _spatial_axes(layer, Moments(tensor))
    if layer.padding == "same":
        tensor = _padded(layer, tensor, axes, blank)
    sizes = ops.shape(tensor)
    places = []
    for axis, size, stride in zip(
        axes, layer.pool_size, layer.strides, strict=True
    ):
        count = (sizes[axis] - size) // stride + 1
        places.append(
            [
                slice(start, start + stride * (count - 1) + 1, stride)
                for start in range(size)
            ]
        )
    entries = []
    for place in itertools.product(*places):
        index = [slice(None)] * len(tensor.shape)
        for axis, part in zip(axes, place, strict=True):
            index[axis] = part
        entries.append(tensor[tuple(index)])
    return entries


def _padded(
    layer: Any, tensor: Tensor, axes: list[int], blank: float
) -> Tensor:
    widths = [(0, 0)] * len(tensor.shape)
    for axis, size, stride in zip(
        axes, layer.pool_size, layer.strides, strict=True
    ):
        length = tensor.shape[axis]
        needed = (math.ceil(length / stride) - 1) * stride + size - length
        left = max(needed, 0) // 2
        widths[axis] = (left, max(needed, 0) - left)
    return ops.pad(tensor, widths, constant_values=blank)


def _spatial_axes(layer: Any, x: Moments) -> list[int]:
    rank = len(x.mean.shape) - 2
    first = 2 if layer.data_format == "channels_first" else 1
    return list(range(first, first + rank))
