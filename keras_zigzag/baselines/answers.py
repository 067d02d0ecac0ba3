"""What the outputs of a base model mean, one by one."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.gaussian import (
    GaussianNLL,
    GaussianOutputs,
    StackGaussian,
    is_gaussian_loss,
)
from keras_zigzag.priors.binary_prior import BinaryPrior
from keras_zigzag.priors.joint_prior import JointPrior
from keras_zigzag.priors.prior import Prior, only
from keras_zigzag.priors.resolve import TASKS, output_keys, resolve
from keras_zigzag.priors.value_prior import ValuePrior

Tensor = Any


class Answers:
    """How to read, check and score the outputs of a model.

    The priors know how targets and outputs of each task look, so they are
    asked; nothing here is an input of a network. Keras does not see them:
    they have no weights to be saved.

    Args:
        model: Functional model with the outputs of the base model.
        task: `"classification"`, `"regression"` or `"binary"`, or a list or
            dict of them with one per output.
        variance: Boolean. Whether a variance is predicted beside each value.
            Defaults to `False`.

    Attributes:
        output: The outputs of the model.
        output_names: List of strings, the layers they come from.
        tasks: List with the task of each output, in the order in which Keras
            flattens them.
    """

    def __init__(self, model: keras.Model, task: Any, variance: bool = False):
        self.output = model.output
        self.output_names = model.output_names
        self.prior = resolve(model, prior=_readers(model, task))
        joint = isinstance(self.prior, JointPrior)
        self.priors: list[Prior] = (
            keras.tree.flatten(self.prior.priors) if joint else [self.prior]
        )
        self.tasks = [_task_of(prior) for prior in self.priors]
        self.variance = variance and "regression" in self.tasks
        self._stack = StackGaussian(dtype="float32")

    def flat(self, structure: Any) -> list[Any]:
        return keras.tree.flatten(structure)

    def pack(self, entries: list[Any]) -> Any:
        return keras.tree.pack_sequence_as(self.output, entries)

    def outputs(self, network_outputs: Any) -> Any:
        """What a loss needs: `GaussianOutputs`, or the prediction."""
        if not self.variance:
            return network_outputs
        prediction, log_variances = network_outputs
        return GaussianOutputs(prediction, keras.tree.flatten(log_variances))

    def for_loss(self, outputs: Any) -> Any:
        """One tensor per output, as the losses take them.

        A prediction alone, without its variance, counts with a variance of 1.
        """
        if not self.variance:
            return outputs
        if isinstance(outputs, GaussianOutputs):
            log_variances = iter(outputs.log_variances)
        else:
            log_variances = iter(
                ops.zeros_like(leaf)
                for leaf, task in zip(
                    self.flat(outputs), self.tasks, strict=True
                )
                if task == "regression"
            )
        leaves = self.flat(prediction_of(outputs))
        return self.pack(
            [
                self._stack([leaf, next(log_variances)])
                if task == "regression"
                else leaf
                for leaf, task in zip(leaves, self.tasks, strict=True)
            ]
        )

    def flat_targets(self, targets: Any) -> list[Any]:
        """The targets of each output, in the order of the outputs."""
        if isinstance(self.prior, JointPrior):
            return self.prior._flat(targets)
        return [only(targets)]

    def probabilities(self, index: int, leaf: Tensor) -> Tensor:
        """`(batch_size, ..., num_labels, num_outcomes)`, float32."""
        prior = self.priors[index]
        if not isinstance(prior, BinaryPrior):
            return ops.expand_dims(prior.probabilities(leaf), -2)
        yes = prior.answer(leaf)
        if not prior.from_logits:
            return ops.stack([yes, 1.0 - yes], axis=-1)
        logits = prior._with_channel_axis(ops.cast(leaf, "float32"))
        return ops.stack([yes, ops.sigmoid(-logits)], axis=-1)

    def values(self, index: int, leaf: Tensor) -> Tensor:
        """`(batch_size, ..., num_values)`, float32."""
        return self.priors[index].answer(leaf)

    def at_each_place(self, score: Tensor, prediction: Any) -> Any:
        """The score of a sample as that of each of its answers.

        Args:
            score: Tensor of shape `(batch_size,)`.
            prediction: Outputs, of shape `(batch_size, ...)` each.

        Returns:
            Tensors of shape `(batch_size,)`, or `(batch_size, ...)` for
            dense outputs, in the structure of the outputs.
        """
        spread = []
        for prior, leaf in zip(self.priors, self.flat(prediction), strict=True):
            rank = len(prior.spatial_shape)
            places = ops.shape(leaf)[: rank + 1]
            axes = tuple(range(1, rank + 1))
            spread.append(
                ops.broadcast_to(ops.expand_dims(score, axes), places)
                if rank
                else score
            )
        return self.pack(spread)

    def from_logits(self, index: int) -> bool:
        return getattr(self.priors[index], "from_logits", False)

    def check_targets(self, targets: Any, loss: Any) -> None:
        """Raises a `ValueError` if these, or `None`, cannot be the targets."""
        if targets is None:
            raise ValueError(
                "Training needs targets. Received: y=None. Pass `fit(x, y)`, "
                "or a data set of `(inputs, targets)`."
            )
        self.prior.check_targets(targets, loss)

    def check_loss(self, loss: Any) -> None:
        """Raises a `ValueError` if the loss contradicts the outputs."""
        self.prior.check_loss(loss)
        if not self.variance:
            return
        for task, its_loss in zip(
            self.tasks, self.flat_loss(loss), strict=True
        ):
            if task == "regression" and not (
                its_loss is None or is_gaussian_loss(its_loss)
            ):
                raise ValueError(
                    "Each value is predicted with its variance, which this "
                    f"loss would leave untrained. Received: loss={its_loss!r}."
                    " Leave the loss out, or give 'gaussian_nll' or a "
                    "function of your own of `(targets, outputs)` with "
                    "outputs of shape `(batch_size, ..., num_values, 2)`, "
                    "mean and log-variance."
                )

    def with_own_loss(self, loss: Any) -> Any:
        """The loss with the method's own, where it has one.

        That is `GaussianNLL` for values that have none or its name.
        """
        if not self.variance:
            return loss
        return self.with_losses(
            loss,
            lambda task, one: _gaussian(one) if task == "regression" else one,
        )

    def with_losses(self, loss: Any, chosen: Callable) -> Any:
        """The loss of each output replaced by `chosen(task, loss)`."""
        if len(self.tasks) == 1 and not isinstance(self.output, dict):
            (task,) = self.tasks
            return chosen(task, only(loss) if loss is not None else None)
        losses = [
            chosen(task, one)
            for task, one in zip(self.tasks, self.flat_loss(loss), strict=True)
        ]
        if isinstance(loss, dict) and not isinstance(self.output, dict):
            return dict(zip(self.prior.output_names, losses, strict=True))
        return self.pack(losses)

    def plain_loss(
        self,
        loss: Any,
        targets: Any,
        outputs: Any,
        loss_weights: Any = None,
        sample_weight: Any = None,
    ) -> Tensor:
        """The sum of the losses of a batch, which Keras takes no note of.

        Args:
            loss: As of `compile`.
            targets: Targets.
            outputs: What `outputs` returns.
            loss_weights: As of `compile`. Defaults to `None`, for ones.
            sample_weight: Weights of the samples. Defaults to `None`.
        """
        total = 0.0
        for one, wanted, leaf, factor, weight in zip(
            self.flat_loss(loss),
            self.flat_targets(targets),
            self.flat(self.for_loss(outputs)),
            self.flat_loss(loss_weights),
            self.flat_weights(sample_weight),
            strict=True,
        ):
            if one is not None:
                found = keras.losses.get(one)(_aligned(wanted, leaf), leaf)
                factor = 1.0 if factor is None else factor
                total += factor * ops.sum(_weighted(found, weight))
        return total

    def flat_weights(self, sample_weight: Any) -> list[Any]:
        """The weights of the samples, for each output; as Keras has them."""
        weights = keras.tree.flatten(sample_weight)
        if len(weights) == len(self.tasks):
            return self.flat_targets(sample_weight)
        return (weights or [None])[:1] * len(self.tasks)

    def flat_loss(self, loss: Any) -> list[Any]:
        """The loss of each output, in the order of the outputs."""
        if isinstance(self.prior, JointPrior):
            return self.prior._loss_per_output(loss)
        return [only(loss) if loss is not None else None]


def _aligned(targets: Tensor, outputs: Tensor) -> Tensor:
    """Targets `(batch_size,)` for outputs `(batch_size, 1)`."""
    targets = ops.convert_to_tensor(targets)
    if len(targets.shape) == len(outputs.shape) - 1 and outputs.shape[-1] == 1:
        return ops.expand_dims(targets, -1)
    return targets


def _weighted(losses: Tensor, weight: Any) -> Tensor:
    """Losses of a sample or place, as much as they count."""
    if weight is None:
        return losses
    weight = ops.cast(weight, losses.dtype)
    while len(weight.shape) < len(losses.shape):
        weight = ops.expand_dims(weight, -1)
    while len(weight.shape) > len(losses.shape) and weight.shape[-1] == 1:
        weight = ops.squeeze(weight, -1)
    return losses * weight


def prediction_of(outputs: Any) -> Any:
    """The part of a network's outputs that metrics see."""
    return getattr(outputs, "prediction", outputs)


