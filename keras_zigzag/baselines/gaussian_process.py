import math
from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class GaussianProcess(keras.layers.Wrapper):
    """A last layer that knows how far its input is from what it has seen.

    A linear layer on fixed random Fourier features, which together
    approximate a Gaussian process with the kernel
    `amplitude² · exp(−‖x − x'‖² / (2 length_scale²))`. The posterior of its
    weights is a Gaussian, by Laplace's approximation, with the precision
    `ridge_penalty · I + Σ wᵢ φᵢ φᵢᵀ` over the training samples, so the
    variance of an output is `ridge_penalty · φᵀ precision⁻¹ φ`.

    At inference, logits are divided by `√(1 + mean_field_factor · variance)`,
    so that the softmax or sigmoid of them is about the mean probability.

    Reference: [Liu et al., 2020](https://arxiv.org/abs/2006.10108), eq. 8–10
    and algorithm 1, [Rahimi & Recht, 2007](https://papers.nips.cc/paper/3182)
    for the features, [Yu et al., 2016](https://arxiv.org/abs/1610.09072) for
    their orthogonal frequencies,
    [Lu et al., 2020](https://arxiv.org/abs/2006.07584) for the mean field.

    Args:
        layer: `Dense` layer without activation, the linear one.
        num_features: Integer. Defaults to `1024`.
        length_scale: Float. Defaults to `2.0`.
        amplitude: Float. Defaults to `1.0`.
        ridge_penalty: Float. For values, the variance of their noise.
            Defaults to `1.0`.
        momentum: Float in `(0, 1)`. The precision is a moving average over
            batches of the mean over their samples. Defaults to `None`: the
            sum over one epoch.
        mean_field_factor: Float. `0` leaves the outputs as they are. Defaults
            to `0.0`.
        normalize: Boolean. Whether the input goes through a
            `LayerNormalization` first. Defaults to `False`.
        likelihood: `"gaussian"` (the samples count alike) or
            `"binary_logistic"` (each by its `p (1 − p)`). Defaults to
            `"gaussian"`.
        seed: Integer. Seed of the features. Defaults to `0`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Shapes: from `(batch_size, ..., num_inputs)` to the outputs
    `(batch_size, ..., num_outputs)`, their variance `(batch_size, ...)`, which
    is zero in training, and the features `(batch_size, ..., num_features)`,
    which are zero where training masks them.
    """

    # What comes out is what a linear layer gives.
    activation = staticmethod(keras.activations.linear)

    def __init__(
        self,
        layer: Any,
        num_features: int = 1024,
        length_scale: float = 2.0,
        amplitude: float = 1.0,
        ridge_penalty: float = 1.0,
        momentum: float | None = None,
        mean_field_factor: float = 0.0,
        normalize: bool = False,
        likelihood: str = "gaussian",
        seed: int = 0,
        **kwargs: Any,
    ):
        super().__init__(layer, **kwargs)
        self.num_features = num_features
        self.length_scale = length_scale
        self.amplitude = amplitude
        self.ridge_penalty = ridge_penalty
        self.momentum = momentum
        self.mean_field_factor = mean_field_factor
        self.normalize = normalize
        self.likelihood = likelihood
        self.seed = seed
        self.supports_masking = True
        self.normalization = (
            keras.layers.LayerNormalization(dtype=self.dtype_policy)
            if normalize
            else None
        )

    def build(self, input_shape: Any) -> None:
        size = self.num_features
        if self.normalization is not None:
            self.normalization.build(input_shape)
        if not self.layer.built:
            self.layer.build((*input_shape[:-1], size))
        generator = np.random.default_rng(self.seed)
        frequencies = orthogonal_frequencies(generator, input_shape[-1], size)
        phases = generator.uniform(0.0, 2.0 * math.pi, size)
        self.frequencies = self._add_constant("frequencies", frequencies)
        self.phases = self._add_constant("phases", phases)
        self.information = self.add_weight(
            name="information",
            shape=(size, size),
            initializer="zeros",
            trainable=False,
            aggregation="mean",
        )
        # Its product with its own transpose is the covariance times the
        # ridge penalty.
        self.factor = self._add_constant("factor", np.eye(size))
        self.built = True

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Any = None
    ) -> Any:
        features = self.features(inputs)
        outputs = self.layer(features)
        if training:
            if mask is not None:
                # The only features that are all zero; see `observe`.
                mask = ops.cast(ops.expand_dims(mask, -1), features.dtype)
                features = features * mask
            return outputs, ops.zeros_like(features[..., 0]), features
        variance = self.variance(features)
        if self.mean_field_factor:
            outputs = mean_field(outputs, variance, self.mean_field_factor)
        return outputs, variance, features

    def features(self, inputs: Tensor) -> Tensor:
        """Random Fourier features, whose inner products are the kernel."""
        if self.normalization is not None:
            inputs = self.normalization(inputs)
        angles = ops.matmul(inputs / self.length_scale, self.frequencies)
        scale = self.amplitude * math.sqrt(2.0 / self.num_features)
        return scale * ops.cos(angles + self.phases)

    def variance(self, features: Tensor) -> Tensor:
        """Variance of an output, as of the last `update_covariance`."""
        # A sum of squares, which rounding cannot make negative.
        return ops.sum(ops.square(ops.matmul(features, self.factor)), axis=-1)

    def observe(
        self,
        features: Tensor,
        outputs: Tensor,
        weights: Tensor | None = None,
        num_replicas: int = 1,
    ) -> None:
        """Adds what a batch of training samples says to the precision.

        Args:
            features: Tensor of shape `(batch_size, ..., num_features)`. Where
                all are zero is no sample.
            outputs: Tensor of shape `(batch_size, ..., num_outputs)`, as in
                training.
            weights: Tensor of shape `(batch_size, ...)`, or with fewer or one
                more axes, or `None` for ones.
            num_replicas: Integer. In how many parts a batch comes. Defaults to
                `1`.
        """
        features = ops.stop_gradient(features)
        is_seen = ops.any(ops.not_equal(features, 0.0), axis=-1, keepdims=True)
        counts = ops.cast(is_seen, features.dtype)
        if weights is not None:
            counts = counts * _like(ops.cast(weights, counts.dtype), counts)
        curvature = counts
        if self.likelihood == "binary_logistic":
            probability = ops.sigmoid(ops.stop_gradient(outputs))
            curvature = counts * probability * (1.0 - probability)
        flat = ops.reshape(features, (-1, self.num_features))
        weighted = ops.reshape(features * curvature, (-1, self.num_features))
        information = ops.matmul(ops.transpose(weighted), flat)
        if self.momentum is None:
            # What the replicas write is averaged.
            self.information.assign(
                self.information + num_replicas * information
            )
            return
        # A batch without samples changes nothing.
        total = ops.sum(counts)
        kept = ops.where(total > 0, self.momentum, 1.0)
        mean = information / ops.where(total > 0, total, 1.0)
        self.information.assign(kept * self.information + (1.0 - kept) * mean)

    def reset(self) -> None:
        """Forgets the samples of the last epoch, unless there is a momentum."""
        if self.momentum is None:
            self.information.assign(np.zeros(self.information.shape))

    def update_covariance(self) -> None:
        """Inverts the precision, for the variances from now on.

        Sums in float32 over many samples are rounded, and weights may be
        negative: what the samples say of a direction counts as nothing where
        it comes out as less, so no variance exceeds that before any data.
        """
        information = ops.convert_to_numpy(self.information).astype("float64")
        if not np.isfinite(information).all():
            self.factor.assign(np.full(information.shape, np.nan))
            return
        known, directions = np.linalg.eigh((information + information.T) / 2.0)
        known = np.maximum(known, 0.0)
        ridge = self.ridge_penalty
        self.factor.assign(directions * np.sqrt(ridge / (ridge + known)))

    def covariance(self) -> np.ndarray:
        """`(num_features, num_features)`, of the linear layer's weights."""
        factor = ops.convert_to_numpy(self.factor).astype("float64")
        return factor @ factor.T / self.ridge_penalty

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None if mask is None else (mask, mask, mask)

    def compute_output_shape(self, input_shape: Any) -> Any:
        places = tuple(input_shape[:-1])
        return (
            (*places, self.layer.units),
            places,
            (*places, self.num_features),
        )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update(
            {
                "num_features": self.num_features,
                "length_scale": self.length_scale,
                "amplitude": self.amplitude,
                "ridge_penalty": self.ridge_penalty,
                "momentum": self.momentum,
                "mean_field_factor": self.mean_field_factor,
                "normalize": self.normalize,
                "likelihood": self.likelihood,
                "seed": self.seed,
            }
        )
        return config

    def _add_constant(self, name: str, values: np.ndarray) -> Any:
        return self.add_weight(
            name=name,
            shape=values.shape,
            initializer=lambda shape, dtype=None: ops.convert_to_tensor(
                values, dtype
            ),
            trainable=False,
        )


