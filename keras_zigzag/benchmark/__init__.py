"""Measurements of what the package costs and of how well it works."""

from keras_zigzag.benchmark.protocol import Data as Data
from keras_zigzag.benchmark.protocol import Protocol as Protocol
from keras_zigzag.benchmark.protocol import Training as Training
from keras_zigzag.benchmark.protocol import Variant as Variant
from keras_zigzag.benchmark.protocol import noise_before as noise_before
from keras_zigzag.benchmark.report import report as report
from keras_zigzag.benchmark.runner import run as run
