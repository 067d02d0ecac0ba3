"""Which rule belongs to which layer."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines import moment_layers as layers
from keras_zigzag.baselines import moment_pooling as pooling
from keras_zigzag.baselines.moment_activations import (
    CLOSED,
    activated,
    has_rule,
    rectified,
)
from keras_zigzag.baselines.moments import Moments, quadrature, softmax
from keras_zigzag.of_keras import is_of_keras

Rule = Callable[..., Moments]
RANKS = ("1D", "2D", "3D")


def _activation(layer: Any, x: Moments) -> Moments:
    return activated(layer.activation, x)


def _relu(layer: Any, x: Moments) -> Moments:
    return rectified(x, layer.negative_slope, layer.max_value, layer.threshold)


def _leaky_relu(layer: Any, x: Moments) -> Moments:
    return rectified(x, layer.negative_slope)


def _prelu(layer: Any, x: Moments) -> Moments:
    return rectified(x, ops.cast(layer.alpha, "float32"))


def _elementwise(layer: Any, x: Moments) -> Moments:
    return quadrature(layer.call, x)


def _softmax(layer: Any, x: Moments) -> Moments:
    return softmax(x, layer.axis)


def _closed(name: str) -> Rule:
    """The rule of an operation that is an activation of this name."""
    return lambda layer, x: CLOSED[name](x)


def _identity(layer: Any, x: Moments) -> Moments:
    return x


def _over_ranks(kind: str, rule: Rule) -> dict[str, Rule]:
    return {kind + rank: rule for rank in RANKS}


# Layers and operations that only move numbers, or copy them.
MOVING = (
    "ExpandDims",
    "Flatten",
    "GetItem",
    "Permute",
    "RepeatVector",
    "Reshape",
    "Squeeze",
    "Transpose",
    *(
        kind + rank
        for kind in ("Cropping", "UpSampling", "ZeroPadding")
        for rank in RANKS
    ),
)
# From names of classes of Keras to functions of an instance and `Moments`.
RULES: dict[str, Rule] = {
    "Dense": layers.dense,
    "EinsumDense": layers.einsum_dense,
    **_over_ranks("Conv", layers.convolution),
    "Conv1DTranspose": layers.transposed_convolution,
    "Conv2DTranspose": layers.transposed_convolution,
    "Conv3DTranspose": layers.transposed_convolution,
    "DepthwiseConv1D": layers.depthwise_convolution,
    "DepthwiseConv2D": layers.depthwise_convolution,
    "SeparableConv1D": layers.separable_convolution,
    "SeparableConv2D": layers.separable_convolution,
    **_over_ranks("AveragePooling", pooling.average_pooling),
    **_over_ranks("GlobalAveragePooling", pooling.global_average_pooling),
    **_over_ranks("MaxPooling", pooling.max_pooling),
    **_over_ranks("GlobalMaxPooling", pooling.global_max_pooling),
    "BatchNormalization": layers.batch_normalization,
    "LayerNormalization": layers.layer_normalization,
    "RMSNormalization": layers.rms_normalization,
    "Normalization": layers.normalization,
    "Rescaling": layers.rescaling,
    "Activation": _activation,
    "ReLU": _relu,
    "LeakyReLU": _leaky_relu,
    "LeakyRelu": _leaky_relu,
    "PReLU": _prelu,
    "Softmax": _softmax,
    **{
        kind: _elementwise
        for kind in ("Celu", "ELU", "Elu", "Gelu", "HardSilu", "LogSigmoid")
    },
    **{
        kind: _elementwise
        for kind in ("Selu", "Sigmoid", "Silu", "Softplus", "Softsign", "Tanh")
    },
    "Relu": _closed("relu"),
    "Relu6": _closed("relu6"),
    "HardSigmoid": _closed("hard_sigmoid"),
    "Exp": _closed("exponential"),
    "Add": layers.add,
    "Subtract": layers.subtract,
    "Average": layers.average,
    "Multiply": layers.multiply,
    "Maximum": layers.larger,
    "Minimum": layers.smaller,
    "Concatenate": layers.concatenate,
    # What these do in training is not asked for.
    **{
        kind: _identity
        for kind in (
            "ActivityRegularization",
            "AlphaDropout",
            "Cast",
            "Dropout",
            "GaussianDropout",
            "GaussianNoise",
            "Identity",
        )
    },
    **_over_ranks("SpatialDropout", _identity),
}


def rule_for(layer: Any) -> Rule:
    """The rule of a layer or an operation.

    Raises:
        ValueError: If there is none.
    """
    reason = _unsupported(layer)
    if reason is not None:
        raise ValueError(
            "No rule says how a variance goes through this layer. Received: "
            f"the layer {layer.name!r} of class `{type(layer).__name__}`"
            f"{reason}, behind the first noise. Put the noise behind it: "
            "`layers=` with a smaller number, `noise=` with the names of the "
            "model's own layers of noise behind it only, or `noise=[]` for "
            "none of these. Or use `MCDropout`, which takes any layer."
        )
    return RULES[type(layer).__name__] if not is_moving(layer) else _identity


def is_moving(layer: Any) -> bool:
    """Whether a layer does to a variance what it does to a mean."""
    return type(layer).__name__ in MOVING


def _unsupported(layer: Any) -> str | None:
    kind = type(layer).__name__
    if not is_of_keras(layer):
        return ""
    if kind in MOVING:
        bilinear = getattr(layer, "interpolation", "nearest") != "nearest"
        return " with an interpolation" if bilinear else None
    # The operation `Average` is a weighted one over an axis.
    is_layer = isinstance(layer, keras.layers.Layer)
    if kind not in RULES or (kind == "Average" and not is_layer):
        return ""
    if getattr(layer, "quantization_mode", None):
        return ", quantized"
    if kind == "LayerNormalization" and layer.rms_scaling:
        return " with `rms_scaling`"
    if not has_rule(getattr(layer, "activation", None)):
        return f" with the activation {layer.activation!r}"
    return _open_size(layer, kind)


def _open_size(layer: Any, kind: str) -> str | None:
    needs = kind.startswith("GlobalMaxPooling") or (
        kind.startswith("MaxPooling") and layer.padding == "same"
    )
    if needs and None in layer.input.shape[1:]:
        return " on inputs of an open size"
    return None
