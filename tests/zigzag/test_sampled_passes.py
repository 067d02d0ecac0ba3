import keras
import numpy as np
import pytest
from keras import ops

from tests.zigzag.toys import (
    assert_same_weights,
    class_data,
    classifier,
    differ,
    fit_once,
    linear,
    randomise,
    value_data,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def drawn(model, size):
    """Which rows of a training batch are blank, and the metric rows."""
    x, y = value_data(size)
    batch, targets, weight = model.training_batch(x, y, np.ones(size))
    prior = ops.convert_to_numpy(batch.prior)
    is_blank = prior[:, -1] == 0
    targets = ops.convert_to_numpy(targets)
    np.testing.assert_allclose(prior[is_blank, :2], 0.0)
    np.testing.assert_allclose(prior[~is_blank, :2], targets[~is_blank])
    assert len(prior) == len(targets) == len(weight)
    return is_blank, ops.convert_to_numpy(batch.metric_rows)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_each_sample_is_blank_half_of_the_time(size):
    model = linear(passes="sampled", seed=0)
    draws = np.array([drawn(model, size)[0] for _ in range(200)])
    # Five standard deviations of a fair coin.
    np.testing.assert_allclose(draws.mean(axis=0), 0.5, atol=0.177)
    assert len(np.unique(draws, axis=0)) > 1


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_metric_rows_are_blank(size):
    model = linear(passes="sampled", seed=0)
    for _ in range(20):
        is_blank, rows = drawn(model, size)
        assert len(rows) >= 1
        assert is_blank[rows].all()


def test_a_single_sample_is_trained_both_ways():
    is_blank, rows = drawn(linear(passes="sampled"), 1)
    assert sorted(is_blank) == [False, True]
    assert len(rows) == 1


def test_the_loss_is_that_of_the_drawn_priors():
    model, (x, y) = randomise(linear(passes="sampled", seed=3)), value_data()
    model.compile(keras.optimizers.SGD(0.0), loss="mse")
    twin = randomise(linear(passes="sampled", seed=3))
    batch, _, _ = twin.training_batch(x, y)
    answers = ops.convert_to_numpy(twin(batch, training=True))
    logs = fit_once(model, x, y)
    np.testing.assert_allclose(
        logs["loss"], np.mean((answers - y) ** 2), rtol=1e-5
    )


def fitted(seed, batch_size=7):
    keras.utils.set_random_seed(0)
    model = randomise(classifier(passes="sampled", seed=seed))
    model.compile("adam", "sparse_categorical_crossentropy")
    x, y = class_data(22)
    model.fit(x, y, batch_size=batch_size, epochs=2, shuffle=False, verbose=0)
    return model


def test_the_seed_decides():
    first = fitted(1)
    assert_same_weights(first, fitted(1), rtol=1e-6, atol=1e-7)
    assert differ(first, fitted(2))


def test_each_step_draws_anew():
    model = linear(passes="sampled", seed=0)
    before = [ops.convert_to_numpy(w) for w in model.non_trainable_variables]
    model.compile(keras.optimizers.SGD(0.0), loss="mse")
    fit_once(model, *value_data())
    after = [ops.convert_to_numpy(w) for w in model.non_trainable_variables]
    assert any((a != b).any() for a, b in zip(before, after, strict=True))
    # Variables hold values, not the tracers of a compiled step.
    drawn(model, 4)
