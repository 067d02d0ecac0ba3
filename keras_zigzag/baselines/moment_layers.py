"""Moments behind layers, each as a function of the layer and its inputs."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

from keras_zigzag.baselines.moment_activations import activated
from keras_zigzag.baselines.moments import Moments, maximum, product

Tensor = Any


# Layers with kernels: the variance goes through the squared kernel.


def dense(layer: Any, x: Moments) -> Moments:
    return _linear(layer, x, ops.matmul, layer.kernel)


def einsum_dense(layer: Any, x: Moments) -> Moments:
    def operation(inputs: Tensor, kernel: Tensor) -> Tensor:
        return ops.einsum(layer.equation, inputs, kernel)

    return _linear(layer, x, operation, layer.kernel)


def convolution(layer: Any, x: Moments) -> Moments:
    def operation(inputs: Tensor, kernel: Tensor) -> Tensor:
        options = {"padding": layer.padding} | _geometry(layer)
        if layer.padding == "causal":
            left = layer.dilation_rate[0] * (layer.kernel_size[0] - 1)
            widths = [[0, 0], [0, 0], [0, 0]]
            widths[1 if layer.data_format == "channels_last" else 2] = [left, 0]
            inputs, options["padding"] = ops.pad(inputs, widths), "valid"
        return ops.conv(inputs, kernel, **options)

    return _linear(layer, x, operation, layer.kernel)


def depthwise_convolution(layer: Any, x: Moments) -> Moments:
    def operation(inputs: Tensor, kernel: Tensor) -> Tensor:
        options = {"padding": layer.padding} | _geometry(layer)
        return ops.depthwise_conv(inputs, kernel, **options)

    return _linear(layer, x, operation, layer.kernel)


def separable_convolution(layer: Any, x: Moments) -> Moments:
    def operation(inputs: Tensor, depthwise: Any, pointwise: Any) -> Tensor:
        options = {"padding": layer.padding} | _geometry(layer)
        return ops.separable_conv(inputs, depthwise, pointwise, **options)

    return _linear(
        layer, x, operation, layer.depthwise_kernel, layer.pointwise_kernel
    )


def transposed_convolution(layer: Any, x: Moments) -> Moments:
    def operation(inputs: Tensor, kernel: Tensor) -> Tensor:
        return ops.conv_transpose(
            inputs,
            kernel,
            padding=layer.padding,
            output_padding=layer.output_padding,
            **_geometry(layer),
        )

    return _linear(layer, x, operation, layer.kernel)


def _geometry(layer: Any) -> dict[str, Any]:
    return {
        "strides": layer.strides,
        "dilation_rate": layer.dilation_rate,
        "data_format": layer.data_format,
    }


def _linear(
    layer: Any, x: Moments, operation: Callable, *kernels: Any
) -> Moments:
    # Half precision has no room for a variance.
    exact = [ops.cast(kernel, "float32") for kernel in kernels]
    mean = operation(x.mean, *exact)
    variance = operation(x.spread, *map(ops.square, exact))
    if layer.bias is not None:
        bias = ops.cast(layer.bias, "float32")
        if getattr(layer, "data_format", "") == "channels_first":
            bias = ops.reshape(bias, (1, -1) + (1,) * layer.rank)
        mean = mean + bias
    return activated(layer.activation, Moments(mean, variance))


# Layers that move and scale.


def affine(x: Moments, scale: Tensor, offset: Tensor) -> Moments:
    return Moments(x.mean * scale + offset, x.spread * scale * scale)


def batch_normalization(layer: Any, x: Moments) -> Moments:
    variance = ops.cast(layer.moving_variance, "float32")
    scale = ops.rsqrt(variance + layer.epsilon)
    if layer.gamma is not None:
        scale = scale * ops.cast(layer.gamma, "float32")
    offset = -ops.cast(layer.moving_mean, "float32") * scale
    if layer.beta is not None:
        offset = offset + ops.cast(layer.beta, "float32")
    shape = [1] * len(x.mean.shape)
    shape[layer.axis] = -1
    return affine(x, ops.reshape(scale, shape), ops.reshape(offset, shape))


def normalization(layer: Any, x: Moments) -> Moments:
    mean = ops.convert_to_tensor(layer.mean, "float32")
    scale = ops.sqrt(ops.convert_to_tensor(layer.variance, "float32"))
    scale = ops.maximum(scale, 1e-7)
    if layer.invert:
        return affine(x, scale, mean)
    return affine(x, 1.0 / scale, -mean / scale)


def rescaling(layer: Any, x: Moments) -> Moments:
    scale, offset = (
        ops.convert_to_tensor(np.asarray(one, "float32"))
        for one in (layer.scale, layer.offset)
    )
    return affine(x, scale, offset)


def layer_normalization(layer: Any, x: Moments) -> Moments:
    """The scale is taken for fixed at its expected square."""
    axes, shape, size = _reduced(layer, x)
    center = ops.mean(x.mean, axis=axes, keepdims=True)
    average = ops.mean(x.spread, axis=axes, keepdims=True)
    between = ops.mean(ops.square(x.mean - center), axis=axes, keepdims=True)
    scale = ops.rsqrt(between + average * (1.0 - 1.0 / size) + layer.epsilon)
    # Of the difference of a number from the average that it is part of.
    spread = x.spread * (1.0 - 2.0 / size) + average / size
    normalized = Moments((x.mean - center) * scale, spread * ops.square(scale))
    gamma, beta = (
        default if weight is None else _shaped(weight, shape)
        for weight, default in ((layer.gamma, 1.0), (layer.beta, 0.0))
    )
    return affine(normalized, gamma, beta)


def rms_normalization(layer: Any, x: Moments) -> Moments:
    """The scale is taken for fixed at its expected square."""
    axes, shape, _ = _reduced(layer, x)
    square = ops.mean(ops.square(x.mean) + x.spread, axis=axes, keepdims=True)
    scale = ops.rsqrt(square + layer.epsilon) * _shaped(layer.scale, shape)
    return affine(x, scale, 0.0)


def _reduced(layer: Any, x: Moments) -> tuple[list[int], list[int], int]:
    """Axes of a normalisation, the shape of its weights and its size."""
    given = (
        layer.axis if isinstance(layer.axis, (list, tuple)) else [layer.axis]
    )
    rank = len(x.mean.shape)
    axes = sorted(axis % rank for axis in given)
    shape = [x.mean.shape[i] if i in axes else 1 for i in range(rank)]
    return axes, shape, math.prod(shape)


def _shaped(weight: Any, shape: list[int]) -> Tensor:
    return ops.reshape(ops.cast(weight, "float32"), shape)


# Layers that merge, of inputs that are taken for independent.


def add(layer: Any, *inputs: Moments) -> Moments:
    return Moments(sum(x.mean for x in inputs), sum(x.spread for x in inputs))


def subtract(layer: Any, one: Moments, other: Moments) -> Moments:
    return Moments(one.mean - other.mean, one.spread + other.spread)


def average(layer: Any, *inputs: Moments) -> Moments:
    return affine(add(layer, *inputs), 1.0 / len(inputs), 0.0)


def multiply(layer: Any, *inputs: Moments) -> Moments:
    return _folded(product, inputs)


def larger(layer: Any, *inputs: Moments) -> Moments:
    return _folded(maximum, inputs)


def smaller(layer: Any, *inputs: Moments) -> Moments:
    return affine(
        larger(layer, *(affine(x, -1.0, 0.0) for x in inputs)), -1.0, 0.0
    )


def concatenate(layer: Any, *inputs: Moments) -> Moments:
    return Moments(
        ops.concatenate([x.mean for x in inputs], axis=layer.axis),
        ops.concatenate([x.spread for x in inputs], axis=layer.axis),
    )


def _folded(function: Callable, inputs: tuple[Moments, ...]) -> Moments:
    result = inputs[0]
    for x in inputs[1:]:
        result = function(result, x)
    return result
