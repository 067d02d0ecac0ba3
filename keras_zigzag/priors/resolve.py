"""From a task, a name or an object to the prior of a base model."""

from typing import Any

import keras

from keras_zigzag.activations import gives_logits, output_activations
from keras_zigzag.copying import copy_layer, copy_state
from keras_zigzag.graphs import (
    functional_view,
    is_graph_model,
    names_of_outputs,
)
from keras_zigzag.priors.binary_prior import BinaryPrior
from keras_zigzag.priors.index_prior import IndexPrior
from keras_zigzag.priors.joint_prior import JointPrior
from keras_zigzag.priors.one_hot_prior import OneHotPrior
from keras_zigzag.priors.prior import Prior, Shape, only
from keras_zigzag.priors.value_prior import ValuePrior

TASKS = {
    "classification": "one_hot",
    "regression": "value",
    "binary": "binary",
}
SOFTMAX = ("softmax", "log_softmax")
PROBABILITIES = ("softmax", "sigmoid")
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
    if isinstance(identifier, dict) and "class_name" in identifier:
        return keras.saving.deserialize_keras_object(identifier)
    if isinstance(identifier, str) and identifier in PRIORS:
        return PRIORS[identifier](from_logits)
    raise ValueError(
        f"Unknown prior. Expected one of {sorted(PRIORS)} or a "
        f"`keras_zigzag.priors.Prior`. Received: prior={identifier!r}"
    )


def resolve(model: keras.Model, task: Any = None, prior: Any = None) -> Prior:
    """The built prior that fits the outputs of a model.

    Args:
        model: Keras model, built.
        task: `"classification"`, `"regression"`, `"binary"`, or a structure
            of them with one entry per output. Defaults to `None`.
        prior: A `Prior`, a name, or a structure of them with one entry per
            output. Takes precedence over `task`. Defaults to `None`.

    Returns:
        A built `Prior`.

    Raises:
        ValueError: If neither is given, a name is unknown, or the prior does
            not fit the outputs.
    """
    chosen = prior if prior is not None else _names_of_tasks(task)
    if is_graph_model(model):
        model = functional_view(model)
    if not has_known_outputs(model):
        found = get(chosen)
        build_alone(found)
        return found
    if isinstance(chosen, Prior):
        found = chosen
    elif _has_several(model):
        found = _joint(model, chosen)
    else:
        (activation,) = output_activations(model)
        found = get(only(chosen), from_logits=gives_logits(activation))
    _tell_logits(found, model)
    fit_to_model(found, model)
    _check_binary(found, model)
    return found


def resolve_anew(
    model: keras.Model, task: Any = None, prior: Any = None
) -> Prior:
    """As `resolve`, with priors that no other model has.

    Priors that are given are copied with what they have learnt.

    Raises:
        ValueError: Likewise, or if a prior takes logits for probabilities,
            or probabilities for logits.
    """
    own = keras.tree.map_structure(
        lambda one: copy_prior(one) if isinstance(one, Prior) else one, prior
    )
    found = resolve(model, task=task, prior=own)
    _check_logits(found, model)
    return found


def copy_prior(prior: Prior) -> Prior:
    """A prior of the same config and weights."""
    if type(prior) is JointPrior:
        priors = keras.tree.map_structure(copy_prior, prior.priors)
        return JointPrior(priors, prior.output_names, name=prior.name)
    copy = copy_layer(prior)
    if prior.built:
        copy.build_from_config(prior.get_build_config())
        copy_state(prior, copy)
    return copy


def parts_of(prior: Prior) -> list[Any]:
    """The prior of each output."""
    if isinstance(prior, JointPrior):
        return keras.tree.flatten(prior.priors)
    return [prior]


def fit_to_model(prior: Prior, model: keras.Model) -> None:
    """Builds a prior for the outputs of a model, or checks that it is.

    Raises:
        ValueError: If the prior does not fit the outputs.
    """
    inputs = keras.tree.flatten(model.input)
    shapes = keras.tree.map_structure(
        lambda output: answer_shape(output, inputs), model.output
    )
    if not isinstance(prior, JointPrior):
        if len(model.outputs) > 1:
            raise ValueError(
                "Give one prior per output of the base model, that is, for "
                f"{output_keys(model.output)}. Received: prior={prior!r}"
            )
        (output,) = model.outputs
        shapes = answer_shape(output, inputs)
    prior.fit_to(shapes)


def answer_shape(output: Any, inputs: list[Any]) -> Shape:
    """Shape of an output, with an axis of channels where it has none.

    A map `(batch_size, height, width)` on an image of that size holds one
    value per pixel; its width is not a number of values.
    """
    shape = tuple(output.shape)
    is_map = len(shape) > 2 and any(
        tuple(tensor.shape[1:-1]) == shape[1:] for tensor in inputs
    )
    is_open = len(shape) > 1 and shape[-1] is None
    return (*shape, 1) if is_map or is_open else shape


