import importlib
from types import ModuleType

from keras_zigzag import baselines as baselines
from keras_zigzag import callbacks as callbacks
from keras_zigzag import distances as distances
from keras_zigzag import metrics as metrics
from keras_zigzag import priors as priors
from keras_zigzag import thresholds as thresholds
from keras_zigzag.evaluation import UncertaintyReport as UncertaintyReport
from keras_zigzag.evaluation import compare as compare
from keras_zigzag.evaluation import evaluate_scores as evaluate_scores
from keras_zigzag.evaluation import evaluate_uncertainty as evaluate_uncertainty
from keras_zigzag.thresholded_model import ThresholdedModel as ThresholdedModel
from keras_zigzag.uncertainty_model import UncertaintyModel as UncertaintyModel
from keras_zigzag.widening import widen_model as widen_model
from keras_zigzag.zigzag import ZigZagModel as ZigZagModel


def __getattr__(name: str) -> ModuleType:
    # Drawing is not needed to train or to serve, and takes time to import.
    if name == "plots":
        return importlib.import_module("keras_zigzag.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
