import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from keras import ops
from scipy import special
from scipy.spatial import distance as scipy_distance

import keras_zigzag as kz
from keras_zigzag import distances

pytestmark = pytest.mark.first_quick_on("jax", "torch")

DIFFERENCES = ["norm", "l1", "mean_absolute", "max_signed"]
DIVERGENCES = ["cross_entropy", "kl", "jensen_shannon"]


def compute(name, first, second):
    return ops.convert_to_numpy(distances.get(name)(first, second))


def probabilities(*shape):
    return np.random.dirichlet(np.ones(shape[-1]), shape[:-1]).astype("float32")


ORACLES = {
    "norm": lambda a, b: np.linalg.norm(a - b, axis=-1),
    "l1": lambda a, b: np.abs(a - b).sum(-1),
    "mean_absolute": lambda a, b: np.abs(a - b).mean(-1),
    "max_signed": lambda a, b: (a - b).max(-1),
    "cross_entropy": lambda a, b: (
        special.entr(b).sum(-1) + special.rel_entr(b, a).sum(-1)
    ),
    "kl": lambda a, b: special.rel_entr(b, a).sum(-1),
    "jensen_shannon": lambda a, b: (
        scipy_distance.jensenshannon(a, b, axis=-1) ** 2
    ),
}


@pytest.mark.parametrize("shape", [(7, 4), (2, 3, 5, 4), (6, 1)])
@pytest.mark.parametrize("name", ORACLES)
def test_values(name, shape):
    first, second = probabilities(*shape), probabilities(*shape)
    expected = ORACLES[name](first.astype("f8"), second.astype("f8"))
    found = compute(name, first, second)
    assert found.shape == shape[:-1] and found.dtype == "float32"
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ORACLES)
def test_low_precision_and_lists(name):
    first, second = [[0.75, 0.25], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]
    expected = compute(name, np.array(first), np.array(second))
    np.testing.assert_allclose(compute(name, first, second), expected)
    for dtype in ("float16", "bfloat16"):
        given = [ops.convert_to_tensor(a, dtype) for a in (first, second)]
        np.testing.assert_allclose(compute(name, *given), expected, rtol=1e-6)


# Fractions of 64 have exact zeros, exact ones and exact ties among them.
rows = arrays("int64", (5, 4), elements=st.integers(0, 64)).map(
    lambda counts: (
        (counts + (counts.sum(-1, keepdims=True) == 0))
        / np.maximum(counts.sum(-1, keepdims=True), 4)
    ).astype("float32")
)
differences = st.sampled_from(["norm", "l1", "mean_absolute"])
divergences = st.sampled_from(["kl", "jensen_shannon"])


@given(differences | divergences, rows, rows)
def test_finite_and_not_negative(name, first, second):
    found = compute(name, first, second)
    assert np.isfinite(found).all() and (found >= 0).all()


@given(differences | divergences, rows)
def test_zero_for_equal_answers(name, answers):
    np.testing.assert_allclose(compute(name, answers, answers), 0.0, atol=1e-6)


@given(
    differences | st.just("jensen_shannon"),
    rows,
    rows,
)
def test_symmetric(name, first, second):
    np.testing.assert_allclose(
        compute(name, first, second),
        compute(name, second, first),
        rtol=1e-5,
        atol=1e-6,
    )


@given(rows, rows)
def test_jensen_shannon_is_bounded(first, second):
    found = compute("jensen_shannon", first, second)
    assert (found <= np.log(2) + 1e-6).all()


@given(rows, rows)
def test_cross_entropy_is_kl_and_entropy(first, second):
    np.testing.assert_allclose(
        compute("cross_entropy", first, second),
        compute("kl", first, second) + special.entr(second).sum(-1),
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize("name", ORACLES)
def test_not_a_number_stays_one(name):
    answers = np.array([[0.5, 0.5], [np.nan, 0.5]], "float32")
    found = compute(name, answers, np.full((2, 2), 0.5, "float32"))
    assert np.isfinite(found[0]) and np.isnan(found[1])


@pytest.mark.backend("tensorflow")
@pytest.mark.parametrize("name", ORACLES)
def test_gradient_is_finite_where_answers_are_equal(name):
    import tensorflow as tf

    answers = tf.constant([[0.5, 0.5], [1.0, 0.0]])
    with tf.GradientTape() as tape:
        tape.watch(answers)
        found = distances.get(name)(answers, tf.identity(answers))
    gradient = tape.gradient(found, answers).numpy()
    assert np.isfinite(gradient[0]).all()


def mean_square(first, second):
    return ops.mean(ops.square(first - second), axis=-1)


def test_get_and_serialize():
    for name in ORACLES:
        assert distances.get(name) is getattr(distances, name)
        assert distances.serialize(distances.get(name)) == name
    assert distances.get(mean_square) is mean_square
    registered = keras.saving.register_keras_serializable("tests")(mean_square)
    config = distances.serialize(registered)
    assert distances.get(config) is registered


@pytest.mark.parametrize("identifier", ["l2", "", None, 3, ["norm"]])
def test_unknown_distance(identifier):
    with pytest.raises(ValueError, match="one of .*'jensen_.*'norm'.*Received"):
        distances.get(identifier)
    with pytest.raises(ValueError, match="Unknown distance"):
        kz.ZigZagModel.from_model(
            base(2, None), task="regression", distance=identifier
        )


def base(units, activation):
    return keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(4, activation="relu"),
            keras.layers.Dense(units, activation=activation),
        ]
    )


def test_a_distance_of_another_shape():
    model = kz.ZigZagModel.from_model(
        base(2, None), task="regression", distance=difference
    )
    with pytest.raises(ValueError, match="'difference', which gives .*axis=-1"):
        model.predict(np.ones((4, 3), "float32"), verbose=0)


def difference(first, second):
    return first - second


@pytest.mark.parametrize("distance", DIVERGENCES)
def test_divergences_need_probabilities(distance):
    with pytest.raises(ValueError, match="distributions.*`ValuePrior`.*'norm'"):
        kz.ZigZagModel.from_model(
            base(2, None), task="regression", distance=distance
        )


@pytest.mark.parametrize("distance", DIFFERENCES + DIVERGENCES + [mean_square])
@pytest.mark.parametrize(
    "task, units, activation",
    [("classification", 3, None), ("binary", 2, "sigmoid")],
)
def test_uncertainty_is_the_distance_of_the_passes(
    distance, task, units, activation
):
    model = kz.ZigZagModel.from_model(
        base(units, activation), task=task, distance=distance
    )
    for weight in model.network.weights:
        weight.assign(np.random.randn(*weight.shape))
    x = np.random.randn(6, 3).astype("float32")
    prior = model.prior
    tensor = ops.convert_to_tensor(x)
    first = model.network([tensor, prior.encode_blank(6)])
    second = model.network([tensor, prior.encode_prediction(first)])
    compared = prior.answer
    if distance in DIVERGENCES:
        compared = prior.probabilities
    expected = ops.convert_to_numpy(
        model.distance(compared(first), compared(second))
    )
    out = model.predict(x, verbose=0)
    np.testing.assert_allclose(out["uncertainty"], expected, atol=1e-5)
    np.testing.assert_allclose(
        out["prediction"], ops.convert_to_numpy(first), atol=1e-5
    )
