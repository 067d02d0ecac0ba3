"""What every method has to do: the contract of `UncertaintyModel`."""

import inspect

import keras
import numpy as np
import pytest

from tests.baselines import toys
from tests.baselines.methods import BOTH, METHODS, base_and_data, every, made
from tests.helpers import (
    assert_all_saved_in_fresh_process,
    assert_config_round_trip,
)

# Labels drawn at random have no best temperature, and what is not trained
# answers all the same.
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:The network is trained, but its temperature"
    ),
    pytest.mark.filterwarnings("ignore:The certificates are random"),
]
NOT_QUICK_ON_JAX = pytest.mark.slow_but_on("tensorflow", "torch")


@every()
def test_trains_predicts_and_loads(name, task, tmp_path):
    base, x, y = base_and_data(task)
    if task == "classification":
        base, x = toys.cnn(), toys.images()
    before = toys.weights_of(base)
    model = made(name, task, base)
    logs = toys.fit(model, x, y)
    toys.assert_same(toys.weights_of(base), before)
    assert np.isfinite([*logs["loss"], *logs["val_loss"]]).all()
    out = model.predict(x, batch_size=7, verbose=0)
    toys.check_prediction(out, x, base)
    got = model.evaluate(x, y, batch_size=7, verbose=0, return_dict=True)
    (found,) = (value for key, value in got.items() if "loss" not in key)
    if task == "classification":
        expected = np.mean(out["prediction"].argmax(-1) == y)
    else:
        expected = np.mean((out["prediction"] - y) ** 2)
    assert found == pytest.approx(expected, rel=1e-4)
    assert_config_round_trip(model)
    toys.check_loaded(model, x, y, tmp_path)


@every(quick_on=())
def test_a_weight_of_zero_is_no_sample(name, task):
    base, x, y = base_and_data(task)
    weight = np.array([1.0, 0.0] * 12, "float32")
    answers = []
    for unseen in (0, 2):
        targets = y.copy()
        targets[1::2] = unseen
        keras.utils.set_random_seed(0)
        model = made(name, task, base, eager=True)
        model.fit(x, targets, sample_weight=weight, shuffle=False, verbose=0)
        answers.append(model.predict(x, verbose=0))
    for key in ("prediction", "uncertainty"):
        np.testing.assert_allclose(
            answers[0][key], answers[1][key], rtol=1e-4, atol=1e-5
        )


@NOT_QUICK_ON_JAX
@every("classification")
def test_seeds_reproduce(name, task):
    answers = []
    for seed in (1, 1, 2):
        keras.utils.set_random_seed(seed)
        base, x, y = base_and_data(task)
        model = made(name, task, base, eager=True)
        model.fit(x, y, batch_size=8, verbose=0)
        answers.append(model.predict(x, verbose=0)["uncertainty"])
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-4, atol=1e-5)
    assert not np.allclose(answers[0], answers[2], rtol=1e-3)


@NOT_QUICK_ON_JAX
@every("regression")
def test_mixed_precision(name, task):
    _, x, y = base_and_data(task)
    end = (1, None) if task == "regression" else (3, "softmax")
    base = toys.mlp(*end, dtype="mixed_float16")
    model = made(name, task, base, eager=True)
    logs = model.fit(x, y, verbose=0).history
    assert np.isfinite(logs["loss"]).all()
    out = model.predict(x, verbose=0)
    assert out["prediction"].dtype == base.predict(x, verbose=0).dtype
    assert out["uncertainty"].dtype == np.float32
    assert np.isfinite(out["uncertainty"]).all()


@NOT_QUICK_ON_JAX
@every("classification")
def test_a_bad_sample_never_looks_certain(name, task):
    base, x, y = base_and_data(task)
    model = made(name, task, base, eager=True)
    x = x[:6].copy()
    x[2, 0], x[4, 1] = np.nan, np.inf
    out = model.predict(x, verbose=0)["uncertainty"]
    np.testing.assert_array_equal(np.isnan(out), [0, 0, 1, 0, 1, 0])


@pytest.mark.parametrize("name", METHODS)
def test_a_softmax_is_not_binary(name):
    with pytest.raises(ValueError, match="task='binary'"):
        METHODS[name].make(toys.mlp(2), "binary")


@pytest.mark.first_quick_on("tensorflow")
@pytest.mark.backend("tensorflow")
@every("classification")
def test_two_replicas_and_data_sets(name, task, two_replicas):
    import tensorflow as tf

    base, x, y = base_and_data(task)
    with two_replicas.scope():
        model = made(name, task)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(10)
    logs = model.fit(data, validation_data=data, shuffle=False, verbose=0)
    assert np.isfinite(logs.history["val_loss"]).all()
    toys.check_prediction(model.predict(data, verbose=0), x, base)


@pytest.mark.slow
def test_all_saved_for_a_fresh_process():
    cases = {}
    for name, method in METHODS.items():
        for task in method.tasks:
            model = toys.randomise(made(name, task))
            cases[f"{name}_{task}"] = model, base_and_data(task)[1]
        if set(method.tasks) == set(BOTH):
            task = {"kind": "classification", "size": "regression"}
            model = toys.randomise(method.make(toys.two_outputs(), task))
            cases[f"{name}_two"] = model, toys.features()
    assert_all_saved_in_fresh_process(cases)


@every("classification")
def test_masked_steps_count_neither_in_loss_nor_in_metrics(name, task):
    if name == "autoencoder_error" or task == "regression":
        pytest.skip("It takes no tokens, or has no classes")
    x = toys.tokens()
    y = np.random.default_rng(1).integers(0, 3, x.shape)
    logs = []
    for unseen in (0, 2):
        keras.utils.set_random_seed(0)
        targets = np.where(x == 0, unseen, y)
        model = made(name, task, toys.tagger(), eager=True)
        # `fit` begins with the loss of a network that has not learnt yet.
        history = model.fit(x, targets, verbose=0, shuffle=False).history
        results = model.evaluate(x, targets, verbose=0, return_dict=True)
        logs.append((history, results))
    for one, other in zip(*map(keras.tree.flatten, logs), strict=True):
        assert one == pytest.approx(other, rel=1e-4)


@pytest.mark.slow
@every()
def test_a_list_of_one_output_is_that_output(name, task):
    base, x, y = base_and_data(task)
    in_list = keras.Model(base.inputs[0], [base.outputs[0]])
    assert (
        in_list.predict(x, verbose=0).shape
        == y.shape[:1] + (base.output_shape[1:])
    )
    model = made(name, task, in_list)
    model.fit(x, y, verbose=0)
    toys.check_prediction(model.predict(x, verbose=0), x, base)


@every(quick_on=("tensorflow", "torch"))
def test_options_stay_and_another_model_may_have_others(name, task):
    base, x, y = base_and_data(task)
    model = made(name, task, base, eager=True)
    model.fit(x, y, verbose=0)
    out = model.predict(x, verbose=0)
    for option in inspect.signature(type(model)).parameters:
        if option != "kwargs":
            with pytest.raises(ValueError, match="with_options"):
                setattr(model, option, getattr(model, option))
    same = model.with_options(aggregate="max")
    assert (model.aggregate, same.aggregate) == (None, "max")
    same_out = same.predict(x, verbose=0)
    for key, value in out.items():
        np.testing.assert_allclose(same_out[key], value, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"no options \['scor'\].*aggregate"):
        model.with_options(scor=None)
