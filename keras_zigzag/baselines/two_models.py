from typing import Any

import keras
from keras import ops

from keras_zigzag import scores
from keras_zigzag.baselines.answers import (
    Answers,
    chosen_scores,
    prediction_of,
)
from keras_zigzag.baselines.bases import check_graph, copy_base, fresh_base
from keras_zigzag.baselines.gaussian import GaussianOutputs, variance_of
from keras_zigzag.baselines.heads import with_log_variances
from keras_zigzag.baselines.independence import check_independent
from keras_zigzag.baselines.network_model import (
    NetworkModel,
    check_train_base,
)
from keras_zigzag.baselines.residuals import ResidualNLL, is_residual_loss
from keras_zigzag.graphs import functional_view
from keras_zigzag.model_config import deserialized
from keras_zigzag.number_checks import checked_seed
from keras_zigzag.seeding import seeded

Tensor = Any
SCORES = {"regression": tuple(scores.OF_VARIANCES)}
# What the paths of the second network's weights start with, so that no two
# weights have the same one.
SCOPE = "variance"


@keras.saving.register_keras_serializable(package="keras_zigzag")
class TwoModels(NetworkModel):
    """A regression, and a second network for the variance of its residuals.

    The two have the same architecture and nothing in common. One `fit`
    trains both: the first with the loss that `compile` is given, the squared
    error by default, exactly as it would be trained alone; the second with
    the Gaussian likelihood of what the first one leaves, as the logarithm of
    a variance. `loss` in the logs is that of the first network,
    `variance_loss` (with several outputs one for each) that of the second.
    Give targets of about unit scale, since the variance starts at 1.

    Make one with `TwoModels.from_model`.

    Reference: Nix & Weigend, 1994,
    [Estimating the mean and variance of the target probability
    distribution](https://doi.org/10.1109/ICNN.1994.374138).

    Args:
        network: Functional or Sequential model that predicts the values.
        variance_network: Functional model of the same inputs, with one
            output of log-variances for each output of the first.
        task: `"regression"`, or a list or dict of it. Defaults to
            `"regression"`.
        score: `"standard_deviation"` or `"variance"`, or a list or dict with
            one per output. Defaults to `None`: the first.
        train_base: Boolean. Whether the first network learns too. If not, it
            predicts in training as it does at inference. Defaults to `True`.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a task is not a regression, the outputs of the
            networks do not fit, or a score is unknown.

    Example:

    >>> base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    >>> two = keras_zigzag.baselines.TwoModels.from_model(base)
    >>> two.compile("adam", "mae")
    >>> two.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        network: keras.Model,
        variance_network: keras.Model,
        task: Any = "regression",
        score: Any = None,
        train_base: bool = True,
        **kwargs: Any,
    ):
        _check_task(task)
        super().__init__(network, task, score, **kwargs)
        self.variance_network = variance_network
        self.train_base = bool(train_base)
        self.use_answers(Answers(functional_view(network), task))
        _check_variances(network, variance_network)
        self._scores = chosen_scores(score, self.answers, SCORES)
        self._residual_nll = ResidualNLL(self.answers)
        self.residual_metrics = self._residual_nll.metrics()
        if not self.train_base:
            network.trainable = False

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any = "regression",
        score: Any = None,
        train_base: bool = True,
        seed: int | None = None,
        **kwargs: Any,
    ) -> "TwoModels":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not.
                Trained weights are kept in the first network. The second is
                a copy with new weights, but for layers that have nothing to
                train, such as a frozen backbone (all are new where all is
                frozen); it ends in a linear layer.
            task: See the class. Defaults to `"regression"`.
            score: See the class. Defaults to `None`.
            train_base: See the class. Set it to `False` for a base model
                that is trained already. Defaults to `True`.
            seed: Integer. Seed of the weights of the second network.
                Defaults to `None`.
            **kwargs: Arguments of the constructor.

        Returns:
            A `TwoModels`, not compiled.

        Raises:
            ValueError: If the model cannot be copied, or does not end in a
                layer with weights, or an option does not fit.

        Example:

        >>> base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        >>> base.compile("adam", "mse")
        >>> history = base.fit(x_train, y_train, verbose=0)
        >>> model = keras_zigzag.baselines.TwoModels.from_model(
        ...     base, train_base=False, score="variance"
        ... )
        >>> model.compile("adam")
        """
        check_graph(base)
        _check_task(task)
        with seeded(checked_seed(seed)), keras.name_scope(SCOPE):
            variance_network = _variance_network(base)
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"two_{base.name}")
        network = copy_base(base)
        return cls(network, variance_network, task, score, train_base, **kwargs)

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        of_base = training if self.train_base else False
        log_variances = self.variance_network(inputs, training=training)
        return GaussianOutputs(
            self.network(inputs, training=of_base),
            keras.tree.flatten(log_variances),
        )

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        outputs = self.call_loss(inputs, training=False)
        uncertainty = []
        for index, log_variance in enumerate(outputs.log_variances):
            values = self.answers.values(index, log_variance)
            score = scores.OF_VARIANCES[self._scores[index]]
            uncertainty.append(score(variance_of(values)))
        return outputs.prediction, self.answers.pack(uncertainty)

    def with_options(self, **options: Any) -> Any:
        check_train_base(self, options)
        return super().with_options(**options)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        loss = super().compute_loss(
            x, y, prediction_of(y_pred), sample_weight, training
        )
        if not isinstance(y_pred, GaussianOutputs):
            return loss
        nll = self._residual_nll(
            y, y_pred, sample_weight, self.residual_metrics
        )
        # Its gradient without its value, which would hide the first one's.
        return loss + (nll - ops.stop_gradient(nll))

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().compile(
            optimizer, "mse" if loss is None else loss, *args, **kwargs
        )
        check_independent(self.optimizer)

    def check_loss(self, loss: Any) -> None:
        if any(is_residual_loss(one) for one in keras.tree.flatten(loss)):
            raise ValueError(
                "The second network has the Gaussian likelihood in any case; "
                "the loss is that of the first one. Received: "
                f"loss={loss!r}. Leave it out, or give 'mse' or the like."
            )
        super().check_loss(loss)

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None
    ) -> "TwoModels":
        with keras.name_scope(SCOPE):
            second = deserialized(config["variance_network"], custom_objects)
        config = config | {"variance_network": second}
        return cls(**deserialized(config, custom_objects))


def _variance_network(base: keras.Model) -> keras.Model:
    """The architecture of a model, with log-variances for its outputs."""
    fresh = fresh_base(base)
    size = len(functional_view(fresh).outputs)
    both = with_log_variances(fresh, [True] * size)
    _, log_variances = both.output
    return keras.Model(both.input, log_variances, name=f"{base.name}_{SCOPE}")


def _check_task(task: Any) -> None:
    if any(one != "regression" for one in keras.tree.flatten(task)):
        raise ValueError(
            "The second network predicts the variance of values, so each "
            f"task must be 'regression'. Received: task={task!r}. For "
            "classes use another method, such as `SingleModel`."
        )


def _check_variances(network: keras.Model, variances: keras.Model) -> None:
    expected, found = (
        [tuple(tensor.shape) for tensor in functional_view(one).outputs]
        for one in (network, variances)
    )
    if expected != found:
        raise ValueError(
            "The second network must have one output for each of the first, "
            f"of the same shape. Received: outputs of the shapes {expected} "
            f"and {found}."
        )
