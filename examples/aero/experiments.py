"""What the experiments on shapes have in common."""

from functools import partial

import keras

from keras_zigzag.benchmark import Protocol, Training, noise_before

LEARNING_RATE = 1e-3
OPTIONS = noise_before(layers=2)


def experiment(quick, size, epochs, batch_size, settings, **protocol):
    """A regression on graphs, trained as in the paper's appendix.

    Args:
        quick: Boolean, for the record.
        size: `Size` of the network, for the record.
        epochs: Integer.
        batch_size: Integer.
        settings: Dictionary of what else defines the experiment.
        **protocol: Further arguments of `Protocol`, over the defaults.
    """
    return Protocol(
        **{"options": OPTIONS, **protocol},
        task="regression",
        training=Training(
            epochs=epochs,
            batch_size=batch_size,
            optimizer=partial(keras.optimizers.Adam, LEARNING_RATE),
            loss="mse",
        ),
        settings={"quick": quick, "size": str(size), **settings},
    )
