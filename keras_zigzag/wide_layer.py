"""How one layer takes the prior."""

import inspect
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_zigzag.graphs import (
    copy_layer,
    copy_state,
    is_float,
    keras_tensors,
    sublayers,
)
from keras_zigzag.prior_layers import AddPrior, ConcatenatePrior

Arguments = tuple[tuple, dict]


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
    own, and cannot be widened that way gets the prior added to its input, and
    so does a layer that was asked for and is frozen or has no weights.

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
    if made is None and (must or _is_opaque(layer)):
        made = _added(layer, arguments, prior, name)
    return made


def first_features(layer: Any, arguments: Arguments) -> Any:
    """The first tensor of floats among the arguments of a call."""
    for tensor in keras_tensors(in_order(layer, arguments)):
        if is_float(tensor) and len(tensor.shape) > 1:
            return tensor
    return None


def in_order(layer: Any, arguments: Arguments) -> tuple[tuple, list]:
    """Arguments in the order in which the layer takes them.

    The query of an attention comes before its key, whichever way they are
    written.
    """
    args, kwargs = arguments
    return args, [kwargs[name] for name in ordered_names(layer, kwargs)]


def ordered_names(layer: Any, kwargs: dict) -> list[str]:
    names = list(inspect.signature(layer.call).parameters)
    known = [name for name in names if name in kwargs]
    return known + [name for name in kwargs if name not in known]


def replace(
    layer: Any, arguments: Arguments, old: Any, new: Any, once: bool = False
) -> Arguments:
    """The arguments with `new` in the place of `old`."""
    left = 1 if once else len(keras.tree.flatten(arguments))

    def swap(leaf: Any) -> Any:
        nonlocal left
        if leaf is old and left > 0:
            left -= 1
            return new
        return leaf

    args, values = keras.tree.map_structure(swap, in_order(layer, arguments))
    names = ordered_names(layer, arguments[1])
    return args, dict(zip(names, values, strict=True))


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
    if _is_opaque(layer) and not _agrees(layer, wide, arguments, prior):
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


def _wrapped(layer: Any) -> Any:
    """The layer that a wrapper such as `SpectralNormalization` calls."""
    while isinstance(layer, keras.layers.Wrapper):
        layer = layer.layer
    return layer


def feature_axis(layer: Any) -> int:
    if not isinstance(layer, keras.layers.TimeDistributed):
        layer = _wrapped(layer)
    data_format = getattr(layer, "data_format", "channels_last")
    return 1 if data_format == "channels_first" else -1


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


def _is_keras(layer: Any) -> bool:
    return all(
        type(each).__module__.startswith("keras.") for each in sublayers(layer)
    )


def _is_opaque(layer: Any) -> bool:
    """Whether one cannot tell from outside what the layer does."""
    return not _is_keras(layer) or len(sublayers(layer)) > 1


def _agrees(
    layer: Any, wide: WideLayer, arguments: Arguments, prior: Any
) -> bool:
    """Whether the wide layer answers as the layer does on random numbers."""
    generator = np.random.default_rng(0)
    samples: dict[int, Any] = {}

    def sample(leaf: Any) -> Any:
        if not isinstance(leaf, keras.KerasTensor):
            return leaf
        # A tensor that is read twice is the same tensor twice.
        if id(leaf) not in samples:
            shape = [2 if size is None else size for size in leaf.shape]
            numbers = np.zeros(shape)
            if is_float(leaf):
                numbers = generator.standard_normal(shape)
            samples[id(leaf)] = ops.convert_to_tensor(numbers, leaf.dtype)
        return samples[id(leaf)]

    sampled = keras.tree.map_structure(sample, arguments)
    features = sample(first_features(layer, arguments))
    joined = wide.entry([features, sample(prior)])
    args, kwargs = sampled
    wide_args, wide_kwargs = replace(
        layer, sampled, features, joined, once=True
    )
    # A copy, since a call may leave something behind in the user's layer.
    plain = copy_layer(layer)
    try:
        plain(*args, **kwargs)
        copy_state(layer, plain)
        before = plain(*args, **kwargs)
        after = wide.layer(*wide_args, **wide_kwargs)
    except Exception:
        # Numbers of no meaning may not be valid inputs, such as edges.
        return True
    finally:
        copy_state(layer, wide.layer)
    return all(
        np.allclose(
            ops.convert_to_numpy(one), ops.convert_to_numpy(other), atol=1e-4
        )
        for one, other in zip(
            keras.tree.flatten(before), keras.tree.flatten(after), strict=True
        )
    )
