"""A benchmark case that takes no time."""

import keras
from keras import layers

from keras_zigzag.benchmark import cost_cases


def build_tiny():
    hidden = layers.Dense(8, activation="relu")
    head = layers.Dense(cost_cases.NUM_CLASSES, activation="softmax")
    return keras.Sequential([keras.Input((6,)), hidden, head])


TINY = cost_cases.Case("tiny", build_tiny, (6,), batch_size=4, num_steps=2)
