"""The layers through which the prior enters a widened network."""

import math
from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any
Shape = tuple[Any, ...]  # Integers, and `None` for open dimensions.


@keras.saving.register_keras_serializable(package="keras_zigzag")
class ConcatenatePrior(keras.layers.Layer):
    """Appends the prior to the features that a layer reads.

    A vector is spread over the places of an image or a sequence, one
    constant map per channel, as the paper's "fourth channel". A map is laid
    on them; where it is finer or coarser, the nearest place counts.

    Args:
        axis: Integer. Axis of the features, -1 or 1. Defaults to `-1`.
        groups: Integer. Number of groups of a grouped convolution, each of
            which gets the prior. Defaults to `1`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of the features and the prior, `(batch_size, num_channels)`
    or `(batch_size, ..., num_channels)`.
    """

    def __init__(self, axis: int = -1, groups: int = 1, **kwargs: Any):
        super().__init__(**kwargs)
        self.axis = axis
        self.groups = groups
        self.supports_masking = True

    def build(self, input_shape: list[Shape]) -> None:
        self.built = True

    def call(self, inputs: list[Tensor]) -> Tensor:
        features, prior = inputs
        axis = self.axis % len(features.shape)
        prior = lay_on(prior, features, axis)
        if self.groups == 1:
            return ops.concatenate([features, prior], axis=axis)
        # A grouped kernel reads each group's channels in a row.
        features = split_axis(features, axis, self.groups)
        prior = ops.repeat(ops.expand_dims(prior, axis), self.groups, axis)
        return merge_axes(
            ops.concatenate([features, prior], axis=axis + 1), axis
        )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask[0] if isinstance(mask, (list, tuple)) else mask

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
        features, prior = input_shape
        axis = self.axis % len(features)
        extra = self.groups * num_prior_channels(prior, features)
        return (*features[:axis], features[axis] + extra, *features[axis + 1 :])

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update({"axis": self.axis, "groups": self.groups})
        return config


@keras.saving.register_keras_serializable(package="keras_zigzag")
class AddPrior(keras.layers.Layer):
    """Adds a linear image of the prior to the features that a layer reads.

    For layers whose output has to keep the shape of their input, such as
    attention with a residual connection, and for layers that cannot be
    widened. The projection starts at zero.

    Args:
        axis: Integer. Axis of the features, -1 or 1. Defaults to `-1`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of the features and the prior, `(batch_size, num_channels)`
    or `(batch_size, ..., num_channels)`.
    """

    def __init__(self, axis: int = -1, **kwargs: Any):
        super().__init__(**kwargs)
        self.axis = axis
        self.supports_masking = True

    def build(self, input_shape: list[Shape]) -> None:
        features, prior = input_shape
        if features[self.axis] is None:
            raise ValueError(
                "The prior is added to the features of a layer's first input, "
                "and how many there are must be known. Received: a first "
                f"input of shape {tuple(features)} at the layer {self.name!r}. "
                "Where the features are not what the layer reads first, or "
                "not on the last axis, have the prior enter at another layer, "
                "with `layer=...`."
            )
        self.projection = self.add_weight(
            name="projection",
            shape=(num_prior_channels(prior, features), features[self.axis]),
            initializer="zeros",
        )
        self.built = True

    def call(self, inputs: list[Tensor]) -> Tensor:
        features, prior = inputs
        axis = self.axis % len(features.shape)
        projected = ops.matmul(
            lay_on(prior, features, axis, channels_last=True), self.projection
        )
        last = len(features.shape) - 1
        if axis != last:
            projected = ops.moveaxis(projected, last, axis)
        return features + projected

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask[0] if isinstance(mask, (list, tuple)) else mask

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
        return input_shape[0]

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update({"axis": self.axis})
        return config


@keras.saving.register_keras_serializable(package="keras_zigzag")
class RowsAgain(keras.layers.Layer):
    """Puts the first samples of a batch behind it, mask included.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor of shape `(batch_size, ...)`.
        count: Integer or integer tensor, number of these samples.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.autocast = False

    def call(self, inputs: Tensor, count: int | Tensor) -> Tensor:
        self._count = count
        return ops.concatenate([inputs, inputs[:count]], axis=0)

    def compute_mask(self, inputs: Tensor, mask: Any = None) -> Any:
        if mask is None:
            return None
        return ops.concatenate([mask, mask[: self._count]], axis=0)


@keras.saving.register_keras_serializable(package="keras_zigzag")
class TakeRows(keras.layers.Layer):
    """Takes some samples of a batch, mask included.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor of shape `(batch_size, ...)`.
        rows: Integer tensor of shape `(num_rows,)`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.autocast = False

    def call(self, inputs: Tensor, rows: Tensor) -> Tensor:
        self._rows = rows
        return ops.take(inputs, rows, axis=0)

    def compute_mask(self, inputs: Tensor, mask: Any = None) -> Any:
        return None if mask is None else ops.take(mask, self._rows, axis=0)


