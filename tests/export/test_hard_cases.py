"""Ties, overflow and bad values, in `predict` and in every artifact."""

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag.distances import DISTANCES
from tests.export import cases
from tests.export.artifacts import (
    RUNTIMES,
    export,
    flat,
    named,
    run_in_new_process,
    skip_unless_available,
)
from tests.zigzag.toys import randomise

FORMATS = ("saved_model", "onnx", "litert", "openvino", "torch")
# What each class, fed back, adds to the logits.
FEEDBACK = np.array([[1, 0, 3], [0, 2, 0], [4, 0, 1]], "float32") / 2
TIES = np.array(
    [[1, 1, 0], [0, 2, 2], [0, 0, 0], [5, 1, 5], [-1, -1, -1], [1, 2, 3]],
    "float32",
)
FIRST_MAXIMUM = [0, 1, 0, 0, 0, 2]
OVERFLOW = np.array([[3e38, 3e38, 1], [1, 2, 3]], "float32")


def adding(activation, task, kernel, feedback, **kwargs):
    """A network of one layer whose weights are written by hand."""
    width = kernel.shape[1]
    base = keras.Sequential(
        [keras.Input((3,), name="x"), keras.layers.Dense(width, activation)]
    )
    model = kz.ZigZagModel.from_model(base, task=task, **kwargs)
    presence = np.zeros((1, width))
    kernel = np.concatenate([kernel, feedback, presence])
    model.set_weights([kernel, np.zeros(width), *model.get_weights()[2:]])
    return model


def classes(activation="softmax", **kwargs):
    kernel = np.eye(3)
    return adding(activation, "classification", kernel, FEEDBACK, **kwargs)


def total():
    model = adding(None, "regression", np.ones((3, 1)), np.full((1, 1), 0.5))
    model.adapt(np.array([[0.0], [2.0]]))
    return model


def run(runtime, models, folder):
    """Outputs of artifacts, given a dict from names to models and inputs."""
    skip_unless_available(runtime)
    jobs = []
    for key, (model, inputs) in models.items():
        path = folder / f"{key}{RUNTIMES[runtime].suffix}"
        signature = None
        if not RUNTIMES[runtime].free_batch_size:
            signature = [keras.InputSpec(shape=inputs.shape, dtype="float32")]
        export(model, path, RUNTIMES[runtime].format, signature)
        jobs.append((str(path), [named(model, inputs)]))
    results = run_in_new_process(runtime, jobs, folder)
    return {
        key: outputs for key, (outputs,) in zip(models, results, strict=True)
    }


def expected_of_ties():
    first = keras.ops.softmax(TIES)
    second = keras.ops.softmax(TIES + FEEDBACK[FIRST_MAXIMUM])
    return kz.distances.norm(first, second)


def check_ties(outputs):
    expected = keras.ops.convert_to_numpy(expected_of_ties())
    np.testing.assert_allclose(outputs["uncertainty"], expected, atol=1e-5)


def check_overflow(outputs):
    overflown, usual = outputs["uncertainty"]
    assert np.isnan(overflown)
    assert np.isfinite(usual)


def test_ties_in_predict():
    check_ties(classes().predict(TIES, verbose=0))


@pytest.mark.parametrize("distance", DISTANCES)
def test_overflow_is_not_certain(distance):
    logits = classes(activation=None, distance=distance)
    # Sums of two large numbers are infinite, in the first pass or the second.
    x = np.array([[3e38, 0, 0], [1, 2, 3]], "float32")
    weights = logits.get_weights()
    weights[0][0, 0] = 2
    logits.set_weights(weights)
    check_overflow(logits.predict(x, verbose=0))


def test_overflow_of_a_value_is_not_certain():
    check_overflow(total().predict(OVERFLOW, verbose=0))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_bad_value_counts_for_its_sample_alone(value, dtype):
    x = TIES.astype(dtype)
    expected = classes().predict(x, verbose=0)
    x[2, 1] = value
    outputs = classes().predict(x, verbose=0)
    assert np.isnan(outputs["uncertainty"][2])
    good = [0, 1, 3, 4, 5]
    for key in outputs:
        np.testing.assert_array_equal(outputs[key][good], expected[key][good])


def test_bad_value_of_an_image_makes_all_places_unknown():
    model, x = cases.dense()
    x = x.copy()
    x[1, 2, 3, 0] = np.nan
    uncertainty = model.predict(x, verbose=0)["uncertainty"]
    assert np.isnan(uncertainty[1]).all()
    assert np.isfinite(uncertainty[[0, 2, 3, 4, 5]]).all()


