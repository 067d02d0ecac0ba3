import numpy as np
import pytest

from keras_zigzag import plots
from keras_zigzag.plots.images import as_images
from tests.plots.cases import ID, IMAGES


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_values():
    ax = plots.gallery(IMAGES, ID, captions=np.arange(60), num_images=3)
    order = np.argsort(ID)
    shown = [*order[::-1][:3], *order[:3]]
    assert len(ax.images) == 6
    for image, index in zip(ax.images, shown, strict=True):
        np.testing.assert_array_equal(image.get_array(), IMAGES[index])
    assert [text for text in texts(ax) if "uncertain" not in text] == [
        f"{index}\n{ID[index]:.2g}" for index in shown
    ]


def test_ood_has_a_colour_of_its_own():
    ax = plots.gallery(IMAGES[:2], [0.1, 0.2], is_ood=[True, False])
    colors = [text.get_color() for text in ax.texts if text.get_rotation() == 0]
    most, least = colors[:2]
    assert colors == [most, least, least, most]
    assert most != least


def test_nan_is_not_ranked_but_counted():
    ax = plots.gallery(IMAGES[:3], [0.1, np.nan, 0.2], num_images=3)
    assert len(ax.images) == 4
    assert ax.get_title(loc="right") == "1 of 3 not finite, left out"


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels(channels, rendered):
    images = np.zeros((3, 4, 5, channels), "uint8")
    rendered(plots.gallery(images, ID[:3]))


class TestImages:
    def test_bytes(self):
        images = as_images(np.array([[[0, 255]]], "uint8"))
        np.testing.assert_array_equal(images, [[[0.0, 1.0]]])

    def test_dark_floats_stay_dark(self):
        images = as_images([[[0.0, 0.1]]])
        np.testing.assert_array_equal(images, [[[0.0, 0.1]]])

    def test_standardised_floats_are_scaled(self):
        images = as_images([[[-1.0, 1.0]], [[0.0, 3.0]]])
        np.testing.assert_array_equal(images, [[[0.0, 0.5]], [[0.25, 1.0]]])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"images": IMAGES[:-1]}, "`images`.*59 and 60"),
        ({"images": IMAGES[0]}, "shape \\(4, 5\\)"),
        ({"images": np.zeros((60, 4, 5, 2))}, "shape \\(60, 4, 5, 2\\)"),
        ({"captions": ["a"]}, "`captions`.*1 and 60"),
        ({"is_ood": [True]}, "`is_ood`.*1 and 60"),
        ({"uncertainty": ID[:, np.newaxis]}, "one value per image"),
        ({"uncertainty": np.full(60, np.nan)}, "none of them finite"),
        ({"num_images": 0}, "num_images=0"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        plots.gallery(**{"images": IMAGES, "uncertainty": ID} | change)
