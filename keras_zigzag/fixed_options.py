"""Options of a constructor that stay as they were given."""

import functools
from typing import Any

import keras
from keras import ops

from keras_zigzag.model_config import SHARED_OPTIONS, argument_names

PACKAGE = __name__.partition(".")[0]


class FixedOptions:
    """Refuses to change the options of a layer or model that is made; a mixin.

    A function that is compiled already would go on with the old value, and
    what is saved would have the new one.
    """

    how_to_change = "Make another one."

    def __setattr__(self, name: str, value: Any) -> None:
        kind: Any = type(self)
        is_option = name in _options_of_package(kind)
        if is_option and getattr(self, "built", False) and hasattr(self, name):
            raise ValueError(
                f"`{name}` of a `{kind.__name__}` stays as it was given to "
                f"its constructor. Received: {name}={value!r}, set as an "
                f"attribute. {self.how_to_change}"
            )
        super().__setattr__(name, value)


def with_options(model: Any, options: dict[str, Any]) -> Any:
    """A model of the same networks and weights with other options.

    Args:
        model: `UncertaintyModel`.
        options: Dictionary of arguments of its constructor.

    Raises:
        ValueError: If an option is unknown, or the weights are not those of
            such a model.
    """
    kind: Any = type(model)
    arguments = {
        name: getattr(model, name)
        for name in _options(kind)
        if hasattr(model, name)
    }
    known = [name for name, value in arguments.items() if not _is_made(value)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(
            f"A `{kind.__name__}` has no options {unknown} that could "
            f"be changed. Expected some of: {known}. Received: "
            f"{', '.join(map(repr, options))}."
        )
    made = kind(
        **arguments | options, name=model.name, dtype=model.dtype_policy
    )
    pairs = list(zip(made.weights, model.weights, strict=False))
    if len(made.weights) != len(model.weights) or any(
        one.shape != other.shape for one, other in pairs
    ):
        raise ValueError(
            "A model with these options has other weights, which would have "
            f"to be trained. Received: {options}. Make it of a base model "
            f"with `{kind.__name__}.from_model`."
        )
    for one, other in pairs:
        if one is not other:
            # On JAX the two would hold one array, which a step gives away.
            one.assign(ops.convert_to_numpy(other))
    return made


def _options(kind: type) -> list[str]:
    """The arguments of a constructor, which are held by these names.

    Those of a user's classes, and of the class of this package that they are
    made of.
    """
    names = [
        name
        for one in kind.__mro__
        if issubclass(one, FixedOptions) and not _is_of_package(one)
        for name in argument_names(one)
    ]
    return list(dict.fromkeys([*names, *_options_of_package(kind)]))


@functools.cache
def _options_of_package(kind: type) -> tuple[str, ...]:
    """Those of the class of this package, which lists all of its own."""
    first = next(one for one in kind.__mro__ if _is_of_package(one))
    return (*argument_names(first), *SHARED_OPTIONS)


def _is_of_package(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == PACKAGE


def _is_made(value: Any) -> bool:
    """Whether it is a network, a prior or a list of networks."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_made, value))
    return isinstance(value, keras.layers.Layer)
