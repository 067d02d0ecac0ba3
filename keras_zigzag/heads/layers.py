"""The layers of a network with several heads."""

from typing import Any

import keras
from keras import ops

from keras_zigzag.mask_taker import HandOn

Tensor = Any
HEAD_AXIS = 1


@keras.saving.register_keras_serializable(package="keras_zigzag")
class HeadInput(HandOn):
    """Passes the features of the trunk on to one head.

    Each head reads a tensor of its own, so that what is done to the features
    on the way into one of them is not done to the others.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """


@keras.saving.register_keras_serializable(package="keras_zigzag")
class StackHeads(keras.layers.Layer):
    """Puts the answers of the heads on one axis, the second.

    The heads answer the same samples, so the mask of the first is that of
    all: it has no axis for the heads.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of tensors of shape `(batch_size, ...)`, one per head.

    Output: tensor of shape `(batch_size, num_heads, ...)`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.autocast = False

    def call(self, inputs: list[Tensor]) -> Tensor:
        return ops.stack(inputs, axis=HEAD_AXIS)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask[0] if isinstance(mask, (list, tuple)) else mask


@keras.saving.register_keras_serializable(package="keras_zigzag")
class TakeHead(keras.layers.Layer):
    """Takes the answer of one head, mask included.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor of shape `(batch_size, num_heads, ...)`.
        index: Integer, which head.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.autocast = False

    def call(self, inputs: Tensor, index: int) -> Tensor:
        return inputs[:, index]

    def compute_mask(self, inputs: Tensor, mask: Any = None) -> Any:
        return mask


@keras.saving.register_keras_serializable(package="keras_zigzag")
class MeanOverHeads(keras.regularizers.Regularizer):
    """A regulariser that counts as the mean over the heads.

    Each of the heads has one of these, and Keras adds them up.

    Args:
        regularizer: Regulariser of the base model's layer.
        num_heads: Integer.
    """

    def __init__(self, regularizer: Any, num_heads: int):
        self.regularizer = keras.regularizers.get(regularizer)
        self.num_heads = num_heads

    def __call__(self, x: Tensor) -> Tensor:
        return self.regularizer(x) / self.num_heads

    def get_config(self) -> dict[str, Any]:
        return {
            "regularizer": keras.saving.serialize_keras_object(
                self.regularizer
            ),
            "num_heads": self.num_heads,
        }


def with_mean_regularizers(config: Any, num_heads: int) -> Any:
    """The config of a layer whose regularisers of weights count as the mean.

    Args:
        config: Config of a layer, with those of the layers in it.
        num_heads: Integer.
    """
    if isinstance(config, (list, tuple)):
        return type(config)(
            with_mean_regularizers(one, num_heads) for one in config
        )
    if not isinstance(config, dict):
        return config
    return {
        key: _mean_of(value, num_heads)
        if _is_of_weights(key) and _is_regularizer(value)
        else with_mean_regularizers(value, num_heads)
        for key, value in config.items()
    }


def _is_of_weights(key: str) -> bool:
    # What activities add to the loss is divided as it comes, see `HeadLosses`.
    return key.endswith("regularizer") and key != "activity_regularizer"


def _is_regularizer(value: Any) -> bool:
    # An argument of a user's own layer may have such a name, too.
    if not (isinstance(value, (str, dict)) or callable(value)):
        return False
    try:
        return keras.regularizers.get(value) is not None
    except ValueError:
        return False


def _mean_of(regularizer: Any, num_heads: int) -> dict[str, Any]:
    return keras.saving.serialize_keras_object(
        MeanOverHeads(regularizer, num_heads)
    )


def check_axis(output: Any, num_heads: int) -> None:
    """Raises a `ValueError` unless the heads are on their axis."""
    shape = tuple(output.shape)
    if len(shape) <= HEAD_AXIS or shape[HEAD_AXIS] != num_heads:
        raise ValueError(
            f"A network of {num_heads} heads has them on the second axis of "
            f"its outputs, (batch_size, {num_heads}, ...). "
            f"Received: num_heads={num_heads} and an output of shape {shape}. "
            "Stack the answers of the heads there, or make the network of a "
            "base model of one head with `ZigZagModel.from_model`."
        )
