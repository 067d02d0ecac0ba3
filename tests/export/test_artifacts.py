"""Exported artifacts answer as `predict` does, without this package."""

import keras
import pytest

from keras_zigzag.distances import DISTANCES
from tests.export import cases
from tests.export.artifacts import Case, check_artifacts

FORMATS = ("saved_model", "onnx", "litert", "openvino", "torch")
# On the other backends `test_hard_cases` exports for them too.
ON_TENSORFLOW = pytest.mark.slow_but_on("tensorflow")
QUICK = ("images", "augmented", "tabular", "dict_in_dict_out", "thresholded")
OTHERS = (
    "bytes_in",
    "soft_logits",
    "index",
    "late",
    "binary",
    "list_in_list_out",
    "dense",
    "dense_of_any_size",
    "sequence",
    "thresholded_outputs",
)


@pytest.fixture(scope="module")
def quick_cases():
    return {name: getattr(cases, name)() for name in QUICK}


@pytest.mark.parametrize(
    "runtime",
    [
        pytest.param("saved_model", marks=ON_TENSORFLOW),
        "onnx",
        pytest.param("litert", marks=pytest.mark.slow),
        pytest.param("openvino", marks=pytest.mark.slow),
        pytest.param("torch", marks=pytest.mark.slow),
    ],
)
def test_artifact_answers_as_predict(runtime, quick_cases, tmp_path):
    check_artifacts(runtime, quick_cases, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["tfsm_layer", "litert_by_index"])
def test_artifact_runs_in_other_ways(runtime, quick_cases, tmp_path):
    check_artifacts(runtime, quick_cases, tmp_path)


@pytest.fixture(scope="module")
def other_cases():
    names = set(OTHERS)
    if keras.backend.backend() == "torch":
        # Keras traces open sizes as 1, which max-pooling cannot halve.
        names.remove("dense_of_any_size")
    return {name: getattr(cases, name)() for name in sorted(names)}


@pytest.mark.slow
@pytest.mark.parametrize("runtime", FORMATS)
def test_artifact_of_other_models(runtime, other_cases, tmp_path):
    check_artifacts(runtime, other_cases, tmp_path)


@pytest.fixture(scope="module")
def case_of_each_distance():
    return {name: cases.images(distance=name) for name in DISTANCES}


@pytest.mark.slow
@pytest.mark.parametrize("runtime", FORMATS)
def test_artifact_with_each_distance(runtime, case_of_each_distance, tmp_path):
    check_artifacts(runtime, case_of_each_distance, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", FORMATS)
def test_artifact_of_a_loaded_model(runtime, quick_cases, tmp_path):
    model, inputs = quick_cases["tabular"]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    check_artifacts(runtime, {"loaded": Case(loaded, inputs)}, tmp_path)
