"""A network that squeezes an input through a narrow code, and back."""

import math
from typing import Any

import keras

from keras_zigzag.baselines.standardizing import Standardization

Tensor = Any
# The code has at most so many values, by default.
LARGEST_CODE = 32
# Narrower layers beside the code easily get stuck.
LEAST_UNITS = 32
# Maps are halved until no side is longer, but once at least.
SMALLEST_MAP = 7
FIRST_FILTERS, MOST_FILTERS = 16, 64


def hourglass(
    shape: tuple[int | None, ...], code_size: int | None = None
) -> keras.Model:
    """An autoencoder for inputs of a shape: dense for vectors, else of maps.

    Maps are halved by strided convolutions, become a vector for the code and
    are doubled again by transposed ones. All is float32, on standardised
    inputs.

    Args:
        shape: Tuple. Shape of one sample.
        code_size: Integer. Size of the code. Defaults to `None`: a quarter of
            the values of a sample, 32 at most.

    Returns:
        Functional model from inputs to their reconstructions.

    Raises:
        ValueError: If a dimension is not known, or there are too many.
    """
    if None in shape or not 1 <= len(shape) <= 4:
        raise ValueError(
            "There is an hourglass for inputs of a known shape with one to "
            f"four axes. Received: inputs of shape {tuple(shape)} without "
            "the batch. Give a model of your own as `autoencoder`."
        )
    inputs = keras.Input(shape, dtype="float32")
    if code_size is None:
        num_values = math.prod(inputs.shape[1:])
        code_size = min(max(num_values // 4, 1), LARGEST_CODE)
    standardize = Standardization(channel_axis(shape), name="standardize")
    x = standardize(inputs)
    if len(shape) == 1:
        x = _dense(x, code_size)
    else:
        x = _convolutional(x, code_size)
    outputs = standardize(x, invert=True)
    return keras.Model(inputs, outputs, name="hourglass")


def channel_axis(shape: tuple[int | None, ...]) -> int:
    """The axis of the features or channels in batches of such samples."""
    is_first = keras.config.image_data_format() == "channels_first"
    # Keras has no cropping of sequences whose channels come first.
    return 1 if len(shape) > 2 and is_first else -1


def _dense(x: Tensor, code_size: int) -> Tensor:
    size, width = x.shape[-1], max(2 * code_size, LEAST_UNITS)
    x = _layer("Dense", width, activation="relu")(x)
    x = _layer("Dense", code_size)(x)
    x = _layer("Dense", width, activation="relu")(x)
    return _layer("Dense", size)(x)


def _convolutional(x: Tensor, code_size: int) -> Tensor:
    rank, axis = len(x.shape) - 2, channel_axis(x.shape[1:])
    num_channels = x.shape[axis]
    sides: list[tuple[int, ...]] = []
    filters = [FIRST_FILTERS]
    last = {"padding": "same", "data_format": "channels_last"}
    same = last if rank == 1 else {"padding": "same"}
    options = {"strides": 2, "activation": "relu", **same}
    while not sides or max(_sides(x)) > SMALLEST_MAP:
        sides.append(_sides(x))
        x = _layer(f"Conv{rank}D", filters[-1], 3, **options)(x)
        filters.append(min(2 * filters[-1], MOST_FILTERS))
    map_shape = x.shape[1:]
    x = _layer("Flatten")(x)
    x = _layer("Dense", code_size)(x)
    x = _layer("Dense", math.prod(map_shape), activation="relu")(x)
    x = _layer("Reshape", map_shape)(x)
    for wanted, size in zip(
        reversed(sides), reversed(filters[:-1]), strict=True
    ):
        x = _layer(f"Conv{rank}DTranspose", size, 3, **options)(x)
        x = _cropped(x, wanted)
    return _layer(f"Conv{rank}D", num_channels, 3, **same)(x)


def _cropped(x: Tensor, sides: tuple[int, ...]) -> Tensor:
    """Takes off what doubling an odd side rounded up has added."""
    more = [have - want for have, want in zip(_sides(x), sides, strict=True)]
    if not any(more):
        return x
    rank = len(sides)
    margins = tuple((0, one) for one in more)
    cropping = margins if rank > 1 else margins[0]
    return _layer(f"Cropping{rank}D", cropping)(x)


def _sides(x: Tensor) -> tuple[int, ...]:
    sizes = list(x.shape)
    del sizes[channel_axis(x.shape[1:])]
    return tuple(sizes[1:])


def _layer(kind: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(keras.layers, kind)(*args, dtype="float32", **kwargs)
