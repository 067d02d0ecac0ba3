"""Exported artifacts of all methods answer as `predict` does."""

import keras
import pytest

from keras_zigzag import baselines
from tests.baselines import toys
from tests.baselines.methods import METHODS, base_and_data
from tests.export.artifacts import Case, check_artifacts

pytestmark = pytest.mark.filterwarnings("ignore:The certificates are random")
ON_TENSORFLOW = pytest.mark.slow_but_on("tensorflow")


def single_energy():
    model = baselines.SingleModel.from_model(
        toys.cnn(), task="classification", score="energy"
    )
    toys.randomise(model)
    # An energy may be negative.
    model.network.trainable_weights[-1].assign([-9.0, -9.0, -9.0])
    return model


def evidential_information():
    model = baselines.EvidentialModel.from_model(
        toys.cnn(), task="classification", score="mutual_information"
    )
    return toys.randomise(model)


def first_cases():
    """One small network for each method."""
    made = {}
    for name, method in METHODS.items():
        if method.exports:
            base, x, _ = base_and_data(method.tasks[0])
            model = toys.randomise(method.make(base, method.tasks[0]))
            made[name] = Case(model, x[:6])
    return made


def all_cases():
    """Networks of images with all that they may hold, for each task."""
    made = {
        "single_energy": Case(single_energy(), toys.images(6)),
        "evidential_information": Case(
            evidential_information(), toys.images(6)
        ),
    }
    for name, method in METHODS.items():
        for task in method.tasks if method.exports else ():
            is_value = task == "regression"
            base = toys.cnn(
                1 if is_value else 3, None if is_value else "softmax"
            )
            model = toys.randomise(method.make(base, task))
            made[f"{name}_{task}"] = Case(model, toys.images(6))
    return made


@pytest.mark.parametrize(
    "runtime",
    [
        pytest.param("saved_model", marks=ON_TENSORFLOW),
        pytest.param("onnx", marks=pytest.mark.slow),
    ],
)
def test_artifacts(runtime, tmp_path):
    check_artifacts(runtime, first_cases(), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "runtime", ["saved_model", "onnx", "litert", "openvino", "torch"]
)
def test_artifacts_of_all_kinds(runtime, tmp_path):
    # OpenVINO has no rule for the subtraction in PyTorch's normalisation.
    is_limited = runtime == "openvino" and keras.backend.backend() == "torch"
    cases = first_cases() if is_limited else all_cases()
    check_artifacts(runtime, cases, tmp_path)
