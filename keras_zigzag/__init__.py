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


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"keras_zigzag.{name}")
    if name in _OF_EVALUATION:
        return getattr(importlib.import_module("keras_zigzag.evaluation"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_OF_EVALUATION})
