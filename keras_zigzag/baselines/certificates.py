"""Functions of features that are zero on the training set, and differ."""

from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any
Array = np.ndarray
KINDS = ("linear", "mlp")
# Of the paper, and of the small networks of kind "mlp".
NUM_LINEAR, NUM_NETWORKS, NUM_UNITS = 100, 5, 32
BATCH_SIZE, LEARNING_RATE = 128, 1e-2


class Orthonormality(keras.regularizers.Regularizer):
    """Squared distance of the products of a kernel's columns from unity.

    `λ ‖CᵀC − I‖²`; of the rows, where there are fewer of them.

    Args:
        penalty: Float. The factor `λ`.
    """

    def __init__(self, penalty: float):
        self.penalty = penalty

    def __call__(self, kernel: Tensor) -> Tensor:
        num_rows, num_columns = kernel.shape
        if num_rows < num_columns:
            kernel = ops.transpose(kernel)
        products = ops.matmul(ops.transpose(kernel), kernel)
        unity = ops.eye(min(num_rows, num_columns), dtype=products.dtype)
        return self.penalty * ops.sum(ops.square(products - unity))

    def get_config(self) -> dict[str, Any]:
        return {"penalty": self.penalty}


def default_number(kind: str, num_features: int) -> int:
    """How many certificates there are, unless it is said.

    As many linear ones as there are features would see a distance from the
    mean only, so half of that at most.
    """
    if kind == "mlp":
        return NUM_NETWORKS
    return max(min(NUM_LINEAR, num_features // 2), 1)


def certificates(
    kind: str,
    num_features: int,
    num_certificates: int,
    seed: int,
    penalty: float | None = None,
) -> keras.Model:
    """A network from features to certificates, orthonormal at first.

    No layer has a bias, so that none can be zero everywhere but by a kernel
    of zeros, which the penalty forbids.

    Args:
        kind: `"linear"`, or `"mlp"` for a small network per certificate.
        num_features: Integer.
        num_certificates: Integer.
        seed: Integer. Seed of the kernels.
        penalty: Float. Factor of the orthonormality in the loss. Defaults to
            `None`, for a network that is not trained.
    """
    generator = np.random.default_rng(seed)
    regularizer = None if penalty is None else Orthonormality(penalty)

    def dense(units: int, activation: str | None = None) -> Any:
        return keras.layers.Dense(
            units,
            activation,
            use_bias=False,
            kernel_initializer=lambda shape, dtype=None: ops.convert_to_tensor(
                random_orthonormal(shape, generator), dtype
            ),
            kernel_regularizer=regularizer,
            dtype="float32",
        )

    features = keras.Input((num_features,), dtype="float32")
    if kind == "linear":
        return keras.Model(features, dense(num_certificates)(features))
    answers = [
        dense(1)(dense(NUM_UNITS, "relu")(features))
        for _ in range(num_certificates)
    ]
    if num_certificates == 1:
        return keras.Model(features, answers[0])
    joined = keras.layers.Concatenate(dtype="float32")(answers)
    return keras.Model(features, joined)


def random_orthonormal(
    shape: tuple[int, int], generator: np.random.Generator
) -> Array:
    """Orthonormal columns, or rows where there are fewer of them."""
    num_rows, num_columns = shape
    size = max(shape), min(shape)
    columns = np.linalg.qr(generator.normal(size=size))[0]
    return columns if num_rows >= num_columns else columns.T.copy()


class FeatureBatches(keras.utils.PyDataset):
    """As many batches as there are steps, in one epoch.

    Small sets would take longer between epochs than in them.

    Args:
        features: Array of shape `(num_samples, num_features)`.
        num_batches: Integer.
        seed: Integer. Seed of the order.
    """

    def __init__(self, features: Array, num_batches: int, seed: int):
        super().__init__()
        order = np.random.default_rng(seed).permutation(len(features))
        self.features = features[order]
        self.size = min(BATCH_SIZE, len(features))
        self._num_batches = num_batches

    @property
    def num_batches(self) -> int:
        return self._num_batches

    def __getitem__(self, index: int) -> tuple[Array, Array]:
        start = index * self.size
        rows = range(start, start + self.size)
        batch = self.features.take(rows, axis=0, mode="wrap")
        return batch, np.zeros(self.size, "float32")


def mean_square(_: Tensor, answers: Tensor) -> Tensor:
    """The part of the loss that draws the certificates to zero."""
    return ops.mean(ops.square(answers), axis=-1)


def trained_weights(
    features: Array,
    kind: str,
    num_certificates: int,
    seed: int,
    penalty: float,
    num_steps: int,
) -> list[Array]:
    """Weights of `certificates` that are about zero on these features.

    Minimises `mean (Cᵀφ)² + λ ‖CᵀC − I‖²`. Linear ones are then made
    orthonormal to the last digit; what they span stays as it is.

    Args:
        features: Array of shape `(num_samples, num_features)`, standardised.
        kind: As for `certificates`, as are the next two.
        num_certificates: Integer.
        seed: Integer.
        penalty: Float. The factor `λ`.
        num_steps: Integer. Number of batches of 128.
    """
    network = certificates(
        kind, features.shape[-1], num_certificates, seed, penalty
    )
    rate = keras.optimizers.schedules.CosineDecay(LEARNING_RATE, num_steps)
    network.compile(keras.optimizers.Adam(rate), mean_square)
    batches = FeatureBatches(features, num_steps, seed)
    network.fit(batches, shuffle=False, verbose=0)
    weights = network.get_weights()
    if kind == "linear":
        weights = [np.linalg.qr(np.float64(weights[0]))[0]]
    return weights
