import math
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_zigzag import scores
from keras_zigzag.baselines.answers import Answers, chosen_scores
from keras_zigzag.baselines.bases import copy_base
from keras_zigzag.baselines.covariance_update import CovarianceUpdate
from keras_zigzag.baselines.distance_aware import distance_aware, last_dense
from keras_zigzag.baselines.gaussian_process import GaussianProcess
from keras_zigzag.baselines.network_model import NetworkModel
from keras_zigzag.baselines.opened_ends import open_end
from keras_zigzag.baselines.spectral_normalization import SpectralNormalization
from keras_zigzag.callback_order import with_first
from keras_zigzag.graphs import functional_view, sublayers
from keras_zigzag.number_checks import (
    checked_count,
    checked_number,
    seed_or_random,
)

Tensor = Any
# Of the authors' code: 0.95 for dense layers, 6 for convolutions.
NORM_BOUNDS = (0.95, 6.0)
MEAN_FIELD_FACTOR = math.pi / 8.0
# The authors' 1024 random features were for 640 and more inputs.
MOST_FEATURES = 1024
LEAST_FEATURES = 128
FEATURES_PER_INPUT = 8
SCORES = {
    "classification": (
        "predictive_entropy",
        "max_probability",
        "variance",
        "dempster_shafer",
    ),
    "binary": ("predictive_entropy", "max_probability", "variance"),
    "regression": ("standard_deviation", "variance"),
}
NAMES = {"predictive_entropy": "entropy", "max_probability": "max_probability"}


class ProcessOutputs(NamedTuple):
    """What training needs of a network that ends in Gaussian processes.

    Attributes:
        prediction: Outputs in the structure of the base model's.
        details: List of `[variance, features, logits]`, one per output.
    """

    prediction: Any
    details: list[Any]


