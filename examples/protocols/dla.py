"""Two classifiers of small colour images: a DLA, and a small ResNet.

Reference: [Yu et al., 2018](https://arxiv.org/abs/1707.06484), Deep Layer
Aggregation. Here a tree has a root of two branches at each of its levels, and
none that skips levels, which is the simple variant for images of 32x32.
"""

import keras
from keras import layers

STEM = (16, 16, 32)  # filters of the first convolutions
TREES = ((64, 1, 1), (128, 2, 2), (256, 2, 2), (512, 1, 2))
STAGES = (16, 32, 64)  # filters of the small ResNet
SIZE, PADDING = 32, 4  # pixels
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


def build_dla(num_classes, mean, std):
    """The simple DLA. A tree has filters, a depth and strides."""
    inputs, x = augmented(mean, std)
    for filters in STEM:
        x = activated(convolved(x, filters))
    for filters, depth, strides in TREES:
        x = tree(x, filters, depth, strides)
    return classifier(inputs, x, num_classes)


def build_small_resnet(num_classes, mean, std):
    """A ResNet of eight layers, on feature maps of half the size."""
    inputs, x = augmented(mean, std)
    x = activated(convolved(x, STAGES[0], strides=2))
    for index, filters in enumerate(STAGES):
        x = block(x, filters, strides=2 if index else 1)
    return classifier(inputs, x, num_classes)


def augmented(mean, std):
    """Pixels from 0 to 255, cropped and flipped in training, normalised."""
    inputs = keras.Input((SIZE, SIZE, 3))
    shift = PADDING / SIZE
    x = RandomShift(shift, shift, "constant", "nearest")(inputs)
    x = layers.RandomFlip("horizontal")(x)
    scale = [1 / (255 * one) for one in std]
    offset = [-m / s for m, s in zip(mean, std, strict=True)]
    return inputs, layers.Rescaling(scale, offset)(x)


def tree(x, filters, depth, strides):
    """Two branches, one after the other, and a root that joins them."""
    if depth == 1:
        left = block(x, filters, strides)
        right = block(left, filters)
    else:
        left = tree(x, filters, depth - 1, strides)
        right = tree(left, filters, depth - 1, 1)
    both = layers.Concatenate()([left, right])
    return activated(convolved(both, filters, size=1))


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


def classifier(inputs, x, num_classes):
    x = layers.GlobalAveragePooling2D()(x)
    outputs = layers.Dense(num_classes, activation="softmax")(x)
    return keras.Model(inputs, outputs)