def one_per_output(given: Any, answers: Answers, name: str) -> list[Any]:
    """An option for each output in the order in which Keras flattens them.

    Args:
        given: One entry for all outputs, or a list or dict of them.
        answers: `Answers` of the model.
        name: String. What the option is called.
    """
    if not isinstance(given, (list, tuple, dict)):
        return [given] * len(answers.tasks)
    keys = (
        output_keys(answers.output)
        if isinstance(answers.output, (list, tuple, dict))
        else [0]
    )
    entries = given if isinstance(given, dict) else dict(enumerate(given))
    if set(entries) != set(keys):
        raise ValueError(
            f"Give one `{name}` for all outputs, or one for each of {keys}. "
            f"Received: {name}={given!r}"
        )
    return [entries[key] for key in keys]


def chosen_scores(
    score: Any, answers: Answers, known: Mapping[str, Collection[str]]
) -> list[str]:
    """The name of a score for each output.

    Args:
        score: Name, or a structure with one per output, or `None` for the
            first of its task.
        answers: `Answers` of the model.
        known: Dictionary from tasks to the names that they can have.

    Raises:
        ValueError: If a name is unknown.
    """
    chosen = []
    for task, name in zip(
        answers.tasks, one_per_output(score, answers, "score"), strict=True
    ):
        if name is not None and name not in known[task]:
            raise ValueError(
                f"Unknown score for a {task} output. Expected one of "
                f"{list(known[task])}. Received: score={name!r}"
            )
        chosen.append(name or next(iter(known[task])))
    return chosen


