from typing import Any

import keras
from keras import ops

Tensor = Any
Shape = tuple[Any, ...]  # Integers, and `None` for open dimensions.


@keras.saving.register_keras_serializable(package="keras_zigzag")
class MaskPlaces(keras.layers.Layer):
    """Says which places of a sequence or a graph are there.

    Meshes of different sizes share a batch when the smaller ones are padded.
    This layer makes an input that says where there are nodes a mask of Keras,
    which the layers behind it pass on, those of your own if they set
    `supports_masking`. Where it is false, the features become 0, and the
    nodes count in no loss, no metric and no aggregate; their uncertainty is
    NaN. It goes in front of the last layers, which should stay the last.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of the features, `(batch_size, num_places, num_features)`,
    and the mask, Boolean, `(batch_size, num_places)`; or of a map and its
    mask, with as many axes of places as it has.

    Returns:
        The features, with the mask.

    Raises:
        ValueError: If it is not called on two tensors, or the mask has not
            one number per place.

    Example:

    >>> nodes = keras.Input((None, 3))
    >>> is_node = keras.Input((None,), dtype="bool")
    >>> x = keras.layers.Dense(8, activation="relu")(nodes)
    >>> x = keras_zigzag.MaskPlaces()([x, is_node])
    >>> base = keras.Model([nodes, is_node], keras.layers.Dense(1)(x))
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        # Coordinates are of no use in half precision.
        self.autocast = False

    def build(self, input_shape: list[Shape]) -> None:
        check_mask_shape(input_shape)
        self.built = True

    def call(self, inputs: list[Tensor]) -> Tensor:
        features, mask = inputs
        mask = ops.cast(mask, "bool")
        for _ in range(len(features.shape) - len(mask.shape)):
            mask = ops.expand_dims(mask, -1)
        return ops.where(mask, features, ops.zeros_like(features))

    def compute_mask(self, inputs: list[Tensor], mask: Any = None) -> Tensor:
        before = mask[0] if isinstance(mask, (list, tuple)) else None
        given = ops.cast(inputs[1], "bool")
        return given if before is None else ops.logical_and(before, given)

    def compute_output_spec(
        self, inputs: list[Any], mask: Any = None
    ) -> keras.KerasTensor:
        check_mask_shape([one.shape for one in inputs])
        return keras.KerasTensor(inputs[0].shape, inputs[0].dtype)


def check_mask_shape(shapes: Any) -> None:
    """Raises a `ValueError` unless these are places and their mask."""
    is_pair = isinstance(shapes, (list, tuple)) and len(shapes) == 2
    given = [tuple(one) if one else one for one in shapes] if is_pair else None
    if given and all(isinstance(one, tuple) for one in given):
        features, mask = given
        pairs = zip(mask, features, strict=False)
        fits = all(None in (one, two) or one == two for one, two in pairs)
        if 2 <= len(mask) == len(features) - 1 and fits:
            return
    raise ValueError(
        "The layer takes `[features, mask]`: features of shape `(batch_size, "
        "num_places, num_features)` and one Boolean for each place, "
        "`(batch_size, num_places)`; places may have several axes. "
        f"Received: inputs of the shapes {shapes}."
    )
