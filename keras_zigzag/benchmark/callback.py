"""What `UncertaintyEvaluation` costs, beside the predictions it needs."""

import statistics
import time
from collections.abc import Callable

import keras
import numpy as np

from keras_zigzag.callbacks import UncertaintyEvaluation
from keras_zigzag.zigzag import ZigZagModel

SHAPE, NUM_CLASSES, BATCH_SIZE = (28, 28, 1), 10, 32
TARGET = 1.05
Array = np.ndarray


def table(num_samples: int, repeats: int) -> str:
    """A Markdown table of CPU time, ID set and one OOD set of this size.

    Args:
        num_samples: Integer. Samples in each of the two sets.
        repeats: Integer. Runs, one after the other; the median counts.
    """
    model = _model()
    x, ood = _images(num_samples, seed=0), _images(num_samples, seed=1)
    labels = np.arange(num_samples) % NUM_CLASSES
    callback = UncertaintyEvaluation((x, labels), ood, batch_size=BATCH_SIZE)
    callback.set_model(model)
    runs: dict[str, Callable[[], object]] = {
        "`predict` of both sets": lambda: [
            model.predict(data, batch_size=BATCH_SIZE, verbose=0)
            for data in (x, ood)
        ],
        "`predict_on_batch` of both sets": lambda: [
            model.predict_on_batch(data[start : start + BATCH_SIZE])
            for data in (x, ood)
            for start in range(0, num_samples, BATCH_SIZE)
        ],
        "`UncertaintyEvaluation`": lambda: callback.on_epoch_end(0, {}),
    }
    seconds = _seconds_in_turn(runs, repeats)
    first = next(iter(seconds.values()))
    rows = [
        f"| {name} | {spent:.2f} | {spent / first:.2f} |"
        for name, spent in seconds.items()
    ]
    return "\n".join(
        [
            f"Callback on 2 × {num_samples:,} images of 28×28, median of "
            f"{repeats}; target: {TARGET:g} times the predictions.\n",
            "| evaluation | CPU seconds | ratio |\n|---|---:|---:|",
            *rows,
        ]
    )


def _seconds_in_turn(
    runs: dict[str, Callable[[], object]], repeats: int
) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    # The first round compiles, and checks the sets, which happens once.
    for turn in range(repeats + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            if turn:
                seconds[name].append(time.process_time() - start)
    return {name: statistics.median(spent) for name, spent in seconds.items()}


def _model() -> ZigZagModel:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    base = keras.Sequential(
        [
            keras.Input(SHAPE),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(NUM_CLASSES, activation="softmax"),
        ]
    )
    model = ZigZagModel.from_model(base, task="classification")
    rng = np.random.default_rng(0)
    # A network that has not learnt to read its prior has constant scores.
    for weight in model.network.trainable_weights:
        weight.assign(rng.normal(0.0, 0.1, weight.shape))
    return model


def _images(num_samples: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(num_samples, *SHAPE)).astype("float32")
