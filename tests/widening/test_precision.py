"""Mixed precision and other types."""

import keras
import pytest

from tests.widening.checker import check_widening
from tests.widening.data import floats, integers, pixels

pytestmark = pytest.mark.first_quick_on("jax", "torch")

layers = keras.layers


@pytest.fixture(params=["mixed_float16", "mixed_bfloat16", "float64"])
def policy(request):
    if request.param == "float64" and keras.backend.backend() == "jax":
        pytest.skip("JAX has float64 only where it is told so at its start")
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy(before)


def mlp():
    inputs = keras.Input((6,))
    x = layers.Dense(8, activation="relu")(inputs)
    return keras.Model(inputs, layers.Dense(3)(x)), floats(5, 6)


def cnn():
    inputs = keras.Input((8, 8, 3))
    x = layers.Rescaling(1 / 255)(inputs)
    x = layers.Conv2D(4, 3)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(3)(x)), pixels(4, 8, 8, 3)


def transformer():
    inputs = keras.Input((5, 8))
    x = layers.Add()([inputs, layers.MultiHeadAttention(2, 4)(inputs, inputs)])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return keras.Model(inputs, layers.Dense(3)(x)), floats(4, 5, 8)


@pytest.mark.first_quick_on("tensorflow", "jax", "torch")
@pytest.mark.parametrize("build", [mlp, cnn, transformer])
def test_policy(policy, build):
    if (keras.backend.backend(), policy, build) == (
        "jax",
        "mixed_float16",
        transformer,
    ):
        pytest.skip("JAX has no attention in float16 on a CPU")
    base, inputs = build()
    targets = integers(3, len(inputs))
    model = check_widening(
        base, inputs, targets, tolerance=2e-2, learning_rate=1.0
    )
    assert model.dtype_policy.name == policy
    wanted = base.predict(inputs, verbose=0).dtype
    outputs = model.predict(inputs, verbose=0)
    assert outputs["prediction"].dtype == wanted
    assert outputs["uncertainty"].dtype == "float32"


def test_float32_head_on_a_float16_body():
    policy = keras.DTypePolicy("mixed_float16")
    base = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, activation="relu", dtype=policy),
            layers.Dense(3, dtype=policy),
            layers.Activation("softmax", dtype="float32"),
        ]
    )
    model = check_widening(base, floats(5, 6), integers(3, 5), tolerance=2e-3)
    assert not model.prior.from_logits


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_only_the_first_layer_in_low_precision(dtype):
    base = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, activation="relu", dtype=dtype),
            layers.Dense(3, dtype="float32"),
        ]
    )
    check_widening(base, floats(5, 6), integers(3, 5), tolerance=2e-2)
