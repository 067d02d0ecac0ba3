"""Means and variances on their way through the graph of a network."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.moment_noise import is_noise, noisy
from keras_zigzag.baselines.moment_rules import is_moving, rule_for
from keras_zigzag.baselines.moments import Moments
from keras_zigzag.graphs import (
    functional_view,
    is_graph_model,
    run_graph,
    standardized_inputs,
)
from keras_zigzag.inner_models import enter_inner, run_inner

Tensor = Any


@dataclass(frozen=True)
class Noisy:
    """A tensor of the network and its moments under the noise.

    Attributes:
        value: Tensor as the network computes it without noise.
        moments: `Moments`, float32.
    """

    value: Tensor
    moments: Moments


class MaskReader(keras.layers.Layer):
    """Ones where a sequence goes on, zeros where it is masked.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            return ops.ones_like(inputs[..., 0])
        return ops.cast(mask, "float32")


class Propagation:
    """Runs a network once, with its moments behind the first noise.

    Reference: [Postels et al., 2019](https://arxiv.org/abs/1908.00598).

    Args:
        network: Functional model.
        names: List with the names of the layers whose noise counts, or `None`
            for all that have any.
    """

    def __init__(self, network: keras.Model, names: list[str] | None):
        self.network = functional_view(network)
        self.names = names
        self._read_mask = MaskReader(dtype="float32")

    def __call__(self, inputs: Any) -> Any:
        """The outputs, as `Noisy` where noise reaches them."""
        tensors = standardized_inputs(self.network, inputs)
        return run_graph(self.network, tensors, self._call)

    def is_source(self, layer: Any) -> bool:
        """Whether noise is injected by this layer."""
        return is_noise(layer) and (
            self.names is None or layer.name in self.names
        )

    def reached(self) -> list[bool]:
        """Whether noise reaches each output.

        Raises:
            ValueError: If it meets a layer without a rule.
        """
        return reached_outputs(self.network, self.is_source, rule_for)

    def _call(self, layer: Any, *args: Any, **kwargs: Any) -> Any:
        if is_graph_model(layer):
            return run_inner(layer, args, kwargs, self._call, _entered)
        value = _called(layer, *_mapped(_value, args, kwargs))
        leaves = keras.tree.flatten((args, kwargs))
        if self.is_source(layer):
            before = _moments(first_argument(args, kwargs))
            return Noisy(value, noisy(layer, before))
        if not any(isinstance(leaf, Noisy) for leaf in leaves):
            return value
        return Noisy(value, self._moments_behind(layer, args, kwargs))

    def _moments_behind(self, layer: Any, args: Any, kwargs: Any) -> Moments:
        if is_moving(layer):
            return _moved(layer, args, kwargs)
        rule = rule_for(layer)
        inputs: Any = (args, kwargs)
        if isinstance(layer, keras.layers.Layer):
            inputs = first_argument(args, kwargs)
        leaves = keras.tree.flatten(inputs)
        moments = [_moments(leaf) for leaf in leaves]
        if type(layer).__name__ == "GlobalAveragePooling1D":
            weight = self._read_mask(_value(leaves[0]))
            (x,) = moments
            moments = [Moments(x.mean, x.variance, weight)]
        return rule(layer, *moments)


def reached_outputs(
    network: keras.Model,
    is_source: Callable[[Any], bool],
    check: Callable[[Any], Any] = lambda layer: None,
) -> list[bool]:
    """Which outputs of a network depend on some of its layers.

    Args:
        network: Functional or Sequential model.
        is_source: Function that tells these layers.
        check: Function of each layer behind one of them.
    """

    before, behind = object(), object()

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        if is_graph_model(layer):
            return run_inner(layer, args, kwargs, call, enter=None)
        is_behind = behind in keras.tree.flatten((args, kwargs))
        if is_behind:
            check(layer)
        is_reached = is_behind or is_source(layer)
        count = len(keras.tree.flatten(layer.output))
        return [behind if is_reached else before] * count

    view = functional_view(network)
    outputs = run_graph(view, [before] * len(view.inputs), call)
    return [output is behind for output in keras.tree.flatten(outputs)]


def num_to_reach_all(network: keras.Model, layers: list[Any]) -> int | None:
    """How many of the last of some layers reach all outputs of a network.

    Args:
        network: Functional or Sequential model.
        layers: List of layers, from first to last.

    Returns:
        Integer, or `None` if not even all of them do.
    """
    for count in range(1, len(layers) + 1):
        last = layers[len(layers) - count :]
        if all(reached_outputs(network, last.__contains__)):
            return count
    return None


def _entered(tensor: Any, known: Any, mask: Any) -> Any:
    if not isinstance(tensor, Noisy):
        return enter_inner(tensor, known, mask)
    return Noisy(enter_inner(tensor.value, known, mask), tensor.moments)


def first_argument(args: tuple, kwargs: dict) -> Any:
    return args[0] if args else next(iter(kwargs.values()))


def _called(layer: Any, args: tuple, kwargs: dict) -> Any:
    """Calls a layer as at inference."""
    if "training" in inspect.signature(layer.call).parameters:
        kwargs = kwargs | {"training": False}
    return layer(*args, **kwargs)


def _moved(layer: Any, args: tuple, kwargs: dict) -> Moments:
    # Not through `__call__`, which may cast to half precision.
    mean, variance = (
        layer.call(*each_args, **each_kwargs)
        for each_args, each_kwargs in (
            _mapped(lambda leaf: _moments(leaf).mean, args, kwargs),
            _mapped(lambda leaf: _moments(leaf).spread, args, kwargs),
        )
    )
    return Moments(mean, variance)


def _mapped(function: Callable[[Noisy], Any], args: tuple, kwargs: dict) -> Any:
    """The arguments with something else in the place of `Noisy` ones."""
    return keras.tree.map_structure(
        lambda leaf: function(leaf) if isinstance(leaf, Noisy) else leaf,
        (args, kwargs),
    )


def _value(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, Noisy) else leaf


def _moments(leaf: Any) -> Moments:
    if isinstance(leaf, Noisy):
        return leaf.moments
    return Moments(ops.cast(ops.convert_to_tensor(leaf), "float32"))
