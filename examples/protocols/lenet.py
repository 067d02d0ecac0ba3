"""The small network of digits, its settings, and what makes experiments."""

from functools import partial

import keras

from keras_zigzag.benchmark import Protocol, Training, noise_before

SLOPE = 0.01  # of LeakyReLU below zero
NUM_VALIDATION = 5_000
# The appendix does not say how large a batch is. At a rate of 1e-2 some
# methods do not learn from small ones; from these all of them do.
APPENDIX = {"epochs": 3, "batch_size": 1024, "learning_rate": 1e-2}
NOTEBOOK = {"epochs": 5, "batch_size": 64, "learning_rate": 1e-3}
QUICK_EPOCHS = 2
OPTIONS = noise_before(layers=2)


def build_lenet(num_classes, mean, std):
    """A classifier of grey images with pixels from 0 to 255.

    Args:
        num_classes: Integer.
        mean: Float. Mean of the pixels that it knows, on a scale of 0 to 1.
        std: Float. Their standard deviation. Whatever is shown to the network
            is normalised with these two.
    """
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            keras.layers.Rescaling(1 / (255 * std), offset=-mean / std),
            keras.layers.Conv2D(10, 5),
            keras.layers.MaxPooling2D(),
            keras.layers.LeakyReLU(SLOPE),
            keras.layers.Conv2D(20, 5),
            keras.layers.MaxPooling2D(),
            keras.layers.LeakyReLU(SLOPE),
            keras.layers.Flatten(),
            keras.layers.Dense(50),
            keras.layers.LeakyReLU(SLOPE),
            keras.layers.Dense(50),
            keras.layers.LeakyReLU(SLOPE),
            keras.layers.Dense(num_classes, activation="softmax"),
        ]
    )


def make(name, title, setting, quick, load, num_classes, mean, std, **kwargs):
    """The protocol of digits in one setting, also of some of the digits."""
    return Protocol(
        name=name,
        title=title,
        task="classification",
        load=partial(load, quick=quick),
        build=partial(build_lenet, num_classes, mean, std),
        training=Training(
            epochs=QUICK_EPOCHS if quick else setting["epochs"],
            batch_size=setting["batch_size"],
            optimizer=partial(keras.optimizers.Adam, setting["learning_rate"]),
            loss="sparse_categorical_crossentropy",
        ),
        options=OPTIONS,
        settings={
            "quick": quick,
            "num_validation": NUM_VALIDATION,
            "mean": mean,
            "std": std,
        },
        **kwargs,
    )
