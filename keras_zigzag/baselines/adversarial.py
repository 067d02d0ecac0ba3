"""Adversarial training: samples moved to where a network does worse."""

from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.batches import TrainingInputs
from keras_zigzag.checks import as_array
from keras_zigzag.graphs import is_float
from keras_zigzag.number_checks import checked_number

Tensor = Any
Batch = tuple[Any, Any, Any]


@keras.saving.register_keras_serializable(package="keras_zigzag")
class FastGradientSign(keras.layers.Layer):
    """Puts adversarial samples behind those of a batch.

    Each input `x` of floats comes again as `x + ε r sign(∂ loss / ∂ x)`, with
    the range `r` of each feature (of the last axis) in the training data, and
    with the same target. The gradient is that of the network as it is at
    inference.

    Reference: [Goodfellow et al., 2015](https://arxiv.org/abs/1412.6572), as
    used by [Lakshminarayanan et al., 2017](https://arxiv.org/abs/1612.01474),
    section 2.3.

    Args:
        epsilon: Float. Size of the step, as a part of the range.
        sizes: List of integers. Number of features of each input, 0 for one
            that is not of floats.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, epsilon: float, sizes: list[int], **kwargs: Any):
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.sizes = list(sizes)
        self.ranges = [
            self.add_weight(
                shape=(size,),
                initializer="ones",
                trainable=False,
                dtype="float32",
                name=f"range_{index}",
            )
            for index, size in enumerate(self.sizes)
        ]
        self.built = True

    def adapt(self, batches: Iterable[Any]) -> None:
        """Learns the range of each feature.

        Args:
            batches: Inputs, batch by batch.

        Raises:
            ValueError: If there is no sample.
        """
        low: list[Any] = [np.inf] * len(self.sizes)
        high: list[Any] = [-np.inf] * len(self.sizes)
        for inputs in batches:
            for index, leaf in enumerate(keras.tree.flatten(inputs)):
                if leaf is None or not self.sizes[index]:
                    continue
                values = as_array(leaf).reshape(-1, self.sizes[index])
                low[index] = np.fmin(low[index], np.nanmin(values, axis=0))
                high[index] = np.fmax(high[index], np.nanmax(values, axis=0))
        for index, size in enumerate(self.sizes):
            if not size:
                continue
            if not np.isfinite(low[index] - high[index]).all():
                raise ValueError(
                    "The range of the inputs must be finite. Received: inputs "
                    f"from {low[index]} to {high[index]}."
                )
            self.ranges[index].assign(high[index] - low[index])

    def extended(
        self, loss: Callable[[Any], Tensor], x: Any, y: Any, weight: Any
    ) -> Batch:
        """A batch of twice the size.

        Args:
            loss: Function from inputs to the loss, a scalar.
            x: Inputs.
            y: Targets.
            weight: Sample weights, or `None`.
        """
        leaves = keras.tree.flatten(x)
        chosen = [
            index
            for index, leaf in enumerate(leaves)
            if leaf is not None and self.sizes[index]
        ]

        def with_these(floats: list[Tensor]) -> Any:
            found = dict(zip(chosen, floats, strict=True))
            every = [found.get(i, leaf) for i, leaf in enumerate(leaves)]
            return keras.tree.pack_sequence_as(x, every)

        floats = [_as_floats(leaves[index]) for index in chosen]
        gradients = input_gradients(
            lambda moved: loss(with_these(moved)), floats
        )
        moved = []
        for index, leaf, gradient in zip(
            chosen, floats, gradients, strict=True
        ):
            step = self.epsilon * self.ranges[index] * ops.sign(gradient)
            moved.append(leaf + ops.cast(step, leaf.dtype))
        return (
            _one_behind_the_other(with_these(floats), with_these(moved)),
            _one_behind_the_other(y, y),
            _one_behind_the_other(weight, weight),
        )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update({"epsilon": self.epsilon, "sizes": self.sizes})
        return config


def sizes_of(inputs: Any) -> list[int]:
    """Number of features of symbolic inputs, 0 for those without floats.

    Raises:
        ValueError: If none is of floats, or a number of features is open.
    """
    tensors = keras.tree.flatten(inputs)
    floats = [tensor for tensor in tensors if is_float(tensor)]
    if not floats or any(tensor.shape[-1] is None for tensor in floats):
        given = [(tuple(one.shape), one.dtype) for one in tensors]
        raise ValueError(
            "Adversarial samples are steps along the features of inputs of "
            "floats, whose number is known. Received: inputs of the shapes "
            f"and types {given}. Leave `adversarial` at 0, or give the base "
            "model such an input."
        )
    return [
        int(tensor.shape[-1]) if is_float(tensor) else 0 for tensor in tensors
    ]


def _as_floats(leaf: Any) -> Tensor:
    """What Keras makes of integers for an input of floats."""
    tensor = ops.convert_to_tensor(leaf)
    if is_float(tensor):
        return tensor
    return ops.cast(tensor, keras.config.floatx())


def checked_epsilon(value: Any) -> float:
    return checked_number(
        "adversarial",
        value,
        lambda epsilon: 0 <= epsilon < 1,
        "be a number from 0, for none, to less than 1, the whole range of a "
        "feature",
    )


def attacked(
    model: Any,
    network: keras.Model,
    attack: FastGradientSign,
    x: Any,
    y: Any,
    sample_weight: Any,
) -> tuple[Any, Any, Any]:
    """A batch and behind it the same, moved against one network."""

    def loss(inputs: Any) -> Any:
        outputs = model.answers.outputs(network(inputs, training=False))
        return model.answers.plain_loss(
            model.loss, y, outputs, model.loss_weights, sample_weight
        )

    return attack.extended(loss, x, y, sample_weight)


def with_metrics_of_first_half(
    x: Any, y: Any, sample_weight: Any
) -> tuple[Any, Any, Any]:
    """A batch for training of which metrics see what the user gave."""
    size = ops.shape(keras.tree.flatten(y)[0])[0] // 2
    return (
        TrainingInputs(x, None, ops.arange(size, dtype="int32")),
        y,
        sample_weight,
    )


def input_gradients(
    loss: Callable[[list[Tensor]], Tensor], leaves: list[Tensor]
) -> Any:
    """Gradient of a scalar with respect to tensors.

    Keras differentiates with respect to weights only, so each backend is
    asked by itself. It is zero for what the scalar does not depend on.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(leaves)
            value = loss(leaves)
        zero = tf.UnconnectedGradients.ZERO
        return tape.gradient(value, leaves, unconnected_gradients=zero)
    if backend == "jax":
        import jax

        return jax.grad(loss)(leaves)
    import torch

    leaves = [leaf.detach().requires_grad_(True) for leaf in leaves]
    with torch.enable_grad():
        return torch.autograd.grad(
            loss(leaves), leaves, allow_unused=True, materialize_grads=True
        )


def _one_behind_the_other(first: Any, second: Any) -> Any:
    return keras.tree.map_structure(
        lambda *leaves: (
            None if leaves[0] is None else ops.concatenate(leaves, axis=0)
        ),
        first,
        second,
    )
