import json

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag import baselines
from keras_zigzag.number_checks import (
    checked_count,
    checked_number,
    checked_seed,
)
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

# Methods, and the numbers that they take.
CASES = {
    "zigzag": (kz.ZigZagModel, {"num_passes": 3, "seed": 1}),
    "mc_dropout": (
        baselines.MCDropout,
        {"num_samples": 3, "layers": 1, "rate": 0.2, "seed": 1},
    ),
    "batch_ensemble": (
        baselines.BatchEnsemble,
        {"num_members": 3, "layers": 1, "deviation": 0.5, "seed": 1},
    ),
    "masksembles": (
        baselines.Masksembles,
        {"num_masks": 3, "scale": 1.5, "layers": 1, "seed": 1},
    ),
    "deep_ensemble": (
        baselines.DeepEnsemble,
        {"num_members": 2, "adversarial": 0.25, "seed": 1},
    ),
    "variance_propagation": (
        baselines.VariancePropagation,
        {"layers": 1, "rate": 0.25},
    ),
    "autoencoder_error": (baselines.AutoencoderError, {"code_size": 2}),
    "certificates": (
        baselines.OrthonormalCertificates,
        {"num_certificates": 2, "penalty": 0.5, "num_steps": 7, "seed": 1},
    ),
    "evidential": (
        baselines.EvidentialModel,
        {"annealing_epochs": 3, "coefficient": 0.5},
    ),
    "two_models": (baselines.TwoModels, {"seed": 1}),
    "sngp": (
        baselines.SNGP,
        {
            "norm_bound": 0.5,
            "num_features": 8,
            "length_scale": 1.5,
            "amplitude": 0.5,
            "ridge_penalty": 0.5,
            "momentum": 0.5,
            "mean_field_factor": 0.5,
            "seed": 1,
        },
    ),
}
every = pytest.mark.parametrize(
    ("method", "options"), CASES.values(), ids=CASES.keys()
)
each_number = pytest.mark.parametrize(
    ("method", "name"),
    [
        pytest.param(method, name, id=f"{case}-{name}")
        for case, (method, options) in CASES.items()
        for name in options
    ],
)


def of_numpy(value):
    return np.int64(value) if isinstance(value, int) else np.float32(value)


def made(method, **options):
    return method.from_model(toys.mlp(1, None), task="regression", **options)


def numbers_in(config):
    leaves = keras.tree.flatten(config)
    return [one for one in leaves if isinstance(one, (int, float))]


@every
def test_numbers_of_numpy_are_as_those_of_python(method, options):
    expected = made(method, **options).get_config()
    numbers = {name: of_numpy(value) for name, value in options.items()}
    found = made(method, **numbers).get_config()
    json.dumps(found)
    np.testing.assert_allclose(
        numbers_in(found), numbers_in(expected), rtol=1e-6
    )


@each_number
@pytest.mark.parametrize("value", [True, "a", np.nan, -3])
def test_others_are_refused(method, name, value):
    with pytest.raises(ValueError, match=rf"`{name}`.*Received: {name}="):
        made(method, **{name: value})


def test_counts():
    assert type(checked_count("layers", np.uint8(3))) is int
    assert checked_count("epochs", 0, least=0) == 0
    for value, least, expected in [
        (0, 1, "a positive integer"),
        (2.0, 1, "a positive integer"),
        (-1, 0, "an integer that is not negative"),
        (np.bool_(True), 1, "a positive integer"),
        (1, 2, "an integer of 2 or more"),
    ]:
        with pytest.raises(ValueError, match=f"`layers` must be {expected}"):
            checked_count("layers", value, least)


def test_numbers():
    found = checked_number("rate", np.float32(0.5), lambda one: one > 0, "")
    assert type(found) is float and found == 0.5
    assert checked_number("rate", np.int8(1), lambda one: one > 0, "") == 1.0
    for value in (0.0, np.inf, None, "0.5", [0.5], np.array([0.5])):
        with pytest.raises(ValueError, match="`rate` must be high. Received"):
            checked_number("rate", value, lambda one: one > 0, "be high")


def test_seeds():
    assert checked_seed(None) is None
    assert type(checked_seed(np.int64(2**32 - 1))) is int
    for seed in ("a", -1, 2**32, 1.0, True):
        with pytest.raises(ValueError, match=r"2\*\*32.*Received: seed="):
            checked_seed(seed)


def test_the_largest_seed_serves_all_members():
    ensemble = made(baselines.DeepEnsemble, num_members=2, seed=2**32 - 1)
    assert ensemble.seed == 2**32 - 1
