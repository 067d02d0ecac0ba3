from typing import Any

import keras
from keras import ops

from keras_zigzag import scores
from keras_zigzag.baselines.answers import (
    Answers,
    chosen_scores,
    prediction_of,
)
from keras_zigzag.baselines.bases import copy_base
from keras_zigzag.baselines.gaussian import variance_of
from keras_zigzag.baselines.heads import (
    check_energy,
    logits_before,
    prediction_part,
    with_log_variances,
    with_logits,
)
from keras_zigzag.baselines.network_model import NetworkModel
from keras_zigzag.graphs import functional_view

Tensor = Any
SCORES = {
    "classification": ("entropy", "max_probability", "energy"),
    "binary": ("entropy", "max_probability"),
    "regression": ("standard_deviation", "variance"),
}


@keras.saving.register_keras_serializable(package="keras_zigzag")
class SingleModel(NetworkModel):
    """What one ordinary network says of its own uncertainty.

    A classifier is scored by its own probabilities or logits. A regression
    gets a second head, which predicts the logarithm of the variance of each
    value, and both are trained with the Gaussian likelihood: `compile`
    without a loss, or with `"gaussian_nll"`. Give targets of about unit
    scale, since the variance starts at 1.

    Make one with `SingleModel.from_model`.

    Reference: [Hendrycks & Gimpel, 2017](https://arxiv.org/abs/1610.02136),
    [Liu et al., 2020](https://arxiv.org/abs/2010.03759) for the energy,
    [Kendall & Gal, 2017](https://arxiv.org/abs/1703.04977) for the variance.

    Args:
        network: Functional model; if values are among its outputs, one with
            the outputs `[prediction, [log-variances]]`.
        task: `"classification"`, `"regression"` or `"binary"`; with several
            outputs a list or dict with one of them per output.
        score: String, or a list or dict with one per output. `"entropy"`,
            `"max_probability"` (one minus it) or, for a classification,
            `"energy"`; `"standard_deviation"` or `"variance"` for a
            regression. Defaults to `None`: the first for its task.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a name is unknown, or does not fit the outputs.

    Example:

    >>> single = keras_zigzag.baselines.SingleModel.from_model(
    ...     base, task="classification", score="max_probability"
    ... )
    >>> single.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        score: Any = None,
        **kwargs: Any,
    ):
        super().__init__(network, task, score, **kwargs)
        part = functional_view(_base_part(network, task))
        self.use_answers(Answers(part, task, variance=True))
        self._scores = chosen_scores(score, self.answers, SCORES)
        check_energy(part, self._scores)
        self._scored = keras.Model(
            network.input, [network.output, self._logits()]
        )

    @classmethod
    def from_model(
        cls, base: keras.Model, task: Any, score: Any = None, **kwargs: Any
    ) -> "SingleModel":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not.
                Trained weights are kept.
            task: `"classification"`, `"regression"` or `"binary"`; with
                several outputs a list or dict with one of them per output.
            score: See the class. Defaults to `None`.
            **kwargs: Arguments of the constructor.

        Returns:
            A `SingleModel`, not compiled.

        Raises:
            ValueError: If the model cannot be copied, its logits cannot be
                told, or the task or the score does not fit its outputs.

        Example:

        >>> base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.SingleModel.from_model(
        ...     base, task="regression"
        ... )
        >>> model.compile("adam")
        """
        network = functional_view(copy_base(base))
        answers = Answers(network, task)
        chosen = chosen_scores(score, answers, SCORES)
        wanted = [
            name == "energy" and not answers.from_logits(index)
            for index, name in enumerate(chosen)
        ]
        if any(wanted):
            network = with_logits(network, wanted)
        if "regression" in answers.tasks:
            network = with_log_variances(
                network, [task == "regression" for task in answers.tasks]
            )
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"single_{base.name}")
        return cls(network, task, score, **kwargs)

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        outputs, logits = self._scored(inputs, training=False)
        outputs, logits = self.answers.outputs(outputs), iter(logits)
        prediction = prediction_of(outputs)
        log_variances = iter(getattr(outputs, "log_variances", ()))
        uncertainty = []
        for index, leaf in enumerate(self.answers.flat(prediction)):
            name = self._scores[index]
            if name == "energy":
                score = scores.energy(ops.cast(next(logits), "float32"))
            elif name in scores.OF_VARIANCES:
                values = self.answers.values(index, next(log_variances))
                score = scores.OF_VARIANCES[name](variance_of(values))
            else:
                probabilities = self.answers.probabilities(index, leaf)
                score = scores.OF_PROBABILITIES[name](probabilities)
            uncertainty.append(score)
        return prediction, self.answers.pack(uncertainty)

    def _logits(self) -> list[Any]:
        """The logits of the outputs that are scored by their energy."""
        tensors = self.answers.flat(self.answers.output)
        return [
            tensor if self.answers.from_logits(index) else logits_before(tensor)
            for index, tensor in enumerate(tensors)
            if self._scores[index] == "energy"
        ]


def _base_part(network: keras.Model, task: Any) -> keras.Model:
    """The network with the outputs of the base model only."""
    if "regression" not in keras.tree.flatten(task):
        return network
    return prediction_part(network, "SingleModel")
