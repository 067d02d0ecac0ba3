"""Where the heads of a network begin."""

from collections.abc import Iterable
from typing import Any

import keras

from keras_zigzag.graphs import (
    functional_view,
    is_graph_model,
    layers_in_order,
    names_of_outputs,
    run_graph,
)
from keras_zigzag.inner_models import inputs_of_call, run_inner
from keras_zigzag.rewriting import mixing_layers

NUM_LAYERS = 2
# In the place of a tensor; layers are also called on `True`.
DEPENDS = object()


def head_starts(base: keras.Model, heads_from: Any) -> list[Any]:
    """The layers from which on a network has heads.

    Args:
        base: Functional or Sequential model.
        heads_from: Name of a layer or list of names; `None` for the last two
            layers that mix features on the way to an output. Where that
            would leave none of them before the heads, for the last one.

    Returns:
        List of layers.

    Raises:
        ValueError: If a name is unknown, an output does not depend on such a
            layer, or no layer mixes features.
    """
    if heads_from is None:
        starts = _last_layers(base)
    else:
        starts = [_named(base, name) for name in _as_names(heads_from)]
    flow = Flow(base, starts)
    _check_outputs(
        base,
        flow,
        "Every output must depend on the layer from which on there are "
        "several heads, and the outputs {} do not.",
        heads_from,
    )
    learning = [
        layer
        for layer in layers_in_order(base)
        if id(layer) not in flow.outside
        and not is_graph_model(layer)
        and getattr(layer, "trainable_weights", [])
    ]
    _check_outputs(
        base,
        Flow(base, learning),
        "Heads differ by what they learn, and on the way to the outputs {} no "
        "layer of theirs has trainable weights.",
        heads_from,
    )
    return starts


def last_layers(base: keras.Model) -> list[Any]:
    """The last layer that mixes features before each output."""
    order = Order(base)
    found = [order.calls[call] for call in sorted(order.last)]
    return list({id(layer): layer for layer in found}.values())


class Flow:
    """What of a graph depends on some of its layers.

    Args:
        base: Functional or Sequential model.
        starts: List of layers.

    Attributes:
        depends: Structure of Booleans, which of the outputs do.
        outside: Set with the ids of the layers that are also called on what
            does not.
    """

    def __init__(self, base: keras.Model, starts: Iterable[Any]):
        self._starts = {id(layer) for layer in starts}
        self.outside: set[int] = set()
        view = functional_view(base)
        inputs = keras.tree.map_structure(lambda _: False, view.input)
        self.depends = keras.tree.map_structure(
            lambda leaf: leaf is DEPENDS, run_graph(view, inputs, self._call)
        )

    def _call(self, layer: Any, *args: Any, **kwargs: Any) -> Any:
        starts = id(layer) in self._starts
        if is_graph_model(layer):
            if starts:
                inputs = inputs_of_call(args, kwargs)
                args = (keras.tree.map_structure(lambda _: DEPENDS, inputs),)
                kwargs = {}
            return run_inner(layer, args, kwargs, self._call, enter=None)
        depends = starts or any(
            leaf is DEPENDS for leaf in keras.tree.flatten((args, kwargs))
        )
        if not depends:
            self.outside.add(id(layer))
        return _like_outputs(layer, DEPENDS if depends else False)


class Order:
    """Which calls of layers that mix features follow which.

    Args:
        base: Functional or Sequential model.

    Attributes:
        calls: List of the layers, one for each call, in order.
        before: List with the numbers of the calls that each reads.
        last: Set with the numbers of the calls that the outputs read.
    """

    def __init__(self, base: keras.Model):
        self._mixing = {id(layer) for layer in mixing_layers(base)}
        self.calls: list[Any] = []
        self.before: list[set[int]] = []
        view = functional_view(base)
        inputs = keras.tree.map_structure(lambda _: Nearest(), view.input)
        outputs = run_graph(view, inputs, self._call)
        self.last = _union(outputs)

    def _call(self, layer: Any, *args: Any, **kwargs: Any) -> Any:
        if is_graph_model(layer):
            return run_inner(layer, args, kwargs, self._call, enter=None)
        nearest = _union((args, kwargs))
        if id(layer) in self._mixing:
            nearest, before = {len(self.calls)}, nearest
            self.calls.append(layer)
            self.before.append(before)
        return _like_outputs(layer, Nearest(nearest))


class Nearest:
    """The last calls of layers that mix features before a tensor."""

    def __init__(self, calls: Iterable[int] = ()):
        self.calls = set(calls)


def _union(structure: Any) -> set[int]:
    found: set[int] = set()
    for leaf in keras.tree.flatten(structure):
        if isinstance(leaf, Nearest):
            found |= leaf.calls
    return found


def _like_outputs(layer: Any, value: Any) -> list[Any]:
    node, *_ = layer._inbound_nodes
    return [value for _ in node.outputs]


def _depths(order: Order) -> list[int]:
    """How many calls that mix features there are from each to an output."""
    depths = [int(call in order.last) for call in range(len(order.calls))]
    for call in reversed(range(len(depths))):
        for earlier in order.before[call]:
            if depths[call]:
                depths[earlier] = max(depths[earlier], depths[call] + 1)
    return depths


def _last_layers(base: keras.Model) -> list[Any]:
    order = Order(base)
    depths = _depths(order)
    deepest = max(depths, default=0)
    if deepest == 0:
        raise ValueError(
            "The heads begin at layers that can learn to mix features, such "
            "as `Dense` or `Conv2D`. Received: the base model "
            f"{base.name!r}, which has none. Say where with `heads_from`."
        )
    count = max(min(NUM_LAYERS, deepest - 1), 1)
    starts: dict[int, Any] = {}
    early: set[int] = set()
    for call, layer in enumerate(order.calls):
        # An output may be what the layers of another one read.
        if 1 <= depths[call] <= count or call in order.last:
            starts[id(layer)] = layer
        elif depths[call]:
            early.add(id(layer))
    # Heads would begin where a layer is called first.
    late = [layer for key, layer in starts.items() if key not in early]
    return late or list(starts.values())


def _as_names(heads_from: Any) -> list[str]:
    names = [heads_from] if isinstance(heads_from, str) else heads_from
    if (
        not isinstance(names, (list, tuple))
        or not names
        or not all(isinstance(name, str) for name in names)
    ):
        raise ValueError(
            "`heads_from` must be the name of a layer, or a list of names. "
            f"Received: heads_from={heads_from!r}"
        )
    return list(names)


def _named(base: keras.Model, name: str) -> Any:
    layers = [
        layer
        for layer in layers_in_order(base)
        if not isinstance(layer, keras.layers.InputLayer)
    ]
    for layer in layers:
        if layer.name == name:
            return layer
    raise ValueError(
        f"The base model has no layer {name!r} in its graph. "
        f"Received: heads_from={name!r}. Its layers are "
        f"{[layer.name for layer in layers]}."
    )


def _check_outputs(
    base: keras.Model, flow: Flow, problem: str, heads_from: Any
) -> None:
    """Raises a `ValueError` if an output does not depend on the layers."""
    names = names_of_outputs(functional_view(base))
    depends = keras.tree.flatten(flow.depends)
    left = [name for name, one in zip(names, depends, strict=True) if not one]
    if left:
        raise ValueError(
            f"{problem.format(left)} Received: heads_from={heads_from!r}. Name "
            "a layer that comes earlier, or give a list of layers."
        )
