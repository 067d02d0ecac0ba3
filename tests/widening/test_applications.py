"""The networks of `keras.applications`, with random weights.

All but one are marked slow, and that one is on TensorFlow only.
"""

import keras
import pytest
from keras import ops

from tests.widening.checker import check_widening
from tests.widening.data import integers, pixels
from tests.widening.test_branches import entries

apps = keras.applications
layers = keras.layers

SIZES = {
    "ConvNeXtTiny": 64,
    "DenseNet121": 64,
    "EfficientNetB0": 64,
    "EfficientNetV2B0": 64,
    "InceptionResNetV2": 96,
    "InceptionV3": 96,
    "MobileNet": 64,
    "MobileNetV2": 64,
    "MobileNetV3Large": 64,
    "MobileNetV3Small": 64,
    "NASNetMobile": 64,
    "ResNet50": 64,
    "ResNet50V2": 64,
    "VGG16": 64,
    "Xception": 96,
}
# At the end of InceptionResNetV2 each image is a single place. Normalised over
# two of those, gradients of the kernel rows of the prior reach 1e9.
NUM_IMAGES = {"InceptionResNetV2": 8}


def slow_but(quick, names):
    """All names, marked slow but for one on TensorFlow, or none."""
    marks = {quick: pytest.mark.slow_but_on("tensorflow")}
    return [
        pytest.param(name, marks=marks.get(name, pytest.mark.slow))
        for name in names
    ]


def check(base, images, **kwargs):
    # With a larger step some of them answer with numbers beyond 1e30.
    return check_widening(
        base,
        images,
        integers(5, len(images)),
        tolerance=1e-4,
        learning_rate=1e-3,
        **kwargs,
    )


def network(name, **kwargs):
    size = SIZES[name]
    model = getattr(apps, name)(
        weights=None, input_shape=(size, size, 3), **kwargs
    )
    return with_statistics(model)


def with_statistics(model):
    """Gives the normalisations the statistics of some images.

    With those of the start a deep network lets nothing through, or blows up.
    """
    for layer in model._flatten_layers():
        if isinstance(layer, layers.BatchNormalization):
            layer.momentum = 0.0
    images = pixels(4, *model.input_shape[1:], seed=1) / 255.0
    model(ops.convert_to_tensor(images), training=True)
    return model


def classifier(name):
    return network(name, classes=5, classifier_activation=None)


def random_images(name):
    size = SIZES[name]
    return pixels(NUM_IMAGES.get(name, 2), size, size, 3) / 255.0


@pytest.mark.parametrize("name", slow_but("MobileNetV2", SIZES))
def test_alone(name):
    base = classifier(name)
    model = check(base, random_images(name))
    added = model.network.count_params() - base.count_params()
    assert 0 < added < 0.01 * base.count_params()


@pytest.mark.parametrize("name", slow_but(None, SIZES))
def test_nested(name):
    backbone = network(name, include_top=False, pooling="avg")
    base = keras.Sequential(
        [
            keras.Input(backbone.input_shape[1:]),
            layers.RandomFlip("horizontal"),
            layers.Rescaling(1 / 255),
            backbone,
            layers.Dropout(0.2),
            layers.Dense(5),
        ]
    )
    model = check(base, 255 * random_images(name))
    assert len(entries(model.network)) >= 1


LAST_BLOCKS = {
    "ResNet50": "conv5_block3_1_conv",
    "MobileNetV2": "Conv_1",
    "DenseNet121": "conv5_block16_1_conv",
    "ConvNeXtTiny": "convnext_tiny_downsampling_block_2",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAST_BLOCKS)
def test_prior_at_the_last_block(name):
    model = check(
        classifier(name), random_images(name), layer=LAST_BLOCKS[name]
    )
    assert len(entries(model.network)) == 1


@pytest.mark.slow
def test_frozen_backbone():
    backbone = network("MobileNetV2", include_top=False, pooling="avg")
    backbone.trainable = False
    base = keras.Sequential(
        [backbone, layers.Dense(8, activation="relu"), layers.Dense(5)]
    )
    model = check(base, random_images("MobileNetV2"))
    assert len(model.network.trainable_weights) == 4