def test_overflow_at_a_place_counts_for_the_place_alone():
    base = keras.Sequential(
        [keras.Input((4, 1)), keras.layers.Conv1D(2, 1, activation=None)]
    )
    model = kz.ZigZagModel.from_model(base, task="regression")
    weights = [np.full_like(w, 2.0) for w in model.get_weights()]
    model.set_weights(weights)
    x = np.ones((2, 4, 1), "float32")
    x[1, 2] = 3e38
    bad = np.isnan(model.predict(x, verbose=0)["uncertainty"])
    np.testing.assert_array_equal(np.argwhere(bad), [[1, 2]])


def test_whole_numbers_have_no_bad_values():
    model, x = cases.bytes_in()
    assert x.dtype == "uint8"
    assert np.isfinite(model.predict(x, verbose=0)["uncertainty"]).all()


@pytest.mark.first_quick_on("tensorflow")
@pytest.mark.slow_but_on("tensorflow")
@pytest.mark.parametrize("runtime", FORMATS)
def test_hard_cases_in_artifacts(runtime, tmp_path):
    models = {
        "ties": (classes(), TIES),
        "overflow": (total(), OVERFLOW),
    }
    outputs = run(runtime, models, tmp_path)
    check_ties(outputs["ties"])
    check_overflow(outputs["overflow"])
    for key, (model, inputs) in models.items():
        expected = flat(model.predict(inputs, verbose=0))
        assert outputs[key].keys() == expected.keys()


def words_in_half_precision(policy):
    """Numbers of words and sizes, as floats that the policy would round."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        inputs = {
            name: keras.Input((1,), name=name) for name in ("word", "size")
        }
        word = keras.layers.Embedding(4_000, 8)(inputs["word"])
        size = keras.layers.Rescaling(1e-5, dtype="float32")(inputs["size"])
        x = keras.layers.Concatenate(dtype="float32")(
            [keras.layers.Flatten()(word), size]
        )
        outputs = keras.layers.Dense(3, "softmax", dtype="float32")(x)
        base = keras.Model(inputs, outputs)
        model = kz.ZigZagModel.from_model(base, task="classification")
    finally:
        keras.config.set_dtype_policy(before)
    return randomise(model)


@pytest.mark.first_quick_on("tensorflow")
@pytest.mark.slow_but_on("tensorflow")
@pytest.mark.parametrize("runtime", ["saved_model", "onnx"])
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_inputs_keep_their_precision(policy, runtime, tmp_path):
    words = np.array([[1], [257], [2049], [3001]], "float32")
    sizes = np.array([[1], [1013.25], [70_000], [1e5]], "float32")
    model, x = words_in_half_precision(policy), {"word": words, "size": sizes}
    (outputs,) = run(runtime, {"one": (model, x)}, tmp_path).values()
    for name, expected in model.predict(x, verbose=0).items():
        np.testing.assert_allclose(outputs[name], expected, atol=1e-3)


@keras.saving.register_keras_serializable("keras_zigzag_tests")
class KeepsItsScores(keras.layers.Dense):
    """A layer that holds what it computed last, as for a look at it."""

    def call(self, inputs):
        self.scores = super().call(inputs)
        return self.scores


def test_a_layer_that_keeps_a_tensor_of_its_call(tmp_path):
    """It is a symbolic one, which has no values that could be exported."""
    base = keras.Sequential(
        [
            keras.Input((3,), name="x"),
            KeepsItsScores(4),
            keras.layers.Dense(3, "softmax"),
        ]
    )
    model = kz.ZigZagModel.from_model(base, "classification")
    (outputs,) = run("saved_model", {"one": (model, TIES)}, tmp_path).values()
    expected = model.predict(TIES, verbose=0)["prediction"]
    np.testing.assert_allclose(outputs["prediction"], expected, atol=1e-5)


def test_a_file_name_of_another_format(tmp_path):
    with pytest.raises(ValueError, match="format='onnx'"):
        classes().export(tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_a_converter_that_is_not_installed(tmp_path, monkeypatch):
    def missing(self, filepath, **kwargs):
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")

    monkeypatch.setattr(keras.Model, "export", missing)
    with pytest.raises(ModuleNotFoundError, match=r"keras-zigzag\[export\]"):
        classes().export(tmp_path / "model.onnx", format="onnx")
