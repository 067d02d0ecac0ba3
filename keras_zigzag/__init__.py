from keras_zigzag import distances as distances
from keras_zigzag import metrics as metrics
from keras_zigzag import priors as priors
from keras_zigzag.uncertainty_model import UncertaintyModel as UncertaintyModel
from keras_zigzag.widening import widen_model as widen_model
from keras_zigzag.zigzag import ZigZagModel as ZigZagModel