@keras.saving.register_keras_serializable(package="keras_zigzag")
class SNGP(NetworkModel):
    """A spectral-normalised network that ends in a Gaussian process.

    One network and one pass. The norms of the hidden kernels are bounded, so
    that distances between inputs survive up to the last layer, and the last
    `Dense` layer gives way to a Gaussian process, whose variance grows with
    the distance from the training data. The predicted probabilities take
    that variance into account, in `evaluate` as in `predict`; the loss of
    training sees the process's mean.

    The covariance is a matter of the last epoch of `fit`, which brings it up
    to date by itself. After a training loop of your own call
    `update_covariance`.

    Bounded are `Dense` layers and convolutions, depthwise, separable and
    transposed ones included, also in inner models; attention, recurrent and
    embedding layers, and what is inside of wrappers, stay as they are.
    Residual connections keep distances best.

    What to tune, on validation data:

    - `length_scale` first. The kernel compares the features that the last
      layer reads, so it has to fit their size. With inputs that are far from
      unit scale, or features much farther apart than `length_scale`, all
      samples look unrelated: the accuracy falls and the variance is high
      everywhere. Scale the inputs, or make it larger: a small CNN on digits
      with pixels from 0 to 16 learns nothing with 2 and well with 8, while
      pixels from 0 to 1 go well with 2.
    - `mean_field_factor`. It flattens the predicted probabilities wherever
      there is variance, near the training data too: the accuracy stays, but
      they may be less confident than they are right. Make it smaller then.
    - `norm_bound`. Too small a bound, over many layers, leaves no
      distances to tell apart.

    Make one with `SNGP.from_model`.

    Reference: [Liu et al., 2020](https://arxiv.org/abs/2006.10108),
    [Liu et al., 2022](https://arxiv.org/abs/2205.00403).

    Args:
        network: Functional model that `from_model` made.
        task: `"classification"`, `"regression"` or `"binary"`; with several
            outputs a list or dict with one of them per output.
        score: String, or a list or dict with one per output.
            `"predictive_entropy"`, `"max_probability"` (one minus it),
            `"variance"` (of the process) or, for a classification,
            `"dempster_shafer"` (`K / (K + Σ exp(logit))`);
            `"standard_deviation"` or `"variance"` of the process for a
            regression. Defaults to `None`: the first for its task.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a name is unknown or does not fit the outputs.

    Example:

    >>> sngp = keras_zigzag.baselines.SNGP.from_model(
    ...     base, task="classification", num_features=64
    ... )
    >>> sngp.predict(x_test, verbose=0)["uncertainty"].shape
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
        self._processes = _processes(network)
        base_part = keras.Model(network.input, network.output[0])
        self.use_answers(Answers(base_part, task))
        self._scores = chosen_scores(score, self.answers, SCORES)

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any,
        norm_bound: float | None = None,
        num_features: int | None = None,
        length_scale: float = 2.0,
        amplitude: float | None = None,
        ridge_penalty: float = 1.0,
        momentum: float | None = None,
        mean_field_factor: float = MEAN_FIELD_FACTOR,
        normalize: bool = False,
        score: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> "SNGP":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not. Each
                output comes from a `Dense` layer, which is replaced; trained
                weights of the others are kept.
            task: See the class.
            norm_bound: Float. Largest spectral norm of a hidden layer.
                Defaults to `None`: 0.95 for `Dense` layers and 6 for
                convolutions, as in the authors' code.
            num_features: Integer. Number of random Fourier features; the
                covariance has its square, and so has the cost of a training
                step. Defaults to `None`: 8 for each input of the last layer,
                but between 128 and 1024. The authors use 1024 for wide
                networks.
            length_scale: Float. Of the kernel, on the features that the last
                layer reads. Of the order of the distances between them, see
                the class. Defaults to `2.0`, as in the authors' code.
            amplitude: Float. Standard deviation of the process where nothing
                is known. Defaults to `None`: 1 in a regression, in the unit
                of the targets, else `√(num_features / 2)`, with which the
                features are bare cosines, as in the authors' code.
            ridge_penalty: Float. Precision of the weights before any data;
                in a regression the variance of the noise. Defaults to `1.0`.
            momentum: Float in `(0, 1)`. The precision is a moving average
                over batches. Defaults to `None` (or -1): it is the exact sum
                over the last epoch, and forgets the one before.
            mean_field_factor: Float. How much the variance lowers the
                confidence; 0 for not at all. Best chosen by the likelihood of
                validation data. Defaults to `π / 8`.
            normalize: Boolean. Whether a layer normalisation comes before
                the process; it takes away how long a feature vector is.
                Defaults to `False`.
            score: See the class. Defaults to `None`.
            seed: Integer. Seed of the random features. Defaults to `None`: a
                random one, which is saved with the model.
            **kwargs: Arguments of the constructor.

        Returns:
            An `SNGP`, not compiled.

        Raises:
            ValueError: If the model cannot be copied, does not end in a
                `Dense` layer, or a number is out of its range.

        Example:

        >>> base = keras.Sequential([
        ...     keras.Input((4,)), keras.layers.Dense(8, activation="relu"),
        ...     keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.SNGP.from_model(
        ...     base, task="regression", num_features=64, ridge_penalty=0.1)
        >>> model.compile("adam", "mse")
        """
        norm_bound = _positive_or_none("norm_bound", norm_bound)
        amplitude = _positive_or_none("amplitude", amplitude)
        length_scale = _positive("length_scale", length_scale)
        ridge_penalty = _positive("ridge_penalty", ridge_penalty)
        if num_features is not None:
            num_features = checked_count("num_features", num_features)
        momentum = _checked_momentum(momentum)
        mean_field_factor = checked_number(
            "mean_field_factor",
            mean_field_factor,
            lambda one: one >= 0,
            "be a number that is not negative",
        )
        seed = seed_or_random(seed)
        model = open_end(copy_base(base))
        answers = Answers(model, task)
        chosen_scores(score, answers, SCORES)
        shared = {
            "length_scale": length_scale,
            "ridge_penalty": ridge_penalty,
            "momentum": momentum,
            "normalize": bool(normalize),
            "seed": seed,
        }
        options = [
            shared
            | _of_output(
                each, tensor, num_features, amplitude, mean_field_factor
            )
            for each, tensor in zip(answers.tasks, model.outputs, strict=True)
        ]
        bounds = NORM_BOUNDS if norm_bound is None else (norm_bound,) * 2
        network = distance_aware(model, bounds, options)
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"sngp_{base.name}")
        made = cls(network, task, score, **kwargs)
        made._refine_norms()
        return made

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        return ProcessOutputs(*self.network(inputs, training=training))

    def call_prediction(self, inputs: Any, training: bool | None = None) -> Any:
        return self.call_loss(inputs, training).prediction

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        prediction, details = self.call_loss(inputs, training=False)
        uncertainty = [
            self._score(index, leaf, *detail)
            for index, (leaf, detail) in enumerate(
                zip(self.answers.flat(prediction), details, strict=True)
            )
        ]
        return prediction, self.answers.pack(uncertainty)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        if isinstance(y_pred, ProcessOutputs):
            if training:
                self._observe(y_pred.details, sample_weight)
            y_pred = y_pred.prediction
        return super().compute_loss(x, y, y_pred, sample_weight, training)

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        if isinstance(y_pred, ProcessOutputs):
            y_pred = y_pred.prediction
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def training_data(
        self, x: Any, y: Any, options: dict[str, Any]
    ) -> tuple[Any, Any, dict[str, Any]]:
        _check_weights("sample_weight", options.get("sample_weight"))
        _check_weights("class_weight", options.get("class_weight"))
        update = CovarianceUpdate()
        callbacks = with_first(options.get("callbacks"), update, self)
        return x, y, options | {"callbacks": callbacks}

    def reset_covariance(self) -> None:
        """Forgets the training samples, unless there is a momentum.

        For training loops of your own, where an epoch starts.
        """
        for process in self._processes:
            process.reset()

    def update_covariance(self) -> None:
        """Brings the variances up to date with the training samples.

        For training loops of your own, where an epoch ends.

        Example:

        >>> model = keras_zigzag.baselines.SNGP.from_model(
        ...     base, task="classification", num_features=64)
        >>> model.compile("adam", "sparse_categorical_crossentropy")
        >>> loss = model.train_on_batch(x_train, y_train)
        >>> model.update_covariance()
        """
        self._refine_norms()
        for process in self._processes:
            process.update_covariance()

    def _observe(self, details: list[Any], sample_weight: Any) -> None:
        weights = self.answers.flat_weights(sample_weight)
        strategy = getattr(self, "distribute_strategy", None)
        num_replicas = getattr(strategy, "num_replicas_in_sync", 1)
        seen = set()
        for process, detail, weight in zip(
            self._processes, details, weights, strict=True
        ):
            # Two outputs may come from one layer.
            if id(process) not in seen:
                _, features, logits = detail
                process.observe(features, logits, weight, num_replicas)
            seen.add(id(process))

    def _refine_norms(self) -> None:
        for layer in sublayers(self.network):
            if isinstance(layer, SpectralNormalization):
                layer.refine()

    def _score(
        self,
        index: int,
        leaf: Tensor,
        variance: Tensor,
        features: Tensor,
        logits: Tensor,
    ) -> Tensor:
        name = self._scores[index]
        if self.answers.tasks[index] == "regression":
            # All values share the covariance.
            variances = ops.expand_dims(variance, -1) * ops.ones_like(logits)
            return scores.OF_VARIANCES[name](variances)
        if name == "variance":
            return variance
        if name == "dempster_shafer":
            num_classes = logits.shape[-1]
            return ops.sigmoid(math.log(num_classes) + scores.energy(logits))
        probabilities = self.answers.probabilities(index, leaf)
        return scores.OF_PROBABILITIES[NAMES[name]](probabilities)


