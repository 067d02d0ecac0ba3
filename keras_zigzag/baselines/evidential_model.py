from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines import dirichlet, normal_inverse_gamma
from keras_zigzag.baselines.answers import chosen_scores
from keras_zigzag.baselines.bases import copy_base
from keras_zigzag.baselines.epochs import EpochCounter
from keras_zigzag.baselines.evidence import (
    EvidentialAnswers,
    EvidentialOutputs,
    with_evidence,
)
from keras_zigzag.baselines.heads import prediction_part
from keras_zigzag.baselines.network_model import NetworkModel
from keras_zigzag.callback_order import with_first
from keras_zigzag.number_checks import checked_count, checked_number

Tensor = Any
SCORES = {
    "classification": dirichlet.SCORES,
    "regression": normal_inverse_gamma.SCORES,
}


@keras.saving.register_keras_serializable(package="keras_zigzag")
class EvidentialModel(NetworkModel):
    """One network that also says how much evidence it has seen.

    For a classification it gives the parameters of a Dirichlet distribution
    over the probabilities: one plus the evidence for each class. The
    prediction is the mean of the distribution (its logarithm where the base
    model gives logits). It is trained with one of three losses and with the
    divergence of the misleading evidence from none, whose weight grows over
    the first epochs to 1. For a regression it gives, by three more heads, a
    normal-inverse-gamma distribution over mean and variance; targets should
    have about unit scale.

    The losses belong to the method, so call `compile` without one. `epoch`
    is the number of the last epoch, −1 before the first; it is saved with
    the model, and the next `fit` goes on from it. In a training loop of your
    own assign to it. Trained weights of a base model are a start only: what
    was made for a softmax is no evidence yet.

    Make one with `EvidentialModel.from_model`.

    Reference: [Sensoy et al., 2018](https://arxiv.org/abs/1806.01768) for
    classification, [Amini et al., 2020](https://arxiv.org/abs/1910.02600)
    for regression.

    Args:
        network: Functional model with the outputs
            `[prediction, [parameters]]` that `from_model` gives it.
        task: `"classification"` or `"regression"`; with several outputs a
            list or dict with one of them per output.
        objective: String. Loss of a classification: `"mse"`, the expected
            squared error, `"digamma"`, the expected cross-entropy, or
            `"log"`, the likelihood of type II. Defaults to `"mse"`, which
            Sensoy et al. found the most stable.
        annealing_epochs: Integer. Epochs until the divergence has its full
            weight, 0 for at once. Defaults to `10`.
        coefficient: Float, not negative. Weight of the evidence for wrong
            values in a regression. Defaults to `0.01`.
        score: String, or a list or dict with one per output. `"vacuity"`
            (number of classes by sum of the parameters), `"entropy"` of the
            mean, `"mutual_information"` or `"max_probability"` (one minus
            it); `"epistemic_variance"`, `"aleatoric_variance"` or
            `"variance"`, their sum, for a regression. Defaults to `None`:
            the first for its task.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a name is unknown or does not fit, a number is out of
            its range, or a task is `"binary"`.

    Example:

    >>> evidential = keras_zigzag.baselines.EvidentialModel.from_model(
    ...     base, task="classification", objective="digamma"
    ... )
    >>> evidential.compile("adam", metrics=["accuracy"])
    >>> history = evidential.fit(x_train, y_train, epochs=2, verbose=0)
    >>> evidential.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        objective: str = "mse",
        annealing_epochs: int = 10,
        coefficient: float = 0.01,
        score: Any = None,
        **kwargs: Any,
    ):
        super().__init__(network, task, score, **kwargs)
        annealing_epochs = checked_count(
            "annealing_epochs", annealing_epochs, least=0
        )
        coefficient = checked_number(
            "coefficient",
            coefficient,
            lambda one: one >= 0,
            "be a number that is not negative",
        )
        self.objective = objective
        self.annealing_epochs = annealing_epochs
        self.coefficient = coefficient
        losses = {
            "classification": dirichlet.DirichletLoss(objective),
            "regression": normal_inverse_gamma.NormalInverseGammaLoss(
                coefficient
            ),
        }
        base = prediction_part(network, "EvidentialModel")
        self.use_answers(EvidentialAnswers(base, task, losses))
        self._scores = chosen_scores(score, self.answers, SCORES)
        self.epoch = self.add_weight(
            name="epoch",
            shape=(),
            dtype="float32",
            initializer=keras.initializers.Constant(-1.0),
            trainable=False,
            autocast=False,
            aggregation="only_first_replica",
        )

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any,
        objective: str = "mse",
        evidence: str = "softplus",
        annealing_epochs: int = 10,
        coefficient: float = 0.01,
        score: Any = None,
        **kwargs: Any,
    ) -> "EvidentialModel":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not. A
                classification ends in a softmax, which is taken off, or in
                logits.
            task: See the class.
            objective: See the class. Defaults to `"mse"`.
            evidence: String. What makes evidence of the logits of a
                classification: `"softplus"`, `"relu"` or `"exp"`, which goes
                on as a straight line above 10. Defaults to `"softplus"`.
            annealing_epochs: See the class. Defaults to `10`.
            coefficient: See the class. Defaults to `0.01`.
            score: See the class. Defaults to `None`.
            **kwargs: Arguments of the constructor.

        Returns:
            An `EvidentialModel`, not compiled.

        Raises:
            ValueError: If the model cannot be copied, its logits cannot be
                told, or an option does not fit.

        Example:

        >>> base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.EvidentialModel.from_model(
        ...     base, task="regression", score="aleatoric_variance"
        ... )
        >>> model.compile("adam")
        """
        network = with_evidence(copy_base(base), task, evidence)
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"evidential_{base.name}")
        return cls(
            network,
            task,
            objective,
            annealing_epochs,
            coefficient,
            score,
            **kwargs,
        )

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        prediction, parameters = self.network(inputs, training=training)
        return EvidentialOutputs(
            prediction, keras.tree.flatten(parameters), self._weight()
        )

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        outputs = self.call_loss(inputs, training=False)
        leaves = self.answers.flat(outputs.prediction)
        uncertainty = [
            self._score(index, leaf, parameters)
            for index, (leaf, parameters) in enumerate(
                zip(leaves, outputs.parameters, strict=True)
            )
        ]
        return outputs.prediction, self.answers.pack(uncertainty)

    def training_data(
        self, x: Any, y: Any, options: dict[str, Any]
    ) -> tuple[Any, Any, dict[str, Any]]:
        counter = EpochCounter(self.epoch)
        callbacks = with_first(options.get("callbacks"), counter, self)
        return x, y, options | {"callbacks": callbacks}

    def _weight(self) -> Tensor:
        """Weight of the divergence, `min(1, epoch / annealing_epochs)`."""
        if self.annealing_epochs == 0:
            return ops.ones(())
        epoch = ops.maximum(ops.convert_to_tensor(self.epoch), 0.0)
        return ops.minimum(epoch / self.annealing_epochs, 1.0)

    def _score(self, index: int, leaf: Tensor, parameters: Tensor) -> Tensor:
        task, name = self.answers.tasks[index], self._scores[index]
        score = SCORES[task][name]
        if task == "regression":
            variances = self.answers.values(index, score(parameters))
            return ops.sum(variances, axis=-1)
        return score(parameters, self.answers.probabilities(index, leaf))
