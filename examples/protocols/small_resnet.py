"""Residual networks of few layers, and what the larger ones are made of."""

import keras
from keras import layers

STAGES = (16, 32, 64)  # filters
MOMENTUM = 0.9  # of the averages of batch normalisation


@keras.saving.register_keras_serializable(package="keras_zigzag_examples")
class RandomShift(layers.RandomTranslation):
    """The random crop of a padded image: a shift of its own for each image.

    `keras.layers.RandomCrop` crops all images of a batch alike, and none at
    inference. Keras takes a translation for something that XLA cannot
    compile, which is so on TensorFlow only.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.supports_jit = keras.backend.backend() != "tensorflow"


def augmented(image_size, padding, mean, std):
    """Pixels from 0 to 255, shifted and flipped in training, normalised.

    Returns:
        The inputs of a network, and what goes on from them.
    """
    inputs = keras.Input((image_size, image_size, 3))
    shift = padding / image_size
    x = RandomShift(shift, shift, "constant", "nearest")(inputs)
    x = layers.RandomFlip("horizontal")(x)
    scale = [1 / (255 * one) for one in std]
    offset = [-m / s for m, s in zip(mean, std, strict=True)]
    return inputs, layers.Rescaling(scale, offset)(x)


def small_resnet(x):
    """The features of a ResNet of eight layers, halved in size at once."""
    x = activated(convolved(x, STAGES[0], strides=2))
    for index, filters in enumerate(STAGES):
        x = block(x, filters, strides=2 if index else 1)
    return layers.GlobalAveragePooling2D()(x)


def block(x, filters, strides=1):
    """Two convolutions beside a shortcut."""
    shortcut = x
    if strides > 1 or x.shape[-1] != filters:
        shortcut = convolved(x, filters, size=1, strides=strides)
    x = activated(convolved(x, filters, strides=strides))
    return activated(layers.Add()([convolved(x, filters), shortcut]))


def convolved(x, filters, size=3, strides=1):
    convolution = layers.Conv2D(
        filters,
        size,
        strides,
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
    )
    return layers.BatchNormalization(momentum=MOMENTUM)(convolution(x))


def activated(x):
    return layers.ReLU()(x)
