"""Dense and convolution layers as linear maps, with their adjoints.

A map is what a layer does to one sample, without bias and activation. It is
given to power iteration, which needs nothing but the map and its adjoint.
"""

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_zigzag.of_keras import is_of_keras

Tensor = Any
# Where a size is open, the operator is that of a sample of this size; its norm
# hardly grows beyond.
OPEN_SIZE = 32

layers = keras.layers
DEPTHWISE = (layers.DepthwiseConv1D, layers.DepthwiseConv2D)
SEPARABLE = (layers.SeparableConv1D, layers.SeparableConv2D)
TRANSPOSED = (
    layers.Conv1DTranspose,
    layers.Conv2DTranspose,
    layers.Conv3DTranspose,
)
CONVOLUTIONS = (
    layers.Conv1D,
    layers.Conv2D,
    layers.Conv3D,
    *DEPTHWISE,
    *SEPARABLE,
    *TRANSPOSED,
)


class DenseOperator:
    """What a `Dense` layer does to a vector.

    Args:
        layer: `Dense` layer, built.
    """

    def __init__(self, layer: Any):
        self.layer = layer
        self.output_shape = (1, layer.units)

    def kernel(self) -> Tensor:
        return ops.cast(self.layer.kernel, "float32")

    def apply(self, kernel: Tensor, inputs: Tensor) -> Tensor:
        return ops.matmul(inputs, kernel)

    def adjoint(self, kernel: Tensor, outputs: Tensor) -> Tensor:
        return ops.matmul(outputs, ops.transpose(kernel))


class Axis(NamedTuple):
    """A convolution along one spatial axis.

    Attributes:
        size: Integer. Number of places that the convolution reads.
        steps: Integer. Number of places that it writes.
        stride: Integer.
        window: Integer. Size of the kernel with its gaps.
        before: Integer. Zeros in front.
        after: Integer. Zeros behind.
    """

    size: int
    steps: int
    stride: int
    window: int
    before: int
    after: int

    @property
    def unread(self) -> int:
        """Places at the end that no step of the kernel reaches."""
        padded = self.before + self.size + self.after
        return padded - (self.steps - 1) * self.stride - self.window


