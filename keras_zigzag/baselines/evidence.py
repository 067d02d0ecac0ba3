"""What an evidential network gives, how it is made of an ordinary one."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_zigzag.activations import output_activations
from keras_zigzag.baselines.answers import Answers, prediction_of
from keras_zigzag.baselines.dirichlet import (
    Dirichlet,
    DirichletLoss,
    DirichletMean,
    check_evidence,
)
from keras_zigzag.baselines.heads import logits_before, with_heads, with_logits
from keras_zigzag.baselines.normal_inverse_gamma import (
    HEADS,
    NormalInverseGamma,
    NormalInverseGammaLoss,
)
from keras_zigzag.baselines.opened_ends import names_in, unused_name
from keras_zigzag.graphs import functional_view

Tensor = Any
OWN_LOSS = "evidential"
LOSSES = {
    "classification": DirichletLoss,
    "regression": NormalInverseGammaLoss,
}


class EvidentialOutputs(NamedTuple):
    """What the losses need of an evidential network.

    Attributes:
        prediction: Outputs in the structure of the base model's.
        parameters: List, one tensor per output, of a `Dirichlet` or a
            `NormalInverseGamma`.
        weight: Number, weight of the divergence from the uniform Dirichlet.
    """

    prediction: Any
    parameters: list[Tensor]
    weight: Tensor


class EvidentialAnswers(Answers):
    """How to read the outputs of an evidential network.

    Args:
        model: Functional model with the outputs of the base model.
        task: As of `EvidentialModel`.
        losses: Dictionary from tasks to the loss of such an output.
    """

    def __init__(self, model: keras.Model, task: Any, losses: dict[str, Any]):
        super().__init__(model, task)
        check_tasks(self.tasks)
        self._losses = losses
        self._joined = {
            "classification": WithWeight(dtype="float32"),
            "regression": WithMean(dtype="float32"),
        }

    def for_loss(self, outputs: Any) -> Any:
        prediction = prediction_of(outputs)
        leaves = self.flat(prediction)
        if not isinstance(outputs, EvidentialOutputs):
            # Keras asks for the shapes only, before it trains.
            outputs = self._without_evidence(prediction, leaves)
        joined = []
        for task, leaf, one in zip(
            self.tasks, leaves, outputs.parameters, strict=True
        ):
            other = outputs.weight if task == "classification" else leaf
            joined.append(self._joined[task]([one, other]))
        return self.pack(joined)

    def check_loss(self, loss: Any) -> None:
        for task, one in zip(self.tasks, self.flat_loss(loss), strict=True):
            if one in (None, OWN_LOSS) or isinstance(one, LOSSES[task]):
                continue
            option = (
                "`objective`" if task == "classification" else "`coefficient`"
            )
            raise ValueError(
                "Evidence is learnt with a loss of its own, not with one of "
                "probabilities, logits or values. Received: "
                f"loss={one!r}. Leave the loss out, or give {OWN_LOSS!r}; "
                f"{option} of the model says which it is."
            )

    def with_own_loss(self, loss: Any) -> Any:
        return self.with_losses(
            loss,
            lambda task, one: (
                self._losses[task] if one in (None, OWN_LOSS) else one
            ),
        )

    def _without_evidence(
        self, prediction: Any, leaves: list[Tensor]
    ) -> EvidentialOutputs:
        parameters = [
            ops.ones_like(leaf)
            if task == "classification"
            else ops.stack([ops.ones_like(leaf)] * len(HEADS), axis=-1)
            for task, leaf in zip(self.tasks, leaves, strict=True)
        ]
        return EvidentialOutputs(prediction, parameters, ops.zeros(()))


@keras.saving.register_keras_serializable(package="keras_zigzag")
class WithWeight(keras.layers.Layer):
    """Parameters and one number in one tensor, with their mask.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of a tensor of shape `(batch_size, ..., num_classes)` and a
    number.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: list[Tensor]) -> Tensor:
        parameters, number = inputs
        column = ops.ones_like(parameters[..., :1]) * number
        return ops.concatenate([parameters, column], axis=-1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask[0] if isinstance(mask, (list, tuple)) else mask


@keras.saving.register_keras_serializable(package="keras_zigzag")
class WithMean(WithWeight):
    """Means and the other parameters in one tensor, with their mask.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of a tensor of shape `(batch_size, ..., 3)` and one of shape
    `(batch_size, ...)`.
    """

    def call(self, inputs: list[Tensor]) -> Tensor:
        parameters, mean = inputs
        return ops.concatenate([ops.expand_dims(mean, -1), parameters], axis=-1)


def with_evidence(
    network: keras.Model, task: Any, evidence: str
) -> keras.Model:
    """Makes a network evidential.

    Args:
        network: Functional model, which becomes part of the result.
        task: As of `EvidentialModel`.
        evidence: String, see `Dirichlet`.

    Returns:
        Functional model with the outputs `[prediction, [parameters]]`.

    Raises:
        ValueError: If the logits of a classification cannot be told, or a
            value does not come from a layer with a kernel.
    """
    network = functional_view(network)
    check_evidence(evidence)
    answers = Answers(network, task)
    check_tasks(answers.tasks)
    _check_ends(network, answers)
    names, dtypes = network.output_names, [o.dtype for o in network.outputs]
    is_value = [one == "regression" for one in answers.tasks]
    has_softmax = [
        not (value or answers.from_logits(index))
        for index, value in enumerate(is_value)
    ]
    network = with_logits(network, has_softmax)
    network = with_heads(network, is_value, HEADS)
    outputs, heads = network.output[0], iter(network.output[1])
    prediction, parameters = [], []
    for index, tensor in enumerate(keras.tree.flatten(outputs)):
        if is_value[index]:
            prediction.append(tensor)
            parameters.append(NormalInverseGamma()(next(heads)))
            continue
        logits, regularizer = tensor, None
        if has_softmax[index]:
            logits = logits_before(tensor)
            # The mean takes the place of these probabilities.
            regularizer = tensor._keras_history.operation.activity_regularizer
        alpha = Dirichlet(evidence)(logits)
        mean = DirichletMean(
            from_logits=not has_softmax[index],
            activity_regularizer=regularizer,
            dtype=dtypes[index],
            name=_freed(network, names, index),
        )
        prediction.append(mean(alpha))
        parameters.append(alpha)
    packed = keras.tree.pack_sequence_as(outputs, prediction)
    return keras.Model(network.input, [packed, parameters], name=network.name)


def check_tasks(tasks: list[str]) -> None:
    """Raises a `ValueError` if there is a task without evidence."""
    if "binary" in tasks:
        raise ValueError(
            "Evidence is collected for each class. Received: task='binary'. "
            "Give the base model two outputs, one for no and one for yes, "
            "and `task='classification'`."
        )


def _check_ends(network: keras.Model, answers: Answers) -> None:
    for task, end in zip(
        answers.tasks, output_activations(network), strict=True
    ):
        if task == "classification" and end == "log_softmax":
            raise ValueError(
                "Evidence is made of logits, and the logarithms of "
                "probabilities are none: there is no evidence below zero. "
                "Received: a base model that ends in a log-softmax. End it "
                "in a linear layer or in a softmax."
            )


def _freed(network: keras.Model, names: list[str], index: int) -> str | None:
    """The name of an output, taken from the layer that had it.

    Losses and metrics can then be given by the names of the base model.
    """
    name = names[index]
    if names.count(name) > 1:
        return None
    for layer in network.layers:
        if layer.name == name:
            layer.name = unused_name(f"{name}_logits", names_in(network))
    return name
