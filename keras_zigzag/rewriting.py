"""Copies of Keras graphs in which some layers are replaced."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras

from keras_zigzag.call_arguments import Arguments, first_features, replace
from keras_zigzag.copying import copy_layer, copy_state
from keras_zigzag.graphs import (
    functional_view,
    input_like,
    is_graph_model,
    plain_functional,
)
from keras_zigzag.wide_layer import has_kernel


def call_again(
    model: keras.Model, call: Callable, inputs: Any = None
) -> keras.Model:
    """Goes through the graph of a model, in order, layer by layer.

    Args:
        model: Functional model.
        call: Function of `(layer, *args, **kwargs)` that returns what goes on
            in the place of the layer's outputs.
        inputs: Symbolic tensors that the new graph starts from. Defaults to
            new ones.

    Returns:
        Functional model of the new graph.
    """
    if inputs is None:
        # Those of Keras forget what is optional.
        inputs = keras.tree.map_structure(input_like, model.input)
    return keras.models.clone_model(
        plain_functional(model),
        input_tensors=inputs,
        clone_function=lambda layer: layer,
        call_function=call,
    )


class Copy(NamedTuple):
    """What takes the place of a layer."""

    source: Any
    layer: Any
    is_replaced: bool


class Rewriting:
    """A copy of a model, and of the models in it, with its weights.

    A subclass says what takes the place of a layer, or does something else
    where a layer is called. A layer that is called several times stays one
    layer.
    """

    def __init__(self) -> None:
        # They hold the layers, so that no id is given to another.
        self._copies: dict[int, Copy] = {}

    def replacement(self, layer: Any) -> Any:
        """A new layer for this one, or `None` for a copy."""
        return None

    def called(self, layer: Any, copy: Any, args: tuple, kwargs: dict) -> Any:
        """The outputs of what takes the place of a layer.

        Args:
            layer: Layer of the base model.
            copy: What takes its place.
            args: Its arguments, in the new graph.
            kwargs: The same by name.
        """
        return copy(*args, **kwargs)

    def take_weights(self, layer: Any, replacement: Any) -> None:
        """Gives a replacement, which is built, the weights of the layer."""

    def arguments(self, layer: Any, args: tuple, kwargs: dict) -> Any:
        """The `(args, kwargs)` in the new graph that a copy gets."""
        return args, kwargs

    def rewritten(
        self, model: keras.Model, arguments: Any = None
    ) -> keras.Model:
        """The copy of a Functional or Sequential model, as a Functional.

        Args:
            model: The model.
            arguments: The arguments of its first call if it is an inner
                model.
        """
        return call_again(functional_view(model), self._call)

    def _call(self, layer: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self.arguments(layer, args, kwargs)
        is_new = id(layer) not in self._copies
        if is_new:
            self._copies[id(layer)] = self._copied(layer, (args, kwargs))
        copy = self._copies[id(layer)]
        outputs = self.called(layer, copy.layer, args, kwargs)
        if is_new and copy.is_replaced:
            self.take_weights(layer, copy.layer)
        elif is_new and copy.layer is not layer and not is_graph_model(layer):
            copy_state(layer, copy.layer)
        return outputs

    def _copied(self, layer: Any, arguments: Any) -> Copy:
        replacement = self.replacement(layer)
        if replacement is not None:
            return Copy(layer, replacement, True)
        if is_graph_model(layer):
            return Copy(layer, self.rewritten(layer, arguments), False)
        return Copy(layer, copy_layer(layer), False)


def put_before(
    layer: Any, arguments: Arguments, make: Callable[[], Any]
) -> Arguments:
    """The arguments of a call with another layer in front of it.

    Args:
        layer: The layer that is called.
        arguments: Its `(args, kwargs)`.
        make: Function that makes the other layer, if there are features for
            it.
    """
    features = first_features(layer, arguments)
    if features is None:
        return arguments
    return replace(layer, arguments, features, make()(features))


def mixing_layers(
    model: keras.Model, mixes: Callable[[Any], bool] = has_kernel
) -> list[Any]:
    """Layers with a kernel, also in inner models, from first to last.

    Args:
        model: Functional or Sequential model.
        mixes: Function that says whether a layer has a kernel. Defaults to
            `has_kernel`, whether it has one that can learn.
    """
    found: list[Any] = []
    for layer in functional_view(model).operations:
        if is_graph_model(layer):
            inner = mixing_layers(layer, mixes)
            found += [one for one in inner if one not in found]
        elif layer not in found and mixes(layer):
            found.append(layer)
    return found


def last_mixing_layers(
    model: keras.Model,
    count: int | None,
    classes: tuple[type, ...] = (),
    mixes: Callable[[Any], bool] = has_kernel,
) -> list[Any]:
    """The last layers with a kernel.

    Args:
        model: Functional or Sequential model.
        count: Integer, or `None` for all.
        classes: Classes of layers to choose from. Defaults to all.
        mixes: As for `mixing_layers`.

    Raises:
        ValueError: If there are not as many.
    """
    found = [
        layer
        for layer in mixing_layers(model, mixes)
        if not classes or type(layer) in classes
    ]
    if count is None:
        return found
    if count > len(found):
        names = ", ".join(one.__name__ for one in classes)
        kinds = f" of the classes {names}" if names else ""
        raise ValueError(
            f"The base model has {len(found)} layers with a kernel{kinds}. "
            f"Received: layers={count}. Give at most as many."
        )
    return found[len(found) - count :]
