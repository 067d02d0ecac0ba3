"""Exported artifacts of all methods answer as `predict` does."""

import pytest

from keras_zigzag import baselines
from tests.baselines import toys
from tests.export.artifacts import Case, check_artifacts
from tests.helpers import assert_saved_in_fresh_process

pytestmark = pytest.mark.first_quick_on("tensorflow", "jax", "torch")


def single_energy():
    model = baselines.SingleModel.from_model(
        toys.cnn(), task="classification", score="energy"
    )
    toys.randomise(model)
    # An energy may be negative.
    model.network.trainable_weights[-1].assign([-9.0, -9.0, -9.0])
    return model


def single_regression():
    return toys.randomise(
        baselines.SingleModel.from_model(toys.cnn(2, None), task="regression")
    )


def ensemble():
    return toys.randomise(
        baselines.DeepEnsemble.from_model(toys.cnn(), "classification", 2)
    )


def ensemble_regression():
    return toys.randomise(
        baselines.DeepEnsemble.from_model(toys.cnn(1, None), "regression", 2)
    )


def mc_dropout():
    return toys.randomise(
        baselines.MCDropout.from_model(toys.cnn(), "classification", layers=1)
    )


QUICK = (
    single_energy,
    single_regression,
    ensemble,
    ensemble_regression,
    mc_dropout,
)


@pytest.mark.parametrize("runtime", ["saved_model", "onnx"])
def test_artifacts(runtime, tmp_path):
    cases = {make.__name__: Case(make(), toys.images(6)) for make in QUICK}
    check_artifacts(runtime, cases, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["litert", "openvino", "torch"])
def test_artifacts_of_other_formats(runtime, tmp_path):
    test_artifacts(runtime, tmp_path)


def test_single_model_in_a_fresh_process():
    assert_saved_in_fresh_process(single_regression(), toys.images())
