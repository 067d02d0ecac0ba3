import functools
import inspect
from typing import Any

from keras import layers

# Layers of Keras that keep features apart, whatever axes their weights have.
ELEMENTWISE = (
    layers.PReLU,
    layers.BatchNormalization,
    layers.LayerNormalization,
    layers.GroupNormalization,
)


def is_of_keras(thing: Any) -> bool:
    """Whether Keras itself wrote this.

    A subclass of the user's own may do something else under the same name.

    Args:
        thing: Class or function; of any other object its class counts, of a
            `functools.partial` its function.
    """
    while isinstance(thing, functools.partial):
        thing = thing.func
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        thing = type(thing)
    return (thing.__module__ or "").startswith("keras.")
