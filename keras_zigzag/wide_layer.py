"""How one layer takes the prior."""

from typing import Any, NamedTuple

import keras

from keras_zigzag.call_arguments import Arguments, first_features, replace
from keras_zigzag.copying import copy_layer, copy_state
from keras_zigzag.graphs import sublayers
from keras_zigzag.of_keras import ELEMENTWISE, is_of_keras
from keras_zigzag.prior_layers import AddPrior, ConcatenatePrior
from keras_zigzag.prior_rows import place_rows

OF_MAPS_IN_TIME = (
    keras.layers.ConvLSTM1D,
    keras.layers.ConvLSTM2D,
    keras.layers.ConvLSTM3D,
)


class WideCall(NamedTuple):
    """One call of a wide layer.

    Attributes:
        outputs: Outputs of the layer.
        features: The features that it reads on the base model.
        joined: The features with the prior.
    """

    outputs: Any
    features: Any
    joined: Any


class WideLayer:
    """A layer that takes the prior, and the layer that hands it over.

    Args:
        entry: `ConcatenatePrior` or `AddPrior`.
        layer: The copy of the layer of the base model.
    """

    def __init__(self, entry: Any, layer: Any):
        self.entry = entry
        self.layer = layer

    @property
    def changes_features(self) -> bool:
        """Whether other readers of the same features may take them too."""
        return isinstance(self.entry, AddPrior)

    def call(self, arguments: Arguments, prior: Any) -> WideCall:
        """Calls the layer with the prior."""
        features = first_features(self.layer, arguments)
        if features is None:
            raise ValueError(called_on_no_features(self.layer.name))
        joined = self.entry([features, prior])
        args, kwargs = replace(
            self.layer,
            arguments,
            features,
            joined,
            once=not self.changes_features,
        )
        return WideCall(self.layer(*args, **kwargs), features, joined)


def make_wide(
    layer: Any, arguments: Arguments, prior: Any, name: str, must: bool = False
) -> tuple[WideLayer, WideCall] | None:
    """Makes a layer take the prior, if it mixes features.

    A layer mixes features if its output keeps its shape when its input gets
    more channels while a weight grows along one axis (`Dense`, convolutions,
    recurrent layers, …). A layer that is made of others, or is not Keras's
    own, and cannot be widened that way gets the prior added to its input if
    it has a kernel, and so does a layer that was asked for, frozen or without
    weights. The weights of a user's layer are put where it reads the
    features, which is tried on random numbers.

    Args:
        layer: Layer of the base model, built.
        arguments: Its `(args, kwargs)` in the new graph.
        prior: Symbolic tensor of the prior.
        name: String. Name of the layer that hands over the prior.
        must: Boolean. Whether the layer was asked for by name.

    Returns:
        A `WideLayer` and its first call, or `None` if the layer is to be
        passed over.
    """
    if not isinstance(layer, keras.layers.Layer) and not must:
        return None
    if first_features(layer, arguments) is None:
        return None
    # A frozen layer would never learn to read the prior, but what is added to
    # its input can learn.
    if not getattr(layer, "trainable_weights", []):
        return _added(layer, arguments, prior, name) if must else None
    made = _concatenated(layer, arguments, prior, name)
    if made is None and (must or (_is_opaque(layer) and has_kernel(layer))):
        made = _added(layer, arguments, prior, name)
    return made


def _concatenated(
    layer: Any, arguments: Arguments, prior: Any, name: str
) -> tuple[WideLayer, WideCall] | None:
    if not isinstance(layer, keras.layers.Layer):
        return None
    wide = WideLayer(
        ConcatenatePrior(
            axis=feature_axis(layer),
            groups=getattr(_wrapped(layer), "groups", 1),
            dtype=layer.dtype_policy,
            name=name,
        ),
        copy_layer(layer, built=False),
    )
    try:
        result = wide.call(arguments, prior)
        expected = layer.compute_output_spec(*arguments[0], **arguments[1])
    except Exception:
        # Whatever it was, the layer does not take a wider input.
        return None
    if _shapes(result.outputs) != _shapes(expected):
        return None
    if not _grew(layer, wide.layer):
        return None
    copy_state(layer, wide.layer)
    if _is_opaque(layer) and not place_rows(layer, wide, arguments, prior):
        return None
    return wide, result


def _added(
    layer: Any, arguments: Arguments, prior: Any, name: str
) -> tuple[WideLayer, WideCall]:
    policy = getattr(layer, "dtype_policy", None)
    entry = AddPrior(axis=feature_axis(layer), dtype=policy, name=name)
    wide = WideLayer(entry, copy_layer(layer))
    result = wide.call(arguments, prior)
    copy_state(layer, wide.layer)
    return wide, result


def called_on_no_features(name: str) -> str:
    return (
        "A layer that takes the prior takes it in each of its calls, and one "
        "of them reads no features of floats that it could be put beside. "
        f"Received: the layer {name!r}, which is called several times. Cast "
        "its other inputs to floats in the base model, or have the prior "
        "enter elsewhere, with `layer=...`."
    )


def _wrapped(layer: Any) -> Any:
    """The layer that a wrapper such as `SpectralNormalization` calls."""
    while isinstance(layer, keras.layers.Wrapper):
        layer = layer.layer
    return layer


def feature_axis(layer: Any) -> int:
    if isinstance(layer, keras.layers.TimeDistributed):
        axis = feature_axis(layer.layer)
        return axis if axis == -1 else axis + 1
    if isinstance(layer, keras.layers.Wrapper):
        return feature_axis(layer.layer)
    data_format = getattr(layer, "data_format", "channels_last")
    if data_format != "channels_first":
        return -1
    return 2 if isinstance(layer, OF_MAPS_IN_TIME) else 1


def _shapes(tensors: Any) -> list[tuple]:
    return [tuple(tensor.shape) for tensor in keras.tree.flatten(tensors)]


def _grew(old: Any, new: Any) -> bool:
    """Whether weights that can learn grew, each along one axis."""
    if len(old.variables) != len(new.variables):
        return False
    changed = []
    for before, after in zip(old.variables, new.variables, strict=True):
        if len(before.shape) != len(after.shape):
            return False
        pairs = zip(before.shape, after.shape, strict=True)
        changed.append(sum(size != wider for size, wider in pairs))
    grown = [
        after.trainable
        for after, axes in zip(new.variables, changed, strict=True)
        if axes
    ]
    return max(changed, default=0) == 1 and any(grown)


def has_kernel(layer: Any) -> bool:
    """Whether a weight that can learn has more than one axis.

    Without one, as in a normalisation, the features stay apart. They do where
    Keras has a weight for each place of a map.
    """
    if isinstance(layer, ELEMENTWISE):
        return False
    weights = getattr(layer, "trainable_weights", [])
    return any(len(weight.shape) > 1 for weight in weights)


def is_keras(layer: Any) -> bool:
    return all(map(is_of_keras, sublayers(layer)))


def _is_opaque(layer: Any) -> bool:
    """Whether one cannot tell from outside what the layer does."""
    return not is_keras(layer) or len(sublayers(layer)) > 1
