from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.linear_operators import operator_of

Tensor = Any
SMALLEST_NORM = 1e-12
SETTLED = 1e-5  # Relative growth of the norm in one step.


@keras.saving.register_keras_serializable(package="keras_zigzag")
class SpectralNormalization(keras.layers.Wrapper):
    """Keeps the spectral norm of a layer at or below a bound.

    The layer computes with `W · min(1, bound / σ)`, while its trainable
    weights stay as they are, so gradients go through the norm `σ`. That norm
    is the one of the layer as a map of a whole sample: of a convolution at the
    size of its input, with its padding and strides, not of its kernel
    reshaped to a matrix. Each training step does one step of power iteration;
    at inference the last estimate is a constant.

    Reference: [Miyato et al., 2018](https://arxiv.org/abs/1802.05957),
    [Gouk et al., 2018](https://arxiv.org/abs/1804.04368) for convolutions,
    [Liu et al., 2020](https://arxiv.org/abs/2006.10108), section 3.2.

    Args:
        layer: `Dense` or convolution layer.
        norm_bound: Float, positive.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, layer: Any, norm_bound: float, **kwargs: Any):
        kwargs.setdefault("name", layer.name)
        kwargs.setdefault("dtype", layer.dtype_policy)
        super().__init__(layer, **kwargs)
        self.norm_bound = norm_bound
        self.supports_masking = layer.supports_masking

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self._operator = operator_of(self.layer, input_shape)
        self.direction = self._add_state(
            "direction",
            self._operator.output_shape,
            keras.initializers.RandomNormal(stddev=1.0, seed=0),
        )
        self.norm = self._add_state("norm", (), "zeros")

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        norm = self.estimated_norm() if training else self.norm
        scale = ops.minimum(
            1.0, self.norm_bound / ops.maximum(norm, SMALLEST_NORM)
        )
        # A linear map of the scaled input is the scaled map of the input, and
        # so whatever else the layer does stays its own.
        return self.layer(ops.cast(scale, self.compute_dtype) * inputs)

    def estimated_norm(self) -> Tensor:
        """Does a step of power iteration; differentiable by the kernel."""
        kernel = self._operator.kernel()
        before = ops.convert_to_tensor(self.direction)
        inputs, direction, _ = self._step(ops.stop_gradient(kernel), before)
        inputs = ops.stop_gradient(inputs)
        direction = ops.stop_gradient(direction)
        norm = ops.sum(direction * self._operator.apply(kernel, inputs))
        self._assign(direction, ops.stop_gradient(norm))
        return norm

    def refine(self, max_steps: int = 50) -> None:
        """Does steps of power iteration, outside of training, till it settles.

        Args:
            max_steps: Integer. Defaults to `50`.
        """
        kernel = ops.stop_gradient(self._operator.kernel())
        direction = ops.convert_to_tensor(self.direction)
        before = 0.0
        for _ in range(max_steps):
            _, direction, norm = self._step(kernel, direction)
            # The norm that is found grows from step to step.
            found = float(ops.convert_to_numpy(norm))
            if found - before <= SETTLED * found:
                break
            before = found
        self._assign(direction, norm)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return self.layer.compute_output_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update({"norm_bound": self.norm_bound})
        return config

    def _step(
        self, kernel: Tensor, direction: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The singular vectors, of the inputs and outputs, and the value."""
        inputs = self._operator.adjoint(kernel, direction)
        inputs = inputs / ops.maximum(_length(inputs), SMALLEST_NORM)
        outputs = self._operator.apply(kernel, inputs)
        norm = _length(outputs)
        # A kernel of zeros must not leave zeros to go on from.
        outputs = ops.where(
            norm > SMALLEST_NORM,
            outputs / ops.maximum(norm, SMALLEST_NORM),
            direction,
        )
        return inputs, outputs, norm

    def _assign(self, direction: Tensor, norm: Tensor) -> None:
        self.direction.assign(direction)
        self.norm.assign(norm)

    def _add_state(self, name: str, shape: Any, initializer: Any) -> Any:
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            dtype="float32",
            trainable=False,
            # Half precision has too few digits for a ratio close to 1.
            autocast=False,
            # The kernel is the same on all replicas, and so is this.
            aggregation="only_first_replica",
        )


def _length(tensor: Tensor) -> Tensor:
    return ops.sqrt(ops.sum(ops.square(tensor)))