class ConvOperator:
    """What a convolution does to one sample, of the size it is built for.

    The operator of a transposed convolution is its adjoint, which is a
    convolution and has the same norm. The data format changes no norm, so
    channels are last.

    Reference: [Gouk et al., 2018](https://arxiv.org/abs/1804.04368),
    section 3.

    Args:
        layer: Convolution layer, built.
        input_shape: Tuple. Shape of the layer's input.
    """

    def __init__(self, layer: Any, input_shape: Any):
        self.layer = layer
        self.is_depthwise = isinstance(layer, DEPTHWISE)
        self.axes = _axes(layer, input_shape)
        self.dilation = tuple(layer.dilation_rate)
        self.output_shape = (
            1,
            *(axis.steps for axis in self.axes),
            self._num_outputs(input_shape),
        )

    def kernel(self) -> Tensor:
        """`(*kernel_size, num_inputs, num_outputs)`, as of a `Conv`."""
        if not isinstance(self.layer, SEPARABLE):
            return ops.cast(self.layer.kernel, "float32")
        depthwise = ops.cast(self.layer.depthwise_kernel, "float32")
        pointwise = ops.cast(self.layer.pointwise_kernel, "float32")
        *size, channels, multiplier = depthwise.shape
        pointwise = ops.reshape(pointwise, (channels, multiplier, -1))
        depthwise = ops.reshape(depthwise, (-1, channels, multiplier))
        kernel = ops.einsum("scm,cmf->scf", depthwise, pointwise)
        return ops.reshape(kernel, (*size, channels, -1))

    def apply(self, kernel: Tensor, inputs: Tensor) -> Tensor:
        widths = [(axis.before, axis.after) for axis in self.axes]
        strides = tuple(axis.stride for axis in self.axes)
        return self._convolved(_padded(inputs, widths), kernel, strides)

    def adjoint(self, kernel: Tensor, outputs: Tensor) -> Tensor:
        # A convolution of the outputs, with zeros between them where the
        # strides were, with the kernel turned around.
        spread = _with_gaps(outputs, [axis.stride for axis in self.axes])
        widths = [
            (axis.window - 1, axis.window - 1 + axis.unread)
            for axis in self.axes
        ]
        spread = _padded(spread, widths)
        turned = self._turned(kernel)
        inputs = self._convolved(spread, turned, (1,) * len(self.axes))
        if self.is_depthwise:
            *size, channels, multiplier = kernel.shape
            shape = (*inputs.shape[:-1], channels, multiplier)
            inputs = ops.sum(ops.reshape(inputs, shape), axis=-1)
        kept = (
            slice(axis.before, axis.before + axis.size) for axis in self.axes
        )
        return inputs[(slice(None), *kept)]

    def _convolved(
        self, inputs: Tensor, kernel: Tensor, strides: tuple[int, ...]
    ) -> Tensor:
        convolve = ops.depthwise_conv if self.is_depthwise else ops.conv
        return convolve(
            inputs,
            kernel,
            strides=strides,
            padding="valid",
            data_format="channels_last",
            dilation_rate=self.dilation,
        )

    def _turned(self, kernel: Tensor) -> Tensor:
        """The kernel of the adjoint."""
        rank = len(self.axes)
        *size, reads, writes = kernel.shape
        # One by one: Keras 3.9 takes no list of axes on TensorFlow.
        for axis in range(rank):
            kernel = ops.flip(kernel, axis=axis)
        if self.is_depthwise:
            return ops.reshape(kernel, (*size, reads * writes, 1))
        groups = getattr(self.layer, "groups", 1)
        if isinstance(self.layer, SEPARABLE):
            groups = 1
        kernel = ops.reshape(kernel, (*size, reads, groups, writes // groups))
        order = (*range(rank), rank + 2, rank + 1, rank)
        kernel = ops.transpose(kernel, order)
        return ops.reshape(kernel, (*size, writes // groups, groups * reads))

    def _num_outputs(self, input_shape: Any) -> int:
        layer = self.layer
        is_last = layer.data_format == "channels_last"
        channels = input_shape[-1 if is_last else 1]
        if isinstance(layer, TRANSPOSED):
            return channels
        if self.is_depthwise:
            return channels * layer.depth_multiplier
        return layer.filters


def operator_of(layer: Any, input_shape: Any) -> Any:
    """The `DenseOperator` or `ConvOperator` of a layer that is built."""
    if isinstance(layer, keras.layers.Dense):
        return DenseOperator(layer)
    return ConvOperator(layer, input_shape)


def is_linear(layer: Any, kinds: tuple) -> bool:
    """Whether a layer of these kinds does what Keras wrote it to do."""
    return isinstance(layer, kinds) and is_of_keras(type(layer).call)


def _axes(layer: Any, input_shape: Any) -> list[Axis]:
    windows = [
        (size - 1) * dilation + 1
        for size, dilation in zip(
            layer.kernel_size, layer.dilation_rate, strict=True
        )
    ]
    is_last = layer.data_format == "channels_last"
    spatial = input_shape[1:-1] if is_last else input_shape[2:]
    sizes = [
        max(OPEN_SIZE, window) if size is None else size
        for size, window in zip(spatial, windows, strict=True)
    ]
    if isinstance(layer, TRANSPOSED):
        return _transposed_axes(layer, input_shape, sizes, windows)
    axes = []
    for size, stride, window in zip(sizes, layer.strides, windows, strict=True):
        before = after = 0
        if layer.padding == "causal":
            before = window - 1
        elif layer.padding == "same":
            before, after = _same(size, -(-size // stride), stride, window)
        steps = (size + before + after - window) // stride + 1
        axes.append(Axis(size, steps, stride, window, before, after))
    return axes


def _transposed_axes(
    layer: Any, input_shape: Any, sizes: list[int], windows: list[int]
) -> list[Axis]:
    is_last = layer.data_format == "channels_last"
    if is_last:
        shape = layer.compute_output_shape((1, *sizes, input_shape[-1]))[1:-1]
    else:
        shape = layer.compute_output_shape((1, input_shape[1], *sizes))[2:]
    return [
        Axis(size, steps, stride, window, *_same(size, steps, stride, window))
        for size, steps, stride, window in zip(
            shape, sizes, layer.strides, windows, strict=True
        )
    ]


def _same(size: int, steps: int, stride: int, window: int) -> tuple[int, int]:
    """Zeros in front and behind, so that there are as many steps."""
    total = max((steps - 1) * stride + window - size, 0)
    return total // 2, total - total // 2


def _padded(tensor: Tensor, widths: list[tuple[int, int]]) -> Tensor:
    if not np.any(widths):
        return tensor
    return ops.pad(tensor, [(0, 0), *widths, (0, 0)])


def _with_gaps(tensor: Tensor, strides: list[int]) -> Tensor:
    """The tensor with `stride - 1` zeros between the places of each axis."""
    for axis, stride in enumerate(strides, start=1):
        if stride == 1:
            continue
        shape = list(tensor.shape)
        widths = [(0, 0)] * (len(shape) + 1)
        widths[axis + 1] = (0, stride - 1)
        tensor = ops.pad(ops.expand_dims(tensor, axis + 1), widths)
        size = shape[axis] * stride
        tensor = ops.reshape(tensor, (*shape[:axis], size, *shape[axis + 1 :]))
        # None behind the last.
        last = (slice(None),) * axis + (slice(None, size - stride + 1),)
        tensor = tensor[last]
    return tensor
