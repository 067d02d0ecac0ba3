"""How far each prediction of a Keras model can be trusted.

>>> import keras_zigzag as kz
>>> model = kz.ZigZagModel.from_model(base, task="classification")
>>> model.compile("adam", "sparse_categorical_crossentropy")
>>> history = model.fit(x_train, y_train, verbose=0)
>>> sorted(model.predict(x_test, verbose=0))
['prediction', 'uncertainty']

`baselines` are other methods with the same contract, listed by `methods`;
`evaluate_uncertainty` and `compare` say which of them to trust, by `metrics`
that are there alone too; `callbacks`, `plots` and `thresholds` are for
training, pictures and serving; `priors` and `distances` are what ZigZag is
made of, `widen_model` its first step alone.
"""

import importlib
from typing import TYPE_CHECKING, Any

from keras_zigzag import aggregates as aggregates
from keras_zigzag import baselines as baselines
from keras_zigzag import distances as distances
from keras_zigzag import priors as priors
from keras_zigzag.mask_places import MaskPlaces as MaskPlaces
from keras_zigzag.method_list import methods as methods
from keras_zigzag.thresholded_model import ThresholdedModel as ThresholdedModel
from keras_zigzag.uncertainty_model import UncertaintyModel as UncertaintyModel
from keras_zigzag.version import __version__ as __version__
from keras_zigzag.widening import widen_model as widen_model
from keras_zigzag.zigzag import ZigZagModel as ZigZagModel

if TYPE_CHECKING:
    from keras_zigzag import callbacks as callbacks
    from keras_zigzag import metrics as metrics
    from keras_zigzag import plots as plots
    from keras_zigzag import thresholds as thresholds
    from keras_zigzag.evaluation import UncertaintyReport as UncertaintyReport
    from keras_zigzag.evaluation import compare as compare
    from keras_zigzag.evaluation import evaluate_scores as evaluate_scores
    from keras_zigzag.evaluation import (
        evaluate_uncertainty as evaluate_uncertainty,
    )

# Not needed to train, to load or to serve, and they take time to import.
_MODULES = ("callbacks", "metrics", "plots", "thresholds")
_OF_EVALUATION = (
    "UncertaintyReport",
    "compare",
    "evaluate_scores",
    "evaluate_uncertainty",
)

__all__ = [
    "MaskPlaces",
    "ThresholdedModel",
    "UncertaintyModel",
    "ZigZagModel",
    "aggregates",
    "baselines",
    "distances",
    "methods",
    "priors",
    "widen_model",
    *_MODULES,
    *_OF_EVALUATION,
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"keras_zigzag.{name}")
    if name in _OF_EVALUATION:
        return getattr(importlib.import_module("keras_zigzag.evaluation"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    special = {name for name in globals() if name.startswith("__")}
    return sorted(special | set(__all__))
