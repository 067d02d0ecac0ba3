"""The small network of digits: two convolutions, three dense layers."""

import keras

SLOPE = 0.01  # of LeakyReLU below zero


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
