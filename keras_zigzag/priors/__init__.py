from keras_zigzag.priors.binary_prior import BinaryPrior as BinaryPrior
from keras_zigzag.priors.index_prior import IndexPrior as IndexPrior
from keras_zigzag.priors.joint_prior import JointPrior as JointPrior
from keras_zigzag.priors.one_hot_prior import OneHotPrior as OneHotPrior
from keras_zigzag.priors.prior import Prior as Prior
from keras_zigzag.priors.resolve import get as get
from keras_zigzag.priors.resolve import resolve as resolve
from keras_zigzag.priors.value_prior import ValuePrior as ValuePrior
