"""Each backend's own way to compile and to distribute."""

import numpy as np
import pytest
from keras import ops

from . import cases
from .cases import DETECTION, RISK

pytestmark = pytest.mark.first_quick_on("jax", "torch")

# Both kinds of state: with and without a histogram of the losses.
BOTH = pytest.mark.parametrize("case", [RISK, DETECTION], ids=["risk", "ood"])
PARTS = np.split(np.arange(200), [64, 128])


@pytest.mark.first_quick_on("tensorflow", "jax", "torch")
@pytest.mark.backend("tensorflow")
@pytest.mark.parametrize("jit_compile", [False, True])
@BOTH
def test_tf_function(case, jit_compile):
    import tensorflow as tf

    arrays = cases.samples(case)
    metric = case()
    step = tf.function(metric.update_state, jit_compile=jit_compile)
    for part in PARTS:
        step(*(tf.constant(array[part]) for array in arrays))
    assert metric.result() == case.streamed(*arrays).result()


@pytest.mark.backend("tensorflow")
def test_batches_of_unknown_size():
    import tensorflow as tf

    arrays = cases.samples(RISK)
    metric = RISK()
    signature = [tf.TensorSpec([None, None], "float32")] * 2
    step = tf.function(metric.update_state, input_signature=signature)
    for part in [*PARTS, np.arange(0)]:
        step(*(tf.constant(array[part, None]) for array in arrays))
    assert metric.result() == RISK.streamed(*arrays).result()
    with pytest.raises(ValueError, match="one value per sample"):
        RISK().update_state(tf.zeros(3), tf.zeros(4))


@pytest.mark.backend("tensorflow")
@BOTH
def test_tf_distribute(case, two_replicas):
    import tensorflow as tf

    arrays = cases.samples(case)
    with two_replicas.scope():
        metric = case()
    dataset = tf.data.Dataset.from_tensor_slices(arrays).batch(50)
    step = tf.function(
        lambda batch: two_replicas.run(metric.update_state, batch)
    )
    for batch in two_replicas.experimental_distribute_dataset(dataset):
        step(batch)
    expected = case.streamed(*arrays).result()
    assert metric.result() == pytest.approx(expected, rel=1e-6)


@pytest.mark.backend("tensorflow")
def test_result_in_a_tf_function():
    import tensorflow as tf

    metric = RISK.streamed(*cases.samples(RISK))
    with pytest.raises(RuntimeError, match="Call `update_state` in the step"):
        tf.function(metric.result)()


@pytest.mark.backend("jax")
@BOTH
def test_jax_jit(case):
    import jax

    arrays = cases.samples(case)
    metric = case()
    step = jax.jit(metric.stateless_update_state)
    state = [variable.value for variable in metric.variables]
    for part in PARTS:
        state = step(state, *(array[part] for array in arrays))
    expected = case.streamed(*arrays).result()
    assert metric.stateless_result(state) == expected
    with pytest.raises(RuntimeError, match="Call `update_state` in the step"):
        jax.jit(metric.stateless_result)(state)


@pytest.mark.backend("torch")
@BOTH
def test_torch_tensors_with_gradients(case):
    import torch

    arrays = cases.samples(case)
    tensors = [
        torch.tensor(array.astype("float32"), requires_grad=True)
        for array in arrays
    ]
    metric = case.streamed(*tensors)
    assert metric.result() == case.streamed(*arrays).result()
    assert not any(v.value.requires_grad for v in metric.variables)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32"])
def test_scores_of_other_types(dtype):
    is_ood, score = cases.samples(DETECTION)
    score = ops.cast(ops.convert_to_tensor(score), dtype)
    rounded = ops.convert_to_numpy(ops.cast(score, "float32"))
    metric = DETECTION.streamed(is_ood, score)
    assert metric.result() == DETECTION.streamed(is_ood, rounded).result()
