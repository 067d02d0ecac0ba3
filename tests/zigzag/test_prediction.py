import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests.zigzag.toys import (
    class_data,
    classifier,
    linear,
    randomise,
    value_data,
    weights_of,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def passes_by_hand(model, x, count):
    """The answers of `count` passes of a linear regression."""
    kernel, bias = weights_of(model)
    answer, present = np.zeros((len(x), 2)), np.zeros((len(x), 1))
    answers = []
    for _ in range(count):
        rows = np.concatenate([x, answer, present], axis=1)
        answer, present = rows @ kernel + bias, np.ones((len(x), 1))
        answers.append(answer)
    return answers


@pytest.mark.parametrize("num_passes", [2, 3])
def test_passes_by_hand(num_passes):
    model, (x, _) = randomise(linear(num_passes=num_passes)), value_data()
    answers = passes_by_hand(model, x, num_passes)
    out = model.predict(x, verbose=0)
    np.testing.assert_allclose(out["prediction"], answers[0], rtol=1e-4)
    np.testing.assert_allclose(
        out["uncertainty"],
        np.linalg.norm(answers[-1] - answers[-2], axis=-1),
        rtol=1e-3,
    )


@pytest.mark.parametrize("name", sorted(kz.distances.DISTANCES))
def test_distances_by_name(name):
    model, (x, _) = randomise(classifier(distance=name)), class_data()
    first = model(x)
    prior = model.prior.encode_prediction(first)
    second = model.network([ops.convert_to_tensor(x), prior])
    expected = kz.distances.get(name)(first, second)
    uncertainty = model.call_with_uncertainty(x)["uncertainty"]
    np.testing.assert_allclose(
        ops.convert_to_numpy(uncertainty),
        ops.convert_to_numpy(expected),
        rtol=1e-4,
        atol=1e-6,
    )


def test_a_distance_of_ones_own():
    def half(first, second):
        return ops.sum(ops.abs(first - second), axis=-1) / 2

    x, _ = class_data()
    own = randomise(classifier(distance=half)).predict(x, verbose=0)
    l1 = randomise(classifier(distance="l1")).predict(x, verbose=0)
    np.testing.assert_allclose(
        own["uncertainty"], l1["uncertainty"] / 2, rtol=1e-5
    )


def test_distances_of_logits_are_those_of_probabilities():
    x, _ = class_data()
    logits = randomise(classifier(activation=None)).predict(x, verbose=0)
    softmax = randomise(classifier()).predict(x, verbose=0)
    np.testing.assert_allclose(
        logits["uncertainty"], softmax["uncertainty"], rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        np.argmax(logits["prediction"], axis=-1),
        np.argmax(softmax["prediction"], axis=-1),
    )


def test_all_ways_to_score_agree():
    model, (x, _) = randomise(classifier()), class_data(9)
    out = model.predict(x, batch_size=4, verbose=0)
    assert sorted(out) == ["prediction", "uncertainty"]
    assert out["uncertainty"].shape == (9,)
    assert out["uncertainty"].dtype == "float32"
    on_batch = model.predict_on_batch(x)
    tensors = model.call_with_uncertainty(x)
    for name in out:
        assert isinstance(on_batch[name], np.ndarray)
        np.testing.assert_allclose(on_batch[name], out[name], rtol=1e-5)
        np.testing.assert_allclose(
            ops.convert_to_numpy(tensors[name]), out[name], rtol=1e-5
        )


def test_a_call_gives_the_prediction_only():
    model, (x, _) = randomise(classifier()), class_data(9)
    prediction = model(x)
    assert prediction.shape == (9, 3)
    np.testing.assert_allclose(
        ops.convert_to_numpy(prediction),
        model.predict(x, verbose=0)["prediction"],
        rtol=1e-5,
    )


def test_before_training_it_answers_as_the_base_does():
    base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model = kz.ZigZagModel.from_model(base, task="classification")
    x, _ = class_data()
    out = model.predict(x, verbose=0)
    np.testing.assert_allclose(
        out["prediction"], base.predict(x, verbose=0), rtol=1e-5
    )
    np.testing.assert_allclose(out["uncertainty"], 0.0, atol=1e-6)


def test_dropout_is_off_in_all_passes():
    model = randomise(linear(layers=[keras.layers.Dropout(0.5)]))
    x, _ = value_data()
    one, two = (model.predict(x, verbose=0) for _ in range(2))
    np.testing.assert_array_equal(one["uncertainty"], two["uncertainty"])


@pytest.mark.backend("tensorflow")
def test_the_uncertainty_can_be_differentiated():
    import tensorflow as tf

    model, (x, _) = randomise(linear()), value_data()
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        score = tf.reduce_sum(model.call_with_uncertainty(x)["uncertainty"])
    assert np.abs(tape.gradient(score, x)).max() > 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_input_that_is_not_finite_is_not_trusted(bad):
    model, (x, _) = randomise(classifier()), class_data(5)
    x[2, 1] = bad
    uncertainty = model.predict(x, verbose=0)["uncertainty"]
    np.testing.assert_array_equal(
        np.isnan(uncertainty), [False, False, True, False, False]
    )


@pytest.mark.parametrize("num_passes", [1, 0, 2.0])
def test_num_passes_must_be_two_or_more(num_passes):
    with pytest.raises(ValueError, match="Received: num_passes="):
        classifier(num_passes=num_passes)


def test_unknown_passes():
    with pytest.raises(ValueError, match="both.*sampled.*Received: passes"):
        classifier(passes="twice")


def test_unknown_distance():
    with pytest.raises(ValueError, match="Received: distance='far'"):
        classifier(distance="far")


def test_an_empty_array():
    model = classifier()
    model.compile("sgd", "sparse_categorical_crossentropy")
    empty = np.zeros((0, 4), "float32")
    for method in (model.predict, model.predict_on_batch, model.evaluate):
        with pytest.raises(ValueError, match=r"shape \(0, 4\)"):
            method(empty)
    with pytest.raises(ValueError, match=r"shape \(0, 4\)"):
        model.fit(empty, np.zeros((0,)))
