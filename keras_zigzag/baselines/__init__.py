from keras_zigzag.baselines.deep_ensemble import DeepEnsemble as DeepEnsemble
from keras_zigzag.baselines.gaussian import GaussianNLL as GaussianNLL
from keras_zigzag.baselines.mc_dropout import MCDropout as MCDropout
from keras_zigzag.baselines.single_model import SingleModel as SingleModel
from keras_zigzag.baselines.sngp import SNGP as SNGP
