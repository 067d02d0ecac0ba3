from keras_zigzag.baselines.autoencoder_error import (
    AutoencoderError as AutoencoderError,
)
from keras_zigzag.baselines.batch_ensemble import BatchEnsemble as BatchEnsemble
from keras_zigzag.baselines.deep_ensemble import DeepEnsemble as DeepEnsemble
from keras_zigzag.baselines.evidential_model import (
    EvidentialModel as EvidentialModel,
)
from keras_zigzag.baselines.gaussian import GaussianNLL as GaussianNLL
from keras_zigzag.baselines.masksembles import Masksembles as Masksembles
from keras_zigzag.baselines.mc_dropout import MCDropout as MCDropout
from keras_zigzag.baselines.orthonormal_certificates import (
    OrthonormalCertificates as OrthonormalCertificates,
)
from keras_zigzag.baselines.single_model import SingleModel as SingleModel
from keras_zigzag.baselines.sngp import SNGP as SNGP
from keras_zigzag.baselines.temperature_scaling import (
    TemperatureScaling as TemperatureScaling,
)
from keras_zigzag.baselines.two_models import TwoModels as TwoModels
from keras_zigzag.baselines.variance_propagation import (
    VariancePropagation as VariancePropagation,
)
