"""Callbacks that others depend on go first."""

import inspect
from types import FrameType
from typing import Any

import keras


def with_first(
    callbacks: Any, callback: keras.callbacks.Callback, model: keras.Model
) -> Any:
    """The callbacks of `fit` and another one, which goes first.

    A `keras.callbacks.CallbackList` is the user's, who may give it again: it
    gets the callback in the place of an earlier one of its class.

    Args:
        callbacks: As `fit` takes them.
        callback: The callback to add.
        model: The model that is to be trained.
    """
    if not isinstance(callbacks, keras.callbacks.CallbackList):
        return [callback, *keras.tree.flatten(callbacks or [])]
    callback.set_model(model)
    others = [
        one for one in callbacks.callbacks if type(one) is not type(callback)
    ]
    callbacks.callbacks[:] = [callback, *others]
    return callbacks


def move_to_front(callback: keras.callbacks.Callback) -> None:
    """Makes a callback the first of the list that is calling it.

    To be called in `on_train_begin`: all callbacks of a list get one and the
    same `logs`, so what the first one puts in, all others see. The list
    calls its callbacks one after the other, and none is skipped if one that
    is being called moves forward.

    Args:
        callback: A callback whose `on_train_begin` is being called.
    """
    callbacks = _calling_list(inspect.currentframe(), callback)
    # Another loop than Keras's has an order of its own.
    if callbacks is not None:
        callbacks.remove(callback)
        callbacks.insert(0, callback)


def _calling_list(
    frame: FrameType | None, callback: keras.callbacks.Callback
) -> list[keras.callbacks.Callback] | None:
    # Keras does not tell a callback which list it is in; the caller knows.
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, keras.callbacks.CallbackList):
            if any(member is callback for member in owner.callbacks):
                return owner.callbacks
        frame = frame.f_back
    return None
