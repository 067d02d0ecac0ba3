"""One report from the scores of ID and OOD samples, wherever they are from."""

from keras_zigzag.evaluation.comparison import Comparison as Comparison
from keras_zigzag.evaluation.comparison import compare as compare
from keras_zigzag.evaluation.model_scores import (
    evaluate_uncertainty as evaluate_uncertainty,
)
from keras_zigzag.evaluation.report import (
    UncertaintyReport as UncertaintyReport,
)
from keras_zigzag.evaluation.scores import evaluate_scores as evaluate_scores
