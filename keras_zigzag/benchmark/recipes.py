"""How each method is made, compiled and finished in an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

import keras_zigzag as kz
from keras_zigzag.benchmark.protocol import Data, Protocol, Variant
from keras_zigzag.evaluation.data import Batches

# The base model is trained as it is; the method comes after.
AFTER_TRAINING = ("OrthonormalCertificates", "TemperatureScaling")


@dataclass(frozen=True)
class Recipe:
    """One method of an experiment.

    Args:
        protocol: `Protocol`.
        variant: `Variant` of it.
    """

    protocol: Protocol
    variant: Variant

    @property
    def comes_after(self) -> bool:
        """Whether the base model is trained, and the method made of it."""
        return self.variant.method in AFTER_TRAINING

    def trainee(self, data: Data) -> keras.Model:
        """A new compiled model to be trained."""
        model = self.protocol.build()
        if not self.comes_after:
            model = self._of(model)
        if self.protocol.task == "regression" and hasattr(model, "adapt"):
            model.adapt(targets_of(data.train))
        training = self.protocol.training
        has_own_loss = getattr(model, "has_own_loss", False)
        model.compile(
            training.optimizer(),
            None if has_own_loss else training.loss,
            jit_compile=training.jit_compile,
        )
        return model

    def unfinished(self, trainee: keras.Model) -> kz.UncertaintyModel:
        """The method as soon as its networks are trained."""
        return self._of(trainee) if self.comes_after else trainee

    def finished(self, trainee: keras.Model, data: Data) -> kz.UncertaintyModel:
        """The method with all that it does after the training."""
        model: Any = self.unfinished(trainee)
        batch_size = self.protocol.training.batch_size
        if self.variant.method == "OrthonormalCertificates":
            x = data.train[0] if isinstance(data.train, tuple) else data.train
            model.fit_certificates(x, batch_size=batch_size)
        elif self.variant.method == "TemperatureScaling":
            x = data.validation
            pair = x if isinstance(x, tuple) else (x,)
            model.calibrate(*pair, batch_size=batch_size)
        return model

    def _of(self, base: keras.Model) -> kz.UncertaintyModel:
        method = kz.methods()[self.variant.method].model
        arguments = {"task": self.protocol.task, **self.variant.arguments}
        return method.from_model(base, **arguments)


def check_built_anew(protocol: Protocol) -> None:
    """Raises a `ValueError` if base models share what is trained.

    The second method would go on from where the first one ended.
    """
    try:
        models = protocol.build(), protocol.build()
    except Exception:
        return  # Each run will note it as its failure.
    first, second = (
        {id(variable) for variable in model.trainable_variables}
        for model in models
    )
    if models[0] is models[1] or first & second:
        raise ValueError(
            "`build` must return a new base model each time, since some "
            "methods train it: make the layers inside the function. "
            f"Received: a protocol {protocol.name!r} whose base models share "
            "trainable weights"
        )


def targets_of(data: Any) -> np.ndarray:
    """All targets of `(x, y)` or of a data set."""
    if isinstance(data, tuple):
        return np.asarray(data[1])
    batches = Batches(data, "`train`")
    return np.concatenate([np.asarray(y) for _, y, _ in batches])