def _readers(model: keras.Model, task: Any) -> Any:
    """Priors, or their names, in the structure of the tasks."""
    several = isinstance(model.output, dict) or len(model.outputs) > 1
    if several and isinstance(task, str):
        keys = output_keys(model.output)
        is_dict = isinstance(model.output, dict)
        task = dict.fromkeys(keys, task) if is_dict else [task for _ in keys]
    if task is None:
        raise ValueError(
            f"Say what the model predicts: `task=` one of {sorted(TASKS)}, "
            "with several outputs a list or dict of them. Received: task=None"
        )
    return keras.tree.map_structure(_reader, task)


def _reader(task: Any) -> Any:
    if not isinstance(task, str) or task not in TASKS:
        raise ValueError(
            f"Unknown task. Expected one of {sorted(TASKS)}. "
            f"Received: task={task!r}"
        )
    if task == "regression":
        # The targets stay as they are, so there is nothing to adapt.
        return ValuePrior(mean=0.0, variance=1.0)
    return TASKS[task]


def _task_of(prior: Prior) -> str:
    if isinstance(prior, ValuePrior):
        return "regression"
    return "binary" if isinstance(prior, BinaryPrior) else "classification"


def _gaussian(loss: Any) -> Any:
    return GaussianNLL() if loss in (None, "gaussian_nll") else loss
