from keras_zigzag import distances as distances
from keras_zigzag import metrics as metrics
from keras_zigzag import priors as priors
from keras_zigzag import thresholds as thresholds
from keras_zigzag.thresholded_model import ThresholdedModel as ThresholdedModel
from keras_zigzag.uncertainty_model import UncertaintyModel as UncertaintyModel
from keras_zigzag.widening import widen_model as widen_model
from keras_zigzag.zigzag import ZigZagModel as ZigZagModel