def num_prior_channels(prior: Shape, features: Shape) -> int:
    """Channels that a prior of this shape takes at features of this shape."""
    if len(prior) == 2 or len(prior) == len(features):
        return prior[-1]
    size = 1
    for dimension in prior[1:]:
        if dimension is None:
            raise ValueError(
                "A prior with open dimensions cannot be spread over features "
                f"of another rank. Received: a prior of shape {prior} and "
                f"features of shape {features}. Give the base model fixed "
                "input and output sizes, or choose another `layer=`."
            )
        size *= dimension
    return size


def lay_on(
    prior: Tensor, features: Tensor, axis: int, channels_last: bool = False
) -> Tensor:
    """The prior with one vector for each place of the features."""
    sizes = list(ops.shape(features))
    del sizes[axis]
    batch_size, *spatial = sizes
    _check_batch(prior, batch_size)
    if len(prior.shape) > 2 and len(prior.shape) != len(features.shape):
        # A size that is a tensor would hide the others from TensorFlow.
        prior = ops.reshape(prior, (-1, math.prod(prior.shape[1:])))
    if len(prior.shape) == 2:
        width = prior.shape[-1]
        prior = ops.reshape(prior, (-1, *[1 for _ in spatial], width))
    for place, size in enumerate(spatial, start=1):
        prior = nearest(prior, size, place)
    prior = ops.broadcast_to(prior, (*sizes, prior.shape[-1]))
    last = len(sizes)
    if channels_last or axis == last:
        return prior
    return ops.moveaxis(prior, last, axis)


def _check_batch(prior: Tensor, size: Any) -> None:
    """Raises a `ValueError` if features are not one row per sample."""
    given = ops.shape(prior)[0]
    if isinstance(given, int) and isinstance(size, int) and given != size:
        raise ValueError(
            "The prior enters where each sample is one row of the batch. "
            f"Received: {given} samples, and features of {size} rows, as "
            "behind a reshape that makes samples of the steps of a sequence. "
            "Have the prior enter before or behind that part of the base "
            "model, with `layer=...`."
        )


def nearest(prior: Tensor, size: Any, axis: int) -> Tensor:
    """Resizes one axis to `size` by the nearest place."""
    given = prior.shape[axis]
    if given == 1 or (given is not None and given == size):
        return prior
    places = nearest_places(ops.shape(prior)[axis], size)
    return ops.take(prior, places, axis=axis)


def nearest_places(given: Any, size: Any) -> Tensor:
    """For each of `size` places that of `given` ones which is nearest.

    Args:
        given: Integer or scalar tensor.
        size: Likewise.
    """
    # The products may be too large for an int32.
    if isinstance(given, int) and isinstance(size, int):
        places = np.arange(size, dtype="int64") * given // size
        return ops.convert_to_tensor(places.astype("int32"))
    # JAX has no int64, and knows all sizes but in what it exports.
    dtype = "int32" if keras.backend.backend() == "jax" else "int64"
    given, size = (
        ops.cast(one, dtype) if ops.is_tensor(one) else one
        for one in (given, size)
    )
    places = ops.arange(size, dtype=dtype)
    if keras.backend.backend() == "tensorflow":
        return ops.cast(_quotients(places, given, size), "int32")
    return ops.cast(places * given // size, "int32")


def _quotients(places: Tensor, given: Any, size: Any) -> Tensor:
    """`places * given // size`, for LiteRT, which divides no int64.

    A quotient of floats is one too large or too small at most, up to some
    millions of places, and the products tell.
    """
    wanted = places * given
    ratio = ops.cast(given, "float32") / ops.cast(size, "float32")
    found = ops.cast(ops.floor(ops.cast(places, "float32") * ratio), "int64")
    for _ in range(2):
        found -= ops.cast(found * size > wanted, "int64")
    for _ in range(2):
        found += ops.cast((found + 1) * size <= wanted, "int64")
    return found


def split_axis(tensor: Tensor, axis: int, groups: int) -> Tensor:
    shape = list(ops.shape(tensor))
    shape[axis : axis + 1] = [groups, tensor.shape[axis] // groups]
    return ops.reshape(tensor, shape)


def merge_axes(tensor: Tensor, axis: int) -> Tensor:
    shape = list(ops.shape(tensor))
    merged = tensor.shape[axis] * tensor.shape[axis + 1]
    shape[axis : axis + 2] = [merged]
    return ops.reshape(tensor, shape)