def _processes(network: keras.Model) -> list[GaussianProcess]:
    """The last layer of each output."""
    output = functional_view(network).output
    is_pair = isinstance(output, (list, tuple)) and len(output) == 2
    details = output[1] if is_pair else None
    found = []
    for detail in details if isinstance(details, (list, tuple)) else []:
        if isinstance(detail, (list, tuple)):
            found.append(detail[0]._keras_history.operation)
    if not found or not all(isinstance(one, GaussianProcess) for one in found):
        raise ValueError(
            "The network must end in Gaussian processes, with the outputs "
            "`[prediction, [[variance, features, logits], ...]]`. Received: "
            "the outputs "
            f"{keras.tree.map_structure(lambda one: one.name, output)}. Make "
            "the model of an ordinary one with "
            "`SNGP.from_model(base, task=...)`."
        )
    return found


def _of_output(
    task: str,
    tensor: Any,
    num_features: int | None,
    amplitude: float | None,
    mean_field_factor: float,
) -> dict[str, Any]:
    """The options of a process that depend on its output."""
    is_value = task == "regression"
    last = last_dense(tensor)
    if num_features is None:
        num_features = _enough_features(last.kernel.shape[0])
    if amplitude is None:
        amplitude = 1.0 if is_value else math.sqrt(num_features / 2.0)
    is_logistic = task == "binary" and last.units == 1
    return {
        "num_features": num_features,
        "amplitude": float(amplitude),
        "mean_field_factor": 0.0 if is_value else float(mean_field_factor),
        "likelihood": "binary_logistic" if is_logistic else "gaussian",
    }


def _positive(name: str, value: Any) -> float:
    return checked_number(
        name, value, lambda one: one > 0, "be a positive number"
    )


def _positive_or_none(name: str, value: Any) -> float | None:
    return None if value is None else _positive(name, value)


def _checked_momentum(momentum: Any) -> float | None:
    if momentum is None or momentum == -1:
        return None
    return checked_number(
        "momentum",
        momentum,
        lambda one: 0 < one < 1,
        "lie between 0 and 1, or be `None` for the exact sum over an epoch",
    )


def _enough_features(num_inputs: int) -> int:
    wanted = max(LEAST_FEATURES, FEATURES_PER_INPUT * num_inputs)
    return min(MOST_FEATURES, wanted)


def _check_weights(name: str, weights: Any) -> None:
    for leaf in keras.tree.flatten(weights):
        if leaf is None:
            continue
        smallest = np.min(ops.convert_to_numpy(leaf), initial=0.0)
        if smallest < 0:
            raise ValueError(
                f"`{name}` must not be negative: a sample counts in the "
                "covariance by its weight. Received: the smallest is "
                f"{smallest}"
            )
