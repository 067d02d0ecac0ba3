"""How one layer takes the prior."""

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
        features = first_features(arguments)
        joined = self.entry([features, prior])
        args, kwargs = replace(
            arguments, features, joined, once=not self.changes_features
        )
        return WideCall(self.layer(*args, **kwargs), features, joined)


def make_wide(
    layer: Any, arguments: Arguments, prior: Any, must: bool = False
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
        must: Boolean. Whether the layer was asked for by name.

    Returns:
        A `WideLayer` and its first call, or `None` if the layer is to be
        passed over.
    """
    if not isinstance(layer, keras.layers.Layer) and not must:
        return None
    if first_features(arguments) is None:
        return None
    # A frozen layer would never learn to read the prior, but what is added to
    # its input can learn.
    trainable = bool(getattr(layer, "trainable_weights", []))
    if must and not trainable:
        return _added(layer, arguments, prior)
    if not trainable:
        return None
    return _concatenated(layer, arguments, prior) or (
        _added(layer, arguments, prior) if must or _is_opaque(layer) else None
    )


def first_features(arguments: Arguments) -> Any:
    """The first tensor of floats among the arguments of a call."""
    for tensor in keras_tensors(arguments):
        if is_float(tensor) and len(tensor.shape) > 1:
            return tensor
    return None


def replace(structure: Any, old: Any, new: Any, once: bool = False) -> Any:
    """The structure with `new` in the place of `old`."""
    left = 1 if once else len(keras.tree.flatten(structure))

    def swap(leaf: Any) -> Any:
        nonlocal left
        if leaf is old and left > 0:
            left -= 1
            return new
        return leaf

    return keras.tree.map_structure(swap, structure)


def _concatenated(
    layer: Any, arguments: Arguments, prior: Any
) -> tuple[WideLayer, WideCall] | None:
    if not isinstance(layer, keras.layers.Layer):
        return None
    wide = WideLayer(
        ConcatenatePrior(
            axis=_feature_axis(layer),
            groups=getattr(layer, "groups", 1),
            dtype=layer.dtype_policy,
            name=f"{layer.name}_prior",
        ),
        copy_layer(layer),
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
    if not _is_keras(layer) and not _agrees(layer, wide, arguments, prior):
        return None
    return wide, result


def _added(
    layer: Any, arguments: Arguments, prior: Any
) -> tuple[WideLayer, WideCall]:
    policy = getattr(layer, "dtype_policy", None)
    entry = AddPrior(
        axis=_feature_axis(layer), dtype=policy, name=f"{layer.name}_prior"
    )
    wide = WideLayer(entry, copy_layer(layer))
    result = wide.call(arguments, prior)
    copy_state(layer, wide.layer)
    return wide, result


def _feature_axis(layer: Any) -> int:
    data_format = getattr(layer, "data_format", "channels_last")
    return 1 if data_format == "channels_first" else -1


def _shapes(tensors: Any) -> list[tuple]:
    return [tuple(tensor.shape) for tensor in keras.tree.flatten(tensors)]


def _grew(old: Any, new: Any) -> bool:
    """Whether some weights grew, each along one axis."""
    if len(old.variables) != len(new.variables):
        return False
    changed = []
    for before, after in zip(old.variables, new.variables, strict=True):
        if len(before.shape) != len(after.shape):
            return False
        pairs = zip(before.shape, after.shape, strict=True)
        changed.append(sum(size != wider for size, wider in pairs))
    return max(changed, default=0) == 1


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

    def sample(leaf: Any) -> Any:
        if not isinstance(leaf, keras.KerasTensor):
            return leaf
        shape = [2 if size is None else size for size in leaf.shape]
        if not is_float(leaf):
            return ops.zeros(shape, leaf.dtype)
        return ops.convert_to_tensor(
            generator.standard_normal(shape), leaf.dtype
        )

    samples = keras.tree.map_structure(sample, arguments)
    wanted = first_features(arguments)
    (features, *_) = (
        sampled
        for leaf, sampled in zip(
            keras.tree.flatten(arguments),
            keras.tree.flatten(samples),
            strict=True,
        )
        if leaf is wanted
    )
    joined = wide.entry([features, sample(prior)])
    args, kwargs = samples
    wide_args, wide_kwargs = replace(samples, features, joined, once=True)
    try:
        before = layer(*args, **kwargs)
        after = wide.layer(*wide_args, **wide_kwargs)
    except Exception:
        # Numbers of no meaning may not be valid inputs, such as edges.
        return True
    return all(
        np.allclose(
            ops.convert_to_numpy(one), ops.convert_to_numpy(other), atol=1e-4
        )
        for one, other in zip(
            keras.tree.flatten(before), keras.tree.flatten(after), strict=True
        )
    )