def has_known_outputs(model: keras.Model) -> bool:
    """Whether the model is Functional or Sequential, and built."""
    return getattr(model, "output", None) is not None


def build_alone(prior: Prior) -> None:
    """Builds a prior for a model that does not tell its outputs."""
    if prior.built:
        return
    if prior.num_outputs is None:
        raise ValueError(
            "The outputs of a subclassed network are not known. "
            f"Received: prior={prior!r}, which was not built. Say how many "
            "values there are, as in `OneHotPrior(num_classes=10)`, or call "
            "`prior.build(output_shape)` first."
        )
    prior.build((None, prior.num_outputs))


def _joint(model: keras.Model, chosen: Any) -> JointPrior:
    activations = output_activations(model)
    priors = [
        get(one, from_logits=gives_logits(activation))
        for one, activation in zip(
            _one_per_output(model, chosen), activations, strict=True
        )
    ]
    is_dict = isinstance(model.output, dict)
    return JointPrior(
        dict(zip(output_keys(model.output), priors, strict=True))
        if is_dict
        else priors,
        output_names=list(model.output_names),
    )


def output_keys(outputs: Any) -> list[Any]:
    """Keys of the outputs in the order in which Keras flattens them."""
    entries = outputs.values() if isinstance(outputs, dict) else outputs
    if any(keras.tree.is_nested(entry) for entry in entries):
        raise ValueError(
            "The outputs of the base model must be a tensor, or a list or "
            "dictionary of tensors. Received: outputs in outputs, "
            f"{keras.tree.map_structure(lambda one: one.name, outputs)}."
        )
    if isinstance(outputs, dict):
        return sorted(outputs)
    return list(range(len(outputs)))


def _one_per_output(model: keras.Model, chosen: Any) -> list[Any]:
    keys = output_keys(model.output)
    if isinstance(chosen, str):
        return [chosen] * len(keys)
    if isinstance(chosen, dict) and not isinstance(model.output, dict):
        keys = list(model.output_names)
    given = chosen if isinstance(chosen, dict) else dict(enumerate(chosen))
    if set(given) != set(keys):
        raise ValueError(
            "Give one task or prior per output of the base model, that is, "
            f"for {keys}. Received: {chosen!r}"
        )
    return [given[key] for key in keys]


def _check_binary(prior: Prior, model: keras.Model) -> None:
    """Raises a `ValueError` for labels that would shut each other out."""
    for one, activation, name in _outputs(prior, model):
        if isinstance(one, BinaryPrior) and activation in SOFTMAX:
            raise ValueError(
                "A binary output has one probability or logit for each label, "
                "which is there or not, whatever the others are. Received: "
                f"task='binary' for the output {name!r}, which ends in a "
                f"{activation}. Give task='classification', or end the base "
                "model in a sigmoid."
            )


def _tell_logits(prior: Prior, model: keras.Model) -> None:
    """Tells priors whether they get logits, where they were not told."""
    for one, activation, _ in _outputs(prior, model):
        if getattr(one, "from_logits", False) is None:
            # Not to be set any more is what was given.
            vars(one)["from_logits"] = gives_logits(activation)


def _check_logits(prior: Prior, model: keras.Model) -> None:
    """Raises a `ValueError` if an output is known to be something else."""
    for one, activation, name in _outputs(prior, model):
        from_logits = getattr(one, "from_logits", None)
        is_logits = gives_logits(activation)
        known = is_logits or activation in PROBABILITIES
        if from_logits is None or not known or from_logits == is_logits:
            continue
        kinds = ["probabilities", "logits"]
        raise ValueError(
            f"The prior takes {kinds[from_logits]}, and the base model gives "
            f"{kinds[is_logits]}. Received: a `{type(one).__name__}` of "
            f"from_logits={from_logits} for the output {name!r}, which ends "
            f"in the activation {activation!r}. Leave `from_logits` out, or "
            "change the last layer."
        )


def _outputs(
    prior: Prior, model: keras.Model
) -> list[tuple[Any, str | None, str]]:
    """The prior, the activation and the name of each output."""
    known = output_activations(model), names_of_outputs(model)
    # Whether there are as many is for `fit_to_model` to say.
    return list(zip(parts_of(prior), *known, strict=False))


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


def _has_several(model: keras.Model) -> bool:
    """Whether answers come by name or number rather than alone."""
    return isinstance(model.output, dict) or len(model.outputs) > 1
