"""A model with a threshold says which predictions to accept."""

import numpy as np
import pytest

import keras_zigzag as kz
from tests.export import cases
from tests.helpers import (
    assert_config_round_trip,
    assert_saved_in_fresh_process,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")


@pytest.fixture(scope="module")
def images():
    return cases.images()


def test_accepts_up_to_the_threshold(images):
    model, x = images
    x = np.array(x)
    x[2, 3, 3] = np.nan
    outputs = model.predict(x, verbose=0)
    scores = outputs["uncertainty"]
    threshold = np.sort(scores)[2]
    thresholded = model.with_threshold(threshold)
    result = thresholded.predict(x, verbose=0)
    assert set(result) == {"prediction", "uncertainty", "accept"}
    for name, values in outputs.items():
        np.testing.assert_array_equal(result[name], values)
    assert result["accept"].dtype == bool
    # The one at the threshold is accepted, NaN is not.
    np.testing.assert_array_equal(result["accept"], scores <= threshold)
    assert result["accept"].sum() == 3 and not result["accept"][2]


def test_takes_a_threshold_of_validation_scores(images):
    model, x = images
    scores = model.predict(x, verbose=0)["uncertainty"]
    threshold = kz.thresholds.threshold_at_coverage(scores, 0.5, None)
    thresholded = model.with_threshold(threshold)
    assert thresholded.threshold == threshold.value
    accepted = thresholded.predict(x, verbose=0)["accept"]
    assert accepted.mean() == threshold.coverage


def test_one_for_all_outputs_or_one_each():
    model, x = cases.dict_in_dict_out()
    scores = model.predict(x, verbose=0)["uncertainty"]
    limits = {name: float(np.median(value)) for name, value in scores.items()}
    each = model.with_threshold(limits).predict(x, verbose=0)["accept"]
    for name, limit in limits.items():
        np.testing.assert_array_equal(each[name], scores[name] <= limit)
    both = model.with_threshold(limits["digit"]).predict(x, verbose=0)
    np.testing.assert_array_equal(
        both["accept"]["angle"], scores["angle"] <= limits["digit"]
    )


def test_saved_and_loaded(images):
    model, x = images
    thresholded = model.with_threshold(0.2)
    assert_config_round_trip(thresholded)
    outputs = assert_saved_in_fresh_process(thresholded, x)
    assert set(outputs) == {"prediction", "uncertainty", "accept"}


def test_the_model_goes_on_by_itself(images):
    model, x = images
    thresholded = model.with_threshold(0.2)
    before = model.predict(x, verbose=0)
    assert set(before) == {"prediction", "uncertainty"}
    labels = np.zeros(len(x))
    for call in (
        lambda: thresholded.compile("adam", "mse"),
        lambda: thresholded.fit(x, labels),
        lambda: thresholded.evaluate(x, labels),
        lambda: thresholded.train_on_batch(x, labels),
        lambda: thresholded.test_on_batch(x, labels),
        lambda: kz.evaluate_uncertainty(thresholded, (x, labels)),
    ):
        with pytest.raises(ValueError, match="is for serving.*`model`"):
            call()


@pytest.mark.parametrize("threshold", ["0.3", True, None, np.nan, {"a": "b"}])
def test_not_a_number(images, threshold):
    with pytest.raises(ValueError, match="must be a number"):
        images.model.with_threshold(threshold)


@pytest.mark.parametrize("threshold", [[0.1, 0.2], (0.1, 0.2), {"a": 0.1}])
def test_not_one_for_each_output(images, threshold):
    with pytest.raises(ValueError, match="one threshold for each output"):
        images.model.with_threshold(threshold)
