"""Layers with one shared kernel and a rank-1 factor for each member."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.baselines.tiling import Tiling
from keras_zigzag.rewriting import last_mixing_layers
from keras_zigzag.wide_layer import feature_axis

Tensor = Any
KERNELS = (
    keras.layers.Dense,
    keras.layers.Conv1D,
    keras.layers.Conv2D,
    keras.layers.Conv3D,
    keras.layers.Conv1DTranspose,
    keras.layers.Conv2DTranspose,
    keras.layers.Conv3DTranspose,
    keras.layers.DepthwiseConv1D,
    keras.layers.DepthwiseConv2D,
    keras.layers.SeparableConv1D,
    keras.layers.SeparableConv2D,
)
OF_THE_OUTPUTS = (
    "activation",
    "activity_regularizer",
    "bias_regularizer",
    "bias_constraint",
)


@keras.saving.register_keras_serializable(package="keras_zigzag")
class FastWeights(keras.layers.Layer):
    """A layer whose kernel `W` member `i` sees as `W ∘ rᵢ sᵢᵀ`.

    The batch holds the samples of all members, one member after the other.
    They go through the shared kernel together, in one operation:
    `((x ∘ rᵢ) W) ∘ sᵢ + bᵢ` (section 3 of the paper). At inference the kernels
    of convolutions, which are small beside their inputs, are multiplied
    instead.

    A constraint of the bias holds for that of each member, and its regulariser
    counts as the mean over the members. That of the kernel sees `W`.

    Args:
        layer: `Dense`, or a convolution.
        num_members: Integer.
        seed: Integer. Seed of `r` and `s`.
        deviation: Float. Standard deviation of the normal numbers around 1
            with which they start. Defaults to `None`: random signs.
        **kwargs: Arguments of `keras.layers.Layer`.

    Reference: [Wen et al., 2020](https://arxiv.org/abs/2002.06715).
    """

    def __init__(
        self,
        layer: Any,
        num_members: int,
        seed: int,
        deviation: float | None = None,
        **kwargs: Any,
    ):
        kwargs.setdefault("activity_regularizer", layer.activity_regularizer)
        super().__init__(**kwargs)
        self.num_members = num_members
        self.seed = seed
        self.deviation = deviation
        self.supports_masking = layer.supports_masking
        self._layer_config = keras.saving.serialize_keras_object(layer)
        self._config = layer.get_config()
        self.layer = _without_bias(layer)
        self.activation = layer.activation
        self._axis = feature_axis(layer)
        # The padding of a causal convolution is a part of its `call`.
        self._can_multiply_kernel = (
            hasattr(layer, "convolution_op")
            and layer.groups == 1
            and layer.padding != "causal"
        )

    def build(self, input_shape: Any) -> None:
        self.layer.build(input_shape)
        outputs = self.layer.compute_output_shape(input_shape)
        generator = np.random.default_rng(self.seed)
        self.input_weights = self._fast(
            "input_weights", input_shape[self._axis], generator
        )
        self.output_weights = self._fast(
            "output_weights", outputs[self._axis], generator
        )
        self.bias = None
        if self._config["use_bias"]:
            self.bias = self._biases(outputs[self._axis])
        self.built = True

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        inputs = self._by_member(inputs)
        if self._can_multiply_kernel and not training:
            members = range(self.num_members)
            return ops.concatenate(
                [self._answer(inputs[member], member) for member in members]
            )
        inputs = inputs * self._spread(self.input_weights, inputs)
        outputs = self._by_member(self.layer(self._joined(inputs)))
        outputs = outputs * self._spread(self.output_weights, outputs)
        if self.bias is not None:
            outputs = outputs + self._spread(self.bias, outputs)
        return self.activation(self._joined(outputs))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return self.layer.compute_output_shape(input_shape)

    def take_weights(self, layer: Any) -> None:
        """Takes the kernel of a layer, and its bias for each member."""
        self.layer.set_weights(
            [
                ops.convert_to_numpy(weight)
                for weight in layer.weights
                if weight is not layer.bias
            ]
        )
        if self.bias is not None:
            bias = ops.convert_to_numpy(layer.bias)
            self.bias.assign(np.stack([bias] * self.num_members))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update(
            {
                "layer": self._layer_config,
                "num_members": self.num_members,
                "seed": self.seed,
                "deviation": self.deviation,
            }
        )
        return config

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None
    ) -> "FastWeights":
        layer = keras.saving.deserialize_keras_object(
            config["layer"], custom_objects=custom_objects
        )
        return cls(**(config | {"layer": layer}))

    def _fast(
        self, name: str, size: int, generator: np.random.Generator
    ) -> Any:
        shape = (self.num_members, size)
        if self.deviation is None:
            values = generator.choice([-1.0, 1.0], shape)
        else:
            values = generator.normal(1.0, self.deviation, shape)
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=lambda shape, dtype: ops.convert_to_tensor(
                values, dtype
            ),
        )

    def _biases(self, size: int) -> Any:
        regularizer = keras.regularizers.get(self._config["bias_regularizer"])
        constraint = keras.constraints.get(self._config["bias_constraint"])
        return self.add_weight(
            name="bias",
            shape=(self.num_members, size),
            initializer=self._config["bias_initializer"],
            regularizer=regularizer and _mean_over_members(regularizer),
            constraint=constraint and _for_each_member(constraint),
        )

    def _answer(self, inputs: Tensor, member: int) -> Tensor:
        """One convolution with bias, which backends compute in one go."""
        factor = ops.outer(
            self.input_weights[member], self.output_weights[member]
        )
        outputs = self.layer.convolution_op(inputs, self.layer.kernel * factor)
        if self.bias is not None:
            shape = [1] * len(outputs.shape)
            shape[self._axis] = -1
            is_last = self._axis in (-1, len(shape) - 1)
            bias = self.bias[member]
            outputs = outputs + (bias if is_last else ops.reshape(bias, shape))
        return self.activation(outputs)

    def _by_member(self, tensor: Tensor) -> Tensor:
        shape = list(ops.shape(tensor))[1:]
        return ops.reshape(tensor, (self.num_members, -1, *shape))

    def _joined(self, tensor: Tensor) -> Tensor:
        return ops.reshape(tensor, (-1, *list(ops.shape(tensor))[2:]))

    def _spread(self, weights: Any, tensor: Tensor) -> Tensor:
        """One vector for each member, so that it fits to the features."""
        shape = [1] * len(tensor.shape)
        axis = self._axis if self._axis < 0 else self._axis + 1
        shape[0], shape[axis] = weights.shape
        return ops.reshape(weights, shape)


class FastWeighting(Tiling):
    """Gives the layers of a copy of a network fast weights.

    Args:
        base: Functional or Sequential model. It is not changed.
        num_members: Integer.
        layers: Integer. How many of the last layers, or `None` for all.
        seed: Integer.
        deviation: Float or `None`. See `FastWeights`.
    """

    def __init__(
        self,
        base: keras.Model,
        num_members: int,
        layers: int | None,
        seed: int,
        deviation: float | None,
    ):
        super().__init__(num_members, in_training=True)
        self.targets = last_mixing_layers(base, layers, KERNELS)
        self.seeds = np.random.default_rng(seed)
        self.deviation = deviation

    def is_sampled(self, layer: Any) -> bool:
        return any(layer is target for target in self.targets)

    def replacement(self, layer: Any) -> Any:
        if not self.is_sampled(layer):
            return None
        return FastWeights(
            layer,
            self.num_samples,
            int(self.seeds.integers(2**31)),
            self.deviation,
            dtype=layer.dtype_policy,
            name=layer.name,
        )

    def take_weights(self, layer: Any, replacement: Any) -> None:
        replacement.take_weights(layer)


def with_fast_weights(
    base: keras.Model,
    num_members: int,
    layers: int | None,
    seed: int,
    deviation: float | None,
) -> keras.Model:
    """A copy of a model with its weights and fast weights.

    Args as for `FastWeighting`.

    Raises:
        ValueError: If there is no layer that can have them.
    """
    weighting = FastWeighting(base, num_members, layers, seed, deviation)
    if not weighting.targets:
        raise ValueError(
            "There is no kernel that could have fast weights. Received: a "
            f"base model {base.name!r} without a trainable layer of the "
            f"classes {', '.join(one.__name__ for one in KERNELS)}."
        )
    return weighting.rewritten(base)


def _without_bias(layer: Any) -> Any:
    config = layer.get_config() | dict.fromkeys(OF_THE_OUTPUTS)
    return type(layer).from_config(config | {"use_bias": False})


def _for_each_member(function: Callable) -> Callable:
    def of_members(values: Any) -> Tensor:
        return ops.stack(
            [function(values[index]) for index in range(values.shape[0])]
        )

    return of_members


def _mean_over_members(regularizer: Callable) -> Callable:
    of_members = _for_each_member(regularizer)
    return lambda values: ops.mean(of_members(values))
