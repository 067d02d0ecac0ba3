"""What a prior has to know about the loss that it will meet."""

import functools
import inspect
from typing import Any

import keras

from keras_zigzag.of_keras import is_of_keras

# Of losses, what is asked for here.
ARGUMENTS = ("from_logits", "ignore_class")


def check_from_logits(
    loss: Any, from_logits: bool | None, activation: str
) -> None:
    """Raises if the loss and the output disagree about logits.

    Args:
        loss: Loss of one output: a string, an object or a callable.
        from_logits: Boolean. Whether the output is linear; `None` where it is
            not known, which is taken for probabilities.
        activation: String. Activation that would make it probabilities.

    Raises:
        ValueError: If they disagree. It says which of the two to change.
    """
    expected = loss_from_logits(loss)
    if expected is None or bool(expected) == bool(from_logits):
        return
    if from_logits:
        raise ValueError(
            "The base model ends in a linear layer, so its outputs are "
            "logits, but the loss expects probabilities. "
            f"Received: loss={loss!r}. Either give the loss "
            "`from_logits=True`, or end the base model with "
            f"`activation='{activation}'`."
        )
    raise ValueError(
        "The outputs of the base model are taken for probabilities, but the "
        f"loss expects logits. Received: loss={loss!r} with "
        "`from_logits=True`. Either give the loss `from_logits=False` and "
        f"end the base model with `activation='{activation}'`, or make its "
        "last layer linear. If it gives logits already, say so with a prior "
        "of `from_logits=True`."
    )


def loss_from_logits(loss: Any) -> bool | None:
    """Whether a loss expects logits; `None` where it has no say in it."""
    function, given = parts(loss)
    if "from_logits" in given:
        return given["from_logits"]
    if inspect.isclass(function) or not is_of_keras(function):
        return None
    # `binary_crossentropy` and its like, by default of probabilities.
    parameter = inspect.signature(function).parameters.get("from_logits")
    return None if parameter is None else parameter.default


def check_labels_of(
    loss: Any, has_integers: bool, shape: tuple[int, ...]
) -> None:
    """Raises if a loss takes the other kind of labels of classes.

    Args:
        loss: Loss of one output: a string, an object or a callable.
        has_integers: Boolean. Whether the labels are class indices.
        shape: Tuple. That of the labels.

    Raises:
        ValueError: If it does. It says which of the two to change.
    """
    wants_integers = takes_integers(loss)
    if wants_integers is None or wants_integers == has_integers:
        return
    if has_integers:
        raise ValueError(
            "The loss takes one-hot labels, and these are class indices. "
            f"Received: loss={loss!r} and y of shape {shape}. Either give "
            "`loss='sparse_categorical_crossentropy'`, or labels made by "
            "`keras.utils.to_categorical(y)`."
        )
    raise ValueError(
        "The loss takes class indices, and these are one-hot labels. "
        f"Received: loss={loss!r} and y of shape {shape}. Either give "
        "`loss='categorical_crossentropy'`, or the labels `y.argmax(-1)`."
    )


def takes_integers(loss: Any) -> bool | None:
    """Whether a loss of Keras takes class indices, or one value per class.

    `None` where it is not known.
    """
    function, _ = parts(loss)
    if not is_of_keras(function):
        return None
    name = function.__name__.lower().replace("_", "")
    if name.startswith("ctc"):
        return None
    return name.startswith(("sparse", "categoricalgeneralized"))


def ignored_class(loss: Any) -> int | None:
    """The label that a loss leaves out, as 255 in many segmentation sets."""
    _, given = parts(loss)
    return given.get("ignore_class")


def parts(loss: Any) -> tuple[Any, dict[str, Any]]:
    """The class or function of a loss, and those arguments that it has.

    Args:
        loss: Loss of one output: a string, an object or a callable.
    """
    if isinstance(loss, (str, dict)):
        loss = keras.losses.get(loss)
    if isinstance(loss, keras.losses.Loss):
        names = [name for name in ARGUMENTS if hasattr(loss, name)]
        return type(loss), {name: getattr(loss, name) for name in names}
    given: dict[str, Any] = {}
    while isinstance(loss, functools.partial):
        given = {**loss.keywords, **given}
        loss = loss.func
    return loss, given
