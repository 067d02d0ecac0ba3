"""Predictions and scores of a model, batch by batch."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_zigzag.evaluation.chosen_output import (
    ChosenOutput,
    chosen_output,
    prior_of,
)
from keras_zigzag.evaluation.places import Answers
from keras_zigzag.host import host_arrays
from keras_zigzag.metrics.inputs import Array
from keras_zigzag.priors.binary_prior import BinaryPrior
from keras_zigzag.priors.losses import ignored_class, loss_from_logits
from keras_zigzag.priors.one_hot_prior import OneHotPrior
from keras_zigzag.priors.resolve import answer_shape
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


def output_prior(model: Any, chosen: ChosenOutput) -> Any:
    """The prior of the output, `None` of a model that has none.

    Raises:
        ValueError: If one of several outputs must be chosen.
    """
    prior = prior_of(model)
    if prior is None:
        # An ordinary model, whose outputs may be known all the same.
        chosen.of(getattr(model, "output", None))
        return None
    return chosen.of(getattr(prior, "priors", prior))


def answers_of(
    model: Any,
    task: str | None,
    output: Any,
    from_logits: bool | None,
    ignore_class: int | None = None,
) -> Answers:
    """How to read the predictions of a model.

    What is not given is taken from the prior of a `ZigZagModel`, from what
    other methods know of the answers, and from the loss that the model was
    compiled with.
    """
    chosen = chosen_output(model, output)
    prior = output_prior(model, chosen)
    loss = chosen.of_losses(getattr(model, "loss", None))
    if task is None:
        task = _task(prior, loss)
    if from_logits is None:
        from_logits = getattr(prior, "from_logits", None)
    if from_logits is None and loss is not None:
        from_logits = loss_from_logits(loss)
    if ignore_class is None:
        ignore_class = ignored_class(loss)
    return Answers(task, bool(from_logits), ignore_class)


def reader_of(
    model: Any, answers: Answers, score: Score, output: Any
) -> "OutputReader":
    """What reads the outputs of this model."""
    chosen = chosen_output(model, output)
    rank = getattr(output_prior(model, chosen), "output_rank", None)
    outputs = getattr(model, "output", None)
    if rank is None and outputs is not None:
        rank = len(answer_shape(chosen.of(outputs), model.inputs))
    return OutputReader(answers, score, chosen, max(rank or 0, 2))


@dataclasses.dataclass(frozen=True)
class OutputReader:
    """Takes prediction, score and entropy from what `predict` returned.

    Args:
        answers: `Answers` of the task.
        score: `"uncertainty"`, `"entropy"`, a callable of the outputs, or
            `None` for the uncertainty if there is one.
        chosen: `ChosenOutput`. Defaults to that of a model with one.
        rank: Integer. How many axes a prediction has with that of its
            classes, labels or values. Defaults to `2`.
    """

    answers: Answers
    score: Score = None
    chosen: ChosenOutput = ChosenOutput()
    rank: int = 2

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
        return self.chosen.of(structure)

    def _with_classes(self, outputs: Any) -> Array:
        prediction = self.prediction(outputs)
        is_binary = self.answers.task == "binary"
        if is_binary and np.ndim(prediction) == self.rank - 1:
            return prediction[..., None]
        return prediction


def _follows_contract(outputs: Any) -> bool:
    return isinstance(outputs, dict) and set(outputs) == {
        "prediction",
        "uncertainty",
    }


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