def mean_field(logits: Tensor, variance: Tensor, factor: float) -> Tensor:
    """Logits whose probability is about the mean over a Gaussian of logits."""
    scale = ops.sqrt(1.0 + factor * variance)
    return logits / ops.expand_dims(scale, -1)


def orthogonal_frequencies(
    generator: np.random.Generator, num_inputs: int, num_features: int
) -> np.ndarray:
    """Frequencies of the kernel with length scale 1.

    Each is that of a normal distribution, but `num_inputs` at a time are
    orthogonal, which makes the kernel more exact.

    Returns:
        Array of shape `(num_inputs, num_features)`.
    """
    blocks = []
    for start in range(0, num_features, num_inputs):
        count = min(num_inputs, num_features - start)
        normal = generator.standard_normal((num_inputs, count))
        directions, triangle = np.linalg.qr(normal)
        # With these signs they are uniform on the sphere.
        directions *= np.sign(np.diag(triangle))
        lengths = np.sqrt(generator.chisquare(num_inputs, count))
        blocks.append(directions * lengths)
    return np.concatenate(blocks, axis=1)


def _like(weights: Tensor, counts: Tensor) -> Tensor:
    """Weights of samples or places, `(batch_size, ..., 1)`."""
    rank = len(counts.shape)
    while len(weights.shape) < rank:
        weights = ops.expand_dims(weights, -1)
    return weights
