import warnings
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag import scores
from keras_zigzag.activations import output_activations
from keras_zigzag.baselines.answers import (
    Answers,
    chosen_scores,
    one_per_output,
)
from keras_zigzag.baselines.bases import copy_base
from keras_zigzag.baselines.heads import (
    check_energy,
    logits_before,
    with_logits,
)
from keras_zigzag.baselines.network_model import NetworkModel
from keras_zigzag.baselines.passes import (
    batches,
    outputs_on,
    validation_data,
)
from keras_zigzag.baselines.temperature_fit import best_temperature
from keras_zigzag.checks import as_array
from keras_zigzag.graphs import functional_view
from keras_zigzag.host import host_arrays, model_inputs
from keras_zigzag.model_config import fit_options
from keras_zigzag.priors.losses import ignored_class

Tensor = Any
SCORES = {
    "classification": ("entropy", "max_probability", "energy"),
    "binary": ("entropy", "max_probability"),
}


@keras.saving.register_keras_serializable(package="keras_zigzag")
class TemperatureScaling(NetworkModel):
    """An ordinary classifier whose logits are divided by a temperature.

    The temperature is fitted to validation data once the network is trained:
    by `fit` at its end, if that is given `validation_data` or
    `validation_split`, or by `calibrate`. Without validation data it stays as
    it is, 1 at first. It minimises the cross-entropy exactly, and changes how
    sure an answer is, not which it is. The network is trained as the base
    model would be: in training, loss and metrics see what is not calibrated;
    `evaluate` and `predict` see what is. A checkpoint that was written during
    `fit` has the temperature of before: after loading it, call `calibrate`.

    Make one with `TemperatureScaling.from_model`.

    Reference: [Guo et al., 2017](https://arxiv.org/abs/1706.04599),
    [Liu et al., 2020](https://arxiv.org/abs/2010.03759) for the energy.

    Args:
        network: Functional model that ends in linear layers, or in softmax
            or sigmoid layers of their own.
        task: `"classification"` or `"binary"`; with several outputs a list
            or dict with one of them per output.
        score: String, or a list or dict with one per output. `"entropy"`,
            `"max_probability"` (one minus it) or, for a classification,
            `"energy"` (`−T log Σ exp(logit / T)`). Defaults to `None`: the
            first.
        **kwargs: Arguments of `keras.Model`.

    Attributes:
        temperature: Float, or a list or dict with one per output.

    Raises:
        ValueError: If a name is unknown, or does not fit the outputs.

    Example:

    >>> scaled = keras_zigzag.baselines.TemperatureScaling.from_model(
    ...     base, task="classification"
    ... )
    >>> scaled.predict(x_test, verbose=0)["uncertainty"].shape
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
        self.use_answers(_answers(network, task))
        self._scores = chosen_scores(score, self.answers, SCORES)
        view = functional_view(network)
        check_energy(view, self._scores)
        self._ends = output_activations(view)
        self._logits = keras.Model(
            network.input, self.answers.pack(_logits(self.answers))
        )
        self.temperatures = self.add_weight(
            shape=(len(self.answers.tasks),),
            initializer="ones",
            trainable=False,
            dtype="float32",
            autocast=False,
            name="temperatures",
        )

    @classmethod
    def from_model(
        cls, base: keras.Model, task: Any, score: Any = None, **kwargs: Any
    ) -> "TemperatureScaling":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not.
                Trained weights are kept: then `calibrate` is all there is to
                do.
            task: `"classification"` or `"binary"`; with several outputs a
                list or dict with one of them per output.
            score: See the class. Defaults to `None`.
            **kwargs: Arguments of the constructor.

        Returns:
            A `TemperatureScaling` with the temperature 1, not compiled.

        Raises:
            ValueError: If the model cannot be copied, its logits cannot be
                told, or the task or the score does not fit its outputs.

        Example:

        >>> base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.TemperatureScaling.from_model(
        ...     base, task="binary", score="max_probability"
        ... )
        """
        network = functional_view(copy_base(base))
        answers = _answers(network, task)
        chosen_scores(score, answers, SCORES)
        size = range(len(answers.tasks))
        network = with_logits(
            network,
            [not answers.from_logits(index) for index in size],
            [answers.tasks[index] == "binary" for index in size],
        )
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"temperature_{base.name}")
        return cls(network, task, score, **kwargs)

    @property
    def temperature(self) -> Any:
        values = ops.convert_to_numpy(self.temperatures).tolist()
        return self.answers.pack(values)

    def calibrate(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
    ) -> Any:
        """Fits the temperature to data that the network was not trained on.

        Args:
            x: Inputs, or a data set of `(inputs, targets)` or `(inputs,
                targets, sample_weight)`.
            y: Targets as the loss takes them. Defaults to `None`.
            sample_weight: Array of shape `(num_samples,)`, or one weight for
                each label. Defaults to `None`.
            batch_size: Integer, for arrays. Defaults to `None`, for 32.
            steps: Integer. Number of batches of a data set at most. Defaults
                to `None`, for all.

        Returns:
            The temperature: float, or a list or dict with one per output.

        Raises:
            ValueError: If the labels are all the same, or the cross-entropy
                has no minimum: where all answers are right, or are no better
                than chance.

        Example:

        >>> scaled = keras_zigzag.baselines.TemperatureScaling.from_model(
        ...     base, task="classification"
        ... )
        >>> scaled.temperature
        1.0
        >>> labels = base.predict(x_val, verbose=0).argmax(-1)
        >>> labels[:2] = (labels[:2] + 1) % 3   # not right on all of them
        >>> temperature = scaled.calibrate(x_val, labels)
        >>> temperature == scaled.temperature
        True
        """
        parts: list[list[Any]] = [[] for _ in self.answers.tasks]
        for inputs, targets, weight in batches(
            x, y, sample_weight, batch_size, steps
        ):
            self._check_batch(targets)
            logits = self.answers.flat(outputs_on(self._logits, inputs))
            flat = self.answers.flat_targets(targets)
            masks = host_arrays(self.place_masks(model_inputs(inputs)))
            weights = one_per_output(weight, self.answers, "sample_weight")
            for index, part in enumerate(parts):
                *rows, counts = self._rows(
                    index, logits[index], flat[index], weights[index]
                )
                part.append((*rows, _where_there(counts, masks[index])))
        if not parts[0]:
            raise ValueError(
                "There are no samples. Received: a data set without batches, "
                "or a generator that was read to its end."
            )
        self.temperatures.assign([_fitted(part) for part in parts])
        return self.temperature

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        if training:
            return self.network(inputs, training=True)
        logits = self._logits(inputs, training=False)
        return self.take_masks(self._prediction(self._scaled(logits)), logits)

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        scaled = self._scaled(self._logits(inputs, training=False))
        uncertainty = []
        for index, leaf in enumerate(scaled):
            name = self._scores[index]
            if name == "energy":
                score = scores.energy(leaf) * self.temperatures[index]
            else:
                answer = self._answer(index, leaf)
                probabilities = self.answers.probabilities(index, answer)
                score = scores.OF_PROBABILITIES[name](probabilities)
            uncertainty.append(score)
        return self._prediction(scaled), self.answers.pack(uncertainty)

    def fit(
        self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        options = fit_options(args, kwargs)
        history = super().fit(x, y, **options)
        validation = validation_data(x, y, options)
        if validation is not None:
            self._calibrate_after_training(*validation)
        return history

    def _calibrate_after_training(self, data: tuple, options: dict) -> None:
        try:
            self.calibrate(*data, **options)
        except ValueError as error:
            warnings.warn(
                "The network is trained, but its temperature could not be "
                f"fitted and stays {self.temperature}. {error}",
                stacklevel=3,
            )

    def _scaled(self, logits: Any) -> list[Tensor]:
        """The logits divided by their temperature, float32."""
        return [
            ops.cast(leaf, "float32") / self.temperatures[index]
            for index, leaf in enumerate(self.answers.flat(logits))
        ]

    def _answer(self, index: int, scaled: Tensor) -> Tensor:
        """Logits, probabilities or their logarithms, as the base model."""
        if self._ends[index] == "log_softmax":
            return ops.log_softmax(scaled)
        if self.answers.from_logits(index):
            return scaled
        is_binary = self.answers.tasks[index] == "binary"
        return ops.sigmoid(scaled) if is_binary else ops.softmax(scaled)

    def _prediction(self, scaled: list[Tensor]) -> Any:
        outputs = self.answers.flat(self.answers.output)
        return self.answers.pack(
            [
                ops.cast(self._answer(index, leaf), outputs[index].dtype)
                for index, leaf in enumerate(scaled)
            ]
        )

    def _check_batch(self, targets: Any) -> None:
        if targets is None:
            raise ValueError(
                "A temperature needs labels. Received: inputs only. Pass "
                "`calibrate(x, y)`, or a data set of `(inputs, targets)`."
            )
        self.check_targets(keras.tree.map_structure(as_array, targets))

    def _rows(
        self, index: int, logits: Any, targets: Any, weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One row for each answer: logits, targets and weight."""
        prior = self.answers.priors[index]
        targets = as_array(targets)
        if self.answers.tasks[index] == "binary":
            wanted = as_array(prior.target_values(targets))
            weights = _spread(weight, wanted.shape)
            yes, logits = wanted.reshape(-1), logits.reshape(-1)
            wanted = np.stack([yes, 1.0 - yes], axis=-1)
            logits = np.stack([logits, np.zeros_like(logits)], axis=-1)
        else:
            wanted = as_array(prior.one_hot(targets))
            weights = _spread(weight, wanted.shape[:-1])
            ignored = self._ignored_class(index)
            if ignored is not None:
                labels = targets.reshape(weights.shape)
                weights = weights * (labels != ignored)
            wanted = wanted.reshape(-1, wanted.shape[-1])
            logits = logits.reshape(-1, logits.shape[-1])
        return logits, wanted, weights.reshape(-1)

    def _ignored_class(self, index: int) -> int | None:
        loss = self.loss if self.compiled else None
        return ignored_class(self.answers.flat_loss(loss)[index])


def _fitted(parts: list[tuple]) -> float:
    return best_temperature(*map(np.concatenate, zip(*parts, strict=True)))


def _where_there(weights: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """The weights, 0 where the mask says that there is no place."""
    if mask is None:
        return weights
    # Several labels of a place are rows one after the other.
    return weights * np.repeat(mask.ravel(), weights.size // mask.size)


def _spread(weight: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Sample weights, one for each label."""
    if weight is None:
        return np.ones(shape)
    weight = as_array(weight)
    while weight.ndim > len(shape):
        weight = weight[..., 0]
    axes = tuple(range(weight.ndim, len(shape)))
    return np.broadcast_to(np.expand_dims(weight, axes), shape)


def _answers(network: keras.Model, task: Any) -> Answers:
    answers = Answers(functional_view(network), task)
    if "regression" in answers.tasks:
        raise ValueError(
            "A temperature calibrates probabilities, and values have none. "
            f"Expected: 'classification' or 'binary'. Received: task={task!r}"
        )
    return answers


def _logits(answers: Answers) -> list[Any]:
    return [
        tensor
        if answers.from_logits(index)
        else logits_before(tensor, answers.tasks[index] == "binary")
        for index, tensor in enumerate(answers.flat(answers.output))
    ]
