"""From a base model to a network that keeps and knows distances."""

from typing import Any

import keras

from keras_zigzag.activations import OPERATIONS
from keras_zigzag.baselines.gaussian_process import GaussianProcess
from keras_zigzag.baselines.heads import last_layer
from keras_zigzag.baselines.linear_operators import CONVOLUTIONS, is_linear
from keras_zigzag.baselines.spectral_normalization import SpectralNormalization
from keras_zigzag.copying import copy_layer, copy_state
from keras_zigzag.rewriting import Rewriting

# What may come between the last `Dense` and an output: it changes numbers one
# by one, or is the softmax.
PASSING = (
    "Activation",
    "ActivityRegularization",
    "Cast",
    "Dropout",
    "Identity",
    "ReLU",
    *OPERATIONS,
)


class DistanceAware(Rewriting):
    """Bounds the hidden kernels of a copy, and ends it in Gaussian processes.

    Args:
        norm_bounds: Tuple of floats, the bound of `Dense` layers and that of
            convolutions.
        heads: List of tuples of a `Dense` layer and the options of the
            `GaussianProcess` that takes its place.
    """

    def __init__(
        self,
        norm_bounds: tuple[float, float],
        heads: list[tuple[Any, dict[str, Any]]],
    ):
        super().__init__()
        self.norm_bounds = norm_bounds
        self.heads = {id(layer): options for layer, options in heads}
        self.details: dict[int, list[Any]] = {}

    def replacement(self, layer: Any) -> Any:
        if id(layer) in self.heads:
            return _gaussian_process(layer, self.heads[id(layer)])
        of_dense, of_convolutions = self.norm_bounds
        if is_linear(layer, (keras.layers.Dense,)):
            return SpectralNormalization(copy_layer(layer), of_dense)
        if is_linear(layer, CONVOLUTIONS):
            return SpectralNormalization(copy_layer(layer), of_convolutions)
        return None

    def called(self, layer: Any, copy: Any, args: tuple, kwargs: dict) -> Any:
        if not isinstance(copy, GaussianProcess):
            return copy(*args, **kwargs)
        if id(layer) in self.details:
            raise ValueError(
                "The last layer gives way to a Gaussian process, which is "
                f"called once. Received: a base model that calls {layer.name!r}"
                " several times."
            )
        logits, variance, features = copy(*args, **kwargs)
        self.details[id(layer)] = [variance, features, logits]
        end = keras.layers.Activation(
            layer.activation,
            activity_regularizer=layer.activity_regularizer,
            dtype=layer.dtype_policy,
            name=layer.name,
        )
        return end(logits)

    def take_weights(self, layer: Any, replacement: Any) -> None:
        if isinstance(replacement, SpectralNormalization):
            copy_state(layer, replacement.layer)


def distance_aware(
    model: keras.Model, norm_bounds: tuple[float, float], options: list[dict]
) -> keras.Model:
    """A network with what a Gaussian process says beside each output.

    Args:
        model: Functional model that ends in layers, not in models.
        norm_bounds: See `DistanceAware`.
        options: List of the options of the `GaussianProcess` of each output.

    Returns:
        Functional model with the outputs `[prediction, details]`; the details
        of an output are `[variance, features, logits]`.

    Raises:
        ValueError: If an output does not come from a `Dense` layer.
    """
    last = [last_dense(tensor) for tensor in model.outputs]
    rewriting = DistanceAware(
        norm_bounds, list(zip(last, options, strict=True))
    )
    network = rewriting.rewritten(model)
    details = [rewriting.details[id(layer)] for layer in last]
    return keras.Model(
        network.input, [network.output, details], name=model.name
    )


def last_dense(tensor: Any) -> Any:
    """The `Dense` layer that an output comes from.

    Raises:
        ValueError: If it comes from another layer.
    """
    layer = last_layer(tensor, PASSING)
    if not is_linear(layer, (keras.layers.Dense,)):
        raise ValueError(
            "The last layer gives way to a Gaussian process, so it must be a "
            f"`Dense`. Received: a base model that ends in {layer.name!r}, a "
            f"`{type(layer).__name__}`. End it in a `Dense` layer, with its "
            "activation in it or behind it."
        )
    return layer


def _gaussian_process(layer: Any, options: dict[str, Any]) -> GaussianProcess:
    config = layer.get_config()
    # Cosines of large angles need the digits of float32.
    dtype = layer.variable_dtype
    dtype = dtype if dtype == "float64" else "float32"
    config.update(
        {
            "name": f"{layer.name}_linear",
            "activation": "linear",
            "activity_regularizer": None,
            # It is new, so it has to learn.
            "trainable": True,
            "lora_rank": None,
            "dtype": dtype,
        }
    )
    linear = keras.layers.Dense.from_config(config)
    return GaussianProcess(
        linear, name=f"{layer.name}_process", dtype=dtype, **options
    )
