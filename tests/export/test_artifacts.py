"""Exported artifacts answer as `predict` does, without this package."""

import pytest

from keras_zigzag.distances import DISTANCES
from tests.export import cases
from tests.export.artifacts import RUNTIMES, check_artifacts

QUICK = ("images", "tabular", "dict_in_dict_out")
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
)


@pytest.fixture(scope="module")
def quick_cases():
    return {name: getattr(cases, name)() for name in QUICK}


@pytest.mark.parametrize(
    "runtime", ["saved_model", "onnx", "litert", "openvino", "torch"]
)
def test_artifact_answers_as_predict(runtime, quick_cases, tmp_path):
    check_artifacts(runtime, quick_cases, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", OTHERS)
def test_artifact_of_other_models(runtime, name, tmp_path):
    check_artifacts(runtime, {name: getattr(cases, name)()}, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["tfsm_layer", "litert_by_index"])
def test_artifact_in_other_ways(runtime, quick_cases, tmp_path):
    check_artifacts(runtime, quick_cases, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["saved_model", "onnx", "openvino"])
def test_artifact_with_each_distance(runtime, tmp_path):
    models = {name: cases.images(distance=name) for name in DISTANCES}
    check_artifacts(runtime, models, tmp_path)
