"""Predictions and scores of a model, batch by batch."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_zigzag.evaluation.places import Answers
from keras_zigzag.host import host_arrays
from keras_zigzag.metrics.inputs import Array
from keras_zigzag.priors.binary_prior import BinaryPrior
from keras_zigzag.priors.joint_prior import JointPrior
from keras_zigzag.priors.losses import ignored_class, loss_from_logits
from keras_zigzag.priors.one_hot_prior import OneHotPrior
from keras_zigzag.priors.value_prior import ValuePrior
from keras_zigzag.thresholded_model import ThresholdedModel
from keras_zigzag.uncertainty_model import UncertaintyModel

Score = str | Callable[[Any], Any] | None
SCORES = ("uncertainty", "entropy")
TASK_OF_PRIOR = (
    (OneHotPrior, "classification"),
    (BinaryPrior, "binary"),
    (ValuePrior, "regression"),
)


def check_model(model: Any) -> None:
    """Raises a `ValueError` for what cannot be evaluated."""
    if isinstance(model, ThresholdedModel):
        raise ValueError(
            "A model with a threshold is for serving. Received: "
            f"{model.name!r}. Evaluate the model that it was made of, its "
            "attribute `model`; for a threshold there are "
            "`metrics.risk_coverage_curve` and its `accept` of a test set."
        )
    if not isinstance(model, keras.Model):
        raise ValueError(
            "`model` must be a Keras model. Received: an object of type "
            f"{type(model).__name__}. For arrays use `evaluate_scores`."
        )
    if isinstance(model, UncertaintyModel):
        model.check_uncertainty()


def check_output(model: Any, output: Any) -> None:
    """Raises a `ValueError` if one of several outputs must be chosen."""
    prior = getattr(model, "prior", None)
    if isinstance(prior, JointPrior):
        _part_of_structure(prior.priors, output)


def answers_of(
    model: Any, task: str | None, output: Any, from_logits: bool | None
) -> Answers:
    """How to read the predictions of a model.

    What is not given is taken from the prior of a `ZigZagModel`, from what
    other methods know of the answers, and from the loss that the model was
    compiled with.
    """
    known = getattr(model, "answers", model)
    prior = _part(getattr(known, "prior", None), output)
    loss = _loss(model, output)
    if task is None:
        task = _task(prior, loss)
    if from_logits is None:
        from_logits = getattr(prior, "from_logits", None)
    if from_logits is None and loss is not None:
        from_logits = loss_from_logits(loss)
    return Answers(task, bool(from_logits), ignored_class(loss))


@dataclasses.dataclass(frozen=True)
class OutputReader:
    """Takes prediction, score and entropy from what `predict` returned.

    Args:
        answers: `Answers` of the task.
        score: `"uncertainty"`, `"entropy"`, a callable of the outputs, or
            `None` for the uncertainty if there is one.
        output: Key or index of an output of a model with several, or `None`.
    """

    answers: Answers
    score: Score = None
    output: Any = None

    def __post_init__(self) -> None:
        if not (
            self.score is None or self.score in SCORES or callable(self.score)
        ):
            raise ValueError(
                f"`score` must be one of {list(SCORES)} or a callable of what "
                f"`predict` returns. Received: score={self.score!r}"
            )

    def prediction(self, outputs: Any) -> Array:
        if _follows_contract(outputs):
            outputs = outputs["prediction"]
        return self.pick(outputs)

    def uncertainty(self, outputs: Any) -> Array:
        if callable(self.score):
            return host_arrays(self.score(outputs))
        if self.score != "entropy" and _follows_contract(outputs):
            return self.pick(outputs["uncertainty"])
        if self.score == "uncertainty":
            raise ValueError(
                "The model has no uncertainty: its `predict` does not return "
                "`{'prediction': ..., 'uncertainty': ...}`. Received: "
                "score='uncertainty'. Use `score='entropy'`, or a callable of "
                "what `predict` returns."
            )
        if self.score is None and self.answers.task == "regression":
            raise ValueError(
                "An ordinary model of values says nothing about its "
                "uncertainty. Received: score=None. Give a callable of what "
                "`predict` returns."
            )
        return self.answers.entropy(self._with_classes(outputs))

    def entropy(self, outputs: Any) -> Array | None:
        """To be shown beside the uncertainty, where it is another score."""
        if self.score == "entropy" or self.answers.task == "regression":
            return None
        if self.score is None and not _follows_contract(outputs):
            return None
        try:
            return self.answers.entropy(self._with_classes(outputs))
        except ValueError:
            # Scores that are no probabilities have none.
            return None

    def pick(self, structure: Any) -> Any:
        """The part of targets, predictions or weights for the output."""
        if structure is None or not keras.tree.is_nested(structure):
            return structure
        return _part_of_structure(structure, self.output)

    def _with_classes(self, outputs: Any) -> Array:
        prediction = self.prediction(outputs)
        if self.answers.task == "binary" and np.ndim(prediction) == 1:
            return prediction[:, None]
        return prediction


def _follows_contract(outputs: Any) -> bool:
    return isinstance(outputs, dict) and set(outputs) == {
        "prediction",
        "uncertainty",
    }


def _part_of_structure(structure: Any, output: Any) -> Any:
    is_dict = isinstance(structure, dict)
    known = list(structure) if is_dict else list(range(len(structure)))
    if output is None:
        raise ValueError(
            "A report is about one output. Received: output=None and a model "
            f"with the outputs {known}. Give one of them as `output`, once "
            "for each report."
        )
    if output not in known:
        raise ValueError(
            f"There is no such output. Expected one of {known}. "
            f"Received: output={output!r}"
        )
    return structure[output]


def _part(prior: Any, output: Any) -> Any:
    if isinstance(prior, JointPrior):
        return _part_of_structure(prior.priors, output)
    return prior


def _loss(model: Any, output: Any) -> Any:
    """The loss of the output, `None` where that cannot be told."""
    loss = getattr(model, "loss", None)
    if isinstance(loss, dict):
        return loss.get(output)
    if isinstance(loss, (list, tuple)):
        return loss[output] if isinstance(output, int) else None
    return loss


def _task(prior: Any, loss: Any) -> str:
    for kind, task in TASK_OF_PRIOR:
        if isinstance(prior, kind):
            return task
    name = loss if isinstance(loss, str) else getattr(loss, "name", "")
    name = name or getattr(loss, "__name__", "")
    if "categorical" in name:
        return "classification"
    if "binary" in name:
        return "binary"
    if "squared" in name or "absolute" in name or name in ("mse", "mae"):
        return "regression"
    raise ValueError(
        "Neither the model nor its loss says what the task is. Received: "
        f"task=None and loss={loss!r}. Give `task` as 'classification', "
        "'binary' or 'regression'."
    )
