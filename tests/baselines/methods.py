"""One model of each method, for the tests that all of them have to pass."""

from collections.abc import Callable
from typing import NamedTuple

import keras
import pytest

import keras_zigzag as kz
from keras_zigzag import baselines
from tests.baselines import toys

BOTH = ("classification", "regression")


class Method(NamedTuple):
    """How a method is made and trained.

    Attributes:
        make: Function of a base model and a task that makes the model.
        tasks: Tasks for which it is defined.
        losses: Dict from tasks to a loss, where it is not the usual one.
        exports: Boolean. Whether artifacts hold the whole of it.
    """

    make: Callable
    tasks: tuple = BOTH
    losses: dict = {}
    exports: bool = True


METHODS = {
    "zigzag": Method(lambda base, task: kz.ZigZagModel.from_model(base, task)),
    "zigzag_five_heads": Method(
        lambda base, task: kz.ZigZagModel.from_model(base, task, num_heads=5)
    ),
    "single_model": Method(
        lambda base, task: baselines.SingleModel.from_model(base, task),
        losses={"regression": None},
    ),
    "deep_ensemble": Method(
        lambda base, task: baselines.DeepEnsemble.from_model(
            base, task, num_members=2
        ),
        losses={"regression": None},
    ),
    "mc_dropout": Method(
        lambda base, task: baselines.MCDropout.from_model(
            base, task, layers=1, num_samples=3, seed=0
        )
    ),
    "temperature_scaling": Method(
        lambda base, task: baselines.TemperatureScaling.from_model(base, task),
        tasks=("classification",),
    ),
    "autoencoder_error": Method(
        lambda base, task: baselines.AutoencoderError.from_model(base, task)
    ),
    "orthonormal_certificates": Method(
        lambda base, task: baselines.OrthonormalCertificates.from_model(
            base, task, num_steps=5
        )
    ),
    "evidential": Method(
        lambda base, task: baselines.EvidentialModel.from_model(base, task),
        losses={"classification": None, "regression": None},
    ),
    "two_models": Method(
        lambda base, task: baselines.TwoModels.from_model(base, task),
        tasks=("regression",),
    ),
    "sngp": Method(
        lambda base, task: baselines.SNGP.from_model(
            base, task, num_features=16
        )
    ),
    "batch_ensemble": Method(
        lambda base, task: baselines.BatchEnsemble.from_model(
            base, task, num_members=2
        )
    ),
    "masksembles": Method(
        lambda base, task: baselines.Masksembles.from_model(
            base, task, num_masks=3, layers=1, seed=0
        )
    ),
    "variance_propagation": Method(
        lambda base, task: baselines.VariancePropagation.from_model(base, task)
    ),
}
USUAL = {
    "classification": ("sparse_categorical_crossentropy", "accuracy"),
    "regression": ("mse", "mse"),
}


def every(*tasks, quick_on=("tensorflow",)):
    """Parameters `name, task` of all methods.

    A method that has none of the tasks gets the one that it has. Where a
    method has several tasks, the ones after the first are slow but on some
    backends.
    """
    parameters = []
    for name, method in METHODS.items():
        wanted = [task for task in method.tasks if task in (tasks or BOTH)]
        wanted = wanted or list(method.tasks[:1])
        for index, task in enumerate(wanted):
            marks = [pytest.mark.slow_but_on(*quick_on)] if index else []
            parameters.append(
                pytest.param(name, task, marks=marks, id=f"{name}-{task}")
            )
    return pytest.mark.parametrize(("name", "task"), parameters)


def base_and_data(task):
    """A small network and data for it."""
    if task == "classification":
        return toys.mlp(), toys.features(), toys.labels()
    return toys.mlp(1, None), toys.features(), toys.values()


def made(name, task, base=None, eager=False):
    """The model of a method, compiled.

    Args:
        name: String.
        task: String.
        base: Base model. Defaults to that of `base_and_data`.
        eager: Boolean. Whether TensorFlow, which takes seconds for a graph,
            does without.
    """
    method = METHODS[name]
    model = method.make(base or base_and_data(task)[0], task)
    if hasattr(model, "adapt") and task == "regression":
        model.adapt(toys.values())
    loss, metric = USUAL[task]
    model.compile(
        keras.optimizers.Adam(0.01),
        method.losses.get(task, loss),
        metrics=[metric],
        run_eagerly=eager and keras.backend.backend() == "tensorflow",
    )
    return model
