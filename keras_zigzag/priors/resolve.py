"""From a task, a name or an object to the prior of a base model."""

from typing import Any

import keras

from keras_zigzag.activations import output_activations
from keras_zigzag.priors.binary_prior import BinaryPrior
from keras_zigzag.priors.index_prior import IndexPrior
from keras_zigzag.priors.joint_prior import JointPrior
from keras_zigzag.priors.one_hot_prior import OneHotPrior
from keras_zigzag.priors.prior import Prior
from keras_zigzag.priors.value_prior import ValuePrior

TASKS = {
    "classification": "one_hot",
    "regression": "value",
    "binary": "binary",
}
PRIORS = {
    "one_hot": lambda logits: OneHotPrior(from_logits=logits),
    "binary": lambda logits: BinaryPrior(from_logits=logits),
    "value": lambda logits: ValuePrior(),
    "index": lambda logits: IndexPrior(from_logits=logits),
    "scaled_index": lambda logits: IndexPrior(
        blank=0.0, scale=0.1, offset=1.0, from_logits=logits
    ),
}


def get(identifier: str | dict | Prior, from_logits: bool = False) -> Prior:
    """Looks up a prior by name.

    Args:
        identifier: A `Prior`, its serialised config, or one of `"one_hot"`,
            `"binary"`, `"value"`, `"index"` and `"scaled_index"`.
        from_logits: Boolean. Whether the outputs of the base model are
            logits. Used with a name only. Defaults to `False`.

    Returns:
        A `Prior`.

    Raises:
        ValueError: If there is no such prior.

    Example:

    >>> keras_zigzag.priors.get("index").blank
    -20.0
    """
    if isinstance(identifier, Prior):
        return identifier
    if isinstance(identifier, dict):
        return keras.saving.deserialize_keras_object(identifier)
    if identifier in PRIORS:
        return PRIORS[identifier](from_logits)
    raise ValueError(
        f"Unknown prior. Expected one of {sorted(PRIORS)} or a "
        f"`keras_zigzag.priors.Prior`. Received: prior={identifier!r}"
    )


def resolve(base: keras.Model, task: Any = None, prior: Any = None) -> Prior:
    """The built prior that fits a base model.

    Args:
        base: Keras model, built.
        task: `"classification"`, `"regression"`, `"binary"`, or a structure
            of them with one entry per output. Defaults to `None`.
        prior: A `Prior`, a name, or a structure of them with one entry per
            output. Takes precedence over `task`. Defaults to `None`.

    Returns:
        A built `Prior`.

    Raises:
        ValueError: If neither is given, a name is unknown, or the prior does
            not fit the output of the base model.
    """
    chosen = prior if prior is not None else _names_of_tasks(task)
    outputs = base.output
    if keras.tree.is_nested(outputs) and not _is_single(outputs):
        return _joint(base, chosen)
    if isinstance(chosen, (list, tuple)) and len(chosen) == 1:
        (chosen,) = chosen
    output = keras.tree.flatten(outputs)[0]
    (activation,) = output_activations(base)
    found = get(chosen, from_logits=activation == "linear")
    if not found.built:
        found.build(output.shape)
    return found


def _joint(base: keras.Model, chosen: Any) -> Prior:
    if isinstance(chosen, JointPrior):
        found = chosen
    else:
        structure = _one_per_output(base, chosen)
        names = output_keys(base.output)
        activations = output_activations(base)
        priors = [
            get(one, from_logits=activation == "linear")
            for one, activation in zip(structure, activations, strict=True)
        ]
        is_dict = isinstance(base.output, dict)
        found = JointPrior(
            dict(zip(names, priors, strict=True)) if is_dict else priors,
            output_names=list(base.output_names),
        )
    if not found.built:
        found.build(
            keras.tree.map_structure(lambda tensor: tensor.shape, base.output)
        )
    return found


def output_keys(outputs: Any) -> list[Any]:
    """Keys of the outputs in the order in which Keras flattens them."""
    if isinstance(outputs, dict):
        return sorted(outputs)
    return list(range(len(outputs)))


def _one_per_output(base: keras.Model, chosen: Any) -> list[Any]:
    keys = output_keys(base.output)
    if isinstance(chosen, (str, Prior)):
        return [chosen] * len(keys) if isinstance(chosen, str) else [chosen]
    if isinstance(chosen, dict) and not isinstance(base.output, dict):
        keys = list(base.output_names)
    try:
        return [chosen[key] for key in keys]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(
            "Give one task or prior per output of the base model, that is, "
            f"for {keys}. Received: {chosen!r}"
        ) from error


def _names_of_tasks(task: Any) -> Any:
    if task is None:
        raise ValueError(
            "Say what the model predicts: `task=` one of "
            f"{sorted(TASKS)}, or `prior=`. Received: task=None, prior=None"
        )
    return keras.tree.map_structure(_name_of_task, task)


def _name_of_task(task: Any) -> str:
    if not isinstance(task, str) or task not in TASKS:
        raise ValueError(
            f"Unknown task. Expected one of {sorted(TASKS)}. "
            f"Received: task={task!r}"
        )
    return TASKS[task]


def _is_single(outputs: Any) -> bool:
    return isinstance(outputs, (list, tuple)) and len(outputs) == 1
