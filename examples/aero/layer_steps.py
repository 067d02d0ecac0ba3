"""One forward and backward pass of a layer, on each backend."""

import keras
from keras import ops

NUM_FEATURES = 32  # in and out
KERNEL_SIZE = 5  # Gaussians
NUM_HEADS = 4
NUM_DIMS = 2


def make_step(layer, inputs):
    """A function that computes all gradients of a layer, and waits for them.

    Args:
        layer: Layer that takes a list, or with one input a tensor.
        inputs: List of arrays, of which the first has gradients too.
    """
    inputs = [ops.convert_to_tensor(array) for array in inputs]
    layer.build(_one_or_all([tuple(array.shape) for array in inputs]))
    backend = keras.backend.backend()
    makers = {"torch": _torch, "jax": _jax, "tensorflow": _tensorflow}
    return makers[backend](layer, inputs)


def torch_step(parameters, first, compute):
    """The pass of anything that PyTorch computes from `first`."""
    import torch

    first = first.clone().requires_grad_()
    parameters = [*parameters, first]

    def step():
        return torch.autograd.grad(compute(first).square().sum(), parameters)

    return step


def _one_or_all(values):
    return values[0] if len(values) == 1 else values


def _torch(layer, inputs):
    first, *others = inputs
    return torch_step(
        layer.parameters(),
        first,
        lambda features: layer(_one_or_all([features, *others])),
    )


def _jax(layer, inputs):
    import jax

    first, *others = inputs

    def loss(weights, features):
        values = _one_or_all([features, *others])
        outputs, _ = layer.stateless_call(weights, [], values)
        return ops.sum(ops.square(outputs))

    gradients = jax.jit(jax.grad(loss, argnums=(0, 1)))
    weights = [variable.value for variable in layer.trainable_variables]
    return lambda: jax.block_until_ready(gradients(weights, first))


def _tensorflow(layer, inputs):
    import tensorflow as tf

    first, *others = inputs
    weights = [variable.value for variable in layer.trainable_variables]

    # As Keras compiles models by default.
    @tf.function(jit_compile=True)
    def gradients(features):
        with tf.GradientTape() as tape:
            tape.watch(features)
            outputs = layer(_one_or_all([features, *others]))
            loss = tf.reduce_sum(tf.square(outputs))
        return tape.gradient(loss, [*weights, features])

    return lambda: [tensor.numpy() for tensor in gradients(first)]
