"""Arrays of images as Matplotlib draws them."""

from typing import Any

import numpy as np

from keras_zigzag.metrics.inputs import Array


def as_images(images: Any, name: str = "images") -> Array:
    """Images `(N, H, W)` or `(N, H, W, 3)` of numbers from 0 to 1.

    Bytes are taken as they are. Floats within 0 and 1 too; of all others the
    darkest value of all images becomes 0 and the brightest 1.
    """
    array = checked_images(images, name)
    if array.ndim == 4 and array.shape[-1] == 1:
        array = array[..., 0]
    if array.dtype == "uint8":
        return array / 255.0
    array = array.astype("float64")
    low, high = np.nanmin(array), np.nanmax(array)
    if low < 0.0 or high > 1.0:
        array = (array - low) / max(high - low, np.finfo("float64").tiny)
    return array


def checked_images(images: Any, name: str = "images") -> Array:
    """The array as it is, after a check of its shape."""
    array = np.asarray(images)
    has_channels = array.ndim == 4 and array.shape[-1] in (1, 3, 4)
    if not array.size or not (array.ndim == 3 or has_channels):
        raise ValueError(
            f"`{name}` must be images of shape `(num_images, height, width)`, "
            "or with a last axis of 1, 3 or 4 channels. "
            f"Received: an array of shape {array.shape}."
        )
    return array
