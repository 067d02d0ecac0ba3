"""Fixed binary masks of features, and how they get into a network."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.baselines.placing import Placing
from keras_zigzag.wide_layer import feature_axis

Tensor = Any
MAX_SCALE = 6.0
# How far the search may go from the scale that was asked for, and how often
# it draws at each size.
SEARCHED = 0.2
NUM_DRAWS = 1000


def generate_masks(
    num_features: int, num_masks: int, scale: float, seed: int
) -> np.ndarray:
    """Binary masks that overlap as much as `scale` says.

    Each mask keeps a random choice of `ones` out of `ones * scale` positions;
    positions that no mask keeps are dropped. That leaves
    `ones * scale * (1 - (1 - 1 / scale) ** num_masks)` features on average,
    so `ones`, rounded down, follows from the number of features; where a few
    features cannot be had that way, it is one more. The number of positions
    is searched near this until a draw has exactly as many features. On average
    two masks have `1 / (2 * scale - 1)` of the features of either in common
    (intersection over union).

    Reference: [Durasov et al., 2021](https://arxiv.org/abs/2012.08334),
    section 3 and supplementary material.

    Args:
        num_features: Integer.
        num_masks: Integer.
        scale: Float in `[1, 6]`. At `1` all masks keep everything.
        seed: Integer.

    Returns:
        Array of zeros and ones of shape `(num_masks, num_features)`.

    Raises:
        ValueError: If there are too few features.
    """
    if scale == 1 or num_masks == 1:
        return np.ones((num_masks, num_features), "float32")
    used = 1.0 - (1.0 - 1.0 / scale) ** num_masks
    least = int(num_features / (scale * used))
    generator = np.random.default_rng(seed)
    for ones, positions in (
        *_sizes(num_features, num_masks, scale, least),
        *_sizes(num_features, num_masks, scale, least + 1),
    ):
        for _ in range(NUM_DRAWS):
            masks = _draw(generator, num_masks, positions, ones)
            masks = masks[:, masks.any(axis=0)]
            if masks.shape[1] == num_features:
                return masks.astype("float32")
    raise ValueError(
        f"There are no {num_masks} masks of the scale {scale} for "
        f"{num_features} features. Give a scale nearer to 1, fewer masks, or "
        "put them in front of layers with more features, with `layers=`. "
        f"Received: num_masks={num_masks}, scale={scale}"
    )


def _sizes(
    num_features: int, num_masks: int, scale: float, ones: int
) -> list[tuple[int, int]]:
    """Ones and positions that leave as many features, the best first."""
    first = max(int(np.ceil((1.0 - SEARCHED) * ones * scale)), ones)
    last = int((1.0 + SEARCHED) * ones * scale)
    positions = np.arange(first, last + 1)
    if not 0 < ones < num_features or not len(positions):
        return []
    expected = positions * (1.0 - (1.0 - ones / positions) ** num_masks)
    misses = np.abs(expected - num_features)
    order = np.argsort(misses, kind="stable")
    return [(ones, int(positions[one])) for one in order if misses[one] < 1]


def _draw(
    generator: np.random.Generator, num_masks: int, positions: int, ones: int
) -> np.ndarray:
    order = generator.random((num_masks, positions)).argsort(axis=1)
    return order.argsort(axis=1) < ones


@keras.saving.register_keras_serializable(package="keras_zigzag")
class FeatureMasks(keras.layers.Layer):
    """Multiplies parts of a batch, one after the other, by fixed masks.

    The parts are as nearly equal as the batch size allows: of `batch_size`
    samples, sample `i` gets mask `i * num_masks // batch_size`. On a batch
    that is tiled `num_masks` times each mask sees all of it.

    The masks are weights, so that they are saved with the model.

    Args:
        num_masks: Integer.
        scale: Float in `[1, 6]`. See `generate_masks`.
        seed: Integer.
        axis: Integer. Axis of the features. Defaults to `None`: the one on
            which Keras has the channels of maps, of which an input has four
            axes or more, and else the last. It is settled when the layer is
            built.
        **kwargs: Arguments of `keras.layers.Layer`.

    Reference: [Durasov et al., 2021](https://arxiv.org/abs/2012.08334).
    """

    def __init__(
        self,
        num_masks: int,
        scale: float,
        seed: int,
        axis: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_masks = num_masks
        self.scale = scale
        self.seed = seed
        self.axis: Any = axis
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        if self.axis is None:
            self.axis = _channel_axis(len(input_shape))
        num_features = input_shape[self.axis]
        if num_features is None:
            raise ValueError(
                "The number of features must be known. Received: features of "
                f"shape {tuple(input_shape)} at the layer {self.name!r}."
            )
        masks = generate_masks(
            num_features, self.num_masks, self.scale, self.seed
        )
        self.masks = self.add_weight(
            name="masks",
            shape=masks.shape,
            initializer=lambda shape, dtype: ops.convert_to_tensor(
                masks, dtype
            ),
            trainable=False,
        )
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        size = ops.shape(inputs)[0]
        rows = ops.arange(size, dtype="int32")
        factors = ops.take(self.masks, rows * self.num_masks // size, axis=0)
        shape = [1] * len(inputs.shape)
        shape[0], shape[self.axis] = -1, self.masks.shape[1]
        return inputs * ops.cast(ops.reshape(factors, shape), inputs.dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update(
            {
                "num_masks": self.num_masks,
                "scale": self.scale,
                "seed": self.seed,
                "axis": self.axis,
            }
        )
        return config


def _channel_axis(rank: int) -> int:
    is_first = keras.config.image_data_format() == "channels_first"
    return 1 if rank > 3 and is_first else -1


class Masks(Placing):
    """Puts masks into a copy of a network.

    Args:
        base: Functional or Sequential model. It is not changed.
        num_masks: Integer.
        scale: Float.
        layers: Integer. In front of how many of the last layers with a kernel
            they are put, or `None` for the places of its dropout.
        seed: Integer.
    """

    def __init__(
        self,
        base: keras.Model,
        num_masks: int,
        scale: float,
        layers: int | None,
        seed: int,
    ):
        super().__init__(base, num_masks, layers, in_place=layers is None)
        self.scale = scale
        self.seeds = np.random.default_rng(seed)

    def placed(self, layer: Any, in_place: bool, name: str) -> FeatureMasks:
        # Plain dropout does not say where the channels of its input are.
        is_open = in_place and not hasattr(layer, "data_format")
        return FeatureMasks(
            self.num_samples,
            float(self.scale),
            int(self.seeds.integers(2**31)),
            None if is_open else feature_axis(layer),
            dtype=layer.dtype_policy,
            name=name,
        )
