from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.checks import as_array
from keras_zigzag.prior_layers import lay_on
from keras_zigzag.priors.prior import Prior, Tensor
from keras_zigzag.priors.value_prior import (
    Learner,
    ValuePrior,
    weighted_batches,
)


@keras.saving.register_keras_serializable(package="keras_zigzag")
class JointPrior(Prior):
    """Prior of a model with several outputs: their priors side by side.

    Made by `keras_zigzag.priors.resolve`, hence by
    `ZigZagModel.from_model`, when the base model has several outputs.

    Args:
        priors: List or dict of `Prior`, in the structure of the outputs.
        output_names: List of strings, the names by which targets and losses
            may be given where the outputs are a list. Defaults to `None`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Example:

    >>> prior = keras_zigzag.priors.JointPrior({
    ...     "digit": keras_zigzag.priors.OneHotPrior(num_classes=10),
    ...     "angle": keras_zigzag.priors.ValuePrior(mean=0.0, variance=1.0),
    ... })
    """

    def __init__(
        self,
        priors: list[Prior] | dict[str, Prior],
        output_names: list[str] | None = None,
        **kwargs: Any,
    ):
        # Each has a presence channel and a blank of its own.
        super().__init__(presence=False, blank=0.0, **kwargs)
        entries = keras.tree.flatten(priors)
        if len({id(prior) for prior in entries}) < len(entries):
            raise ValueError(
                "Each output needs a prior of its own, since it learns from "
                f"its own targets. Received: the same object in {priors!r}."
            )
        # In the order in which Keras flattens outputs by name, so that the
        # channels keep their places when a dictionary is saved.
        self.priors = (
            {name: priors[name] for name in sorted(priors)}
            if isinstance(priors, dict)
            else list(priors)
        )
        self.output_names = output_names

    def build(self, output_shape: Any) -> None:
        self.fit_to(output_shape)
        self.built = True

    def fit_to(self, output_shape: Any) -> None:
        shapes = self._flat(output_shape)
        for prior, shape in zip(self._flat(self.priors), shapes, strict=True):
            prior.fit_to(shape)
        # The largest map, on which those of the other outputs are laid.
        self.spatial_shape = max(
            (prior.spatial_shape for prior in self._flat(self.priors)),
            key=lambda shape: (len(shape), [size or 0 for size in shape]),
        )
        ranks = {len(prior.spatial_shape) for prior in self._flat(self.priors)}
        if len(ranks - {0}) > 1:
            raise ValueError(
                "Dense outputs must have the same number of axes, so that "
                "their priors can be laid on one another. "
                f"Received: outputs of the shapes {output_shape}."
            )

    @property
    def num_values(self) -> int:
        return self.num_channels

    @property
    def num_channels(self) -> int:
        return sum(prior.num_channels for prior in self._flat(self.priors))

    @property
    def is_ready(self) -> bool:
        return all(prior.is_ready for prior in self._flat(self.priors))

    def adapt(self, targets: Any, sample_weight: Any = None) -> None:
        """Hands each prior that learns from targets its own.

        Args:
            targets: Arrays in the structure of the outputs, or an iterable
                of batches `(inputs, targets)`. A dictionary may leave out
                the outputs whose prior learns nothing.
            sample_weight: Weights in the same structure, with `None` where
                all count, or an array for all outputs; see `ValuePrior`. An
                iterable brings its own. Defaults to `None`.
        """
        if not isinstance(targets, (dict, list, tuple)):
            self._adapt_to_batches(weighted_batches(targets, sample_weight))
            return
        for prior, column, weight in zip(
            self._flat(self.priors),
            self._columns(targets),
            self._weights(sample_weight),
            strict=True,
        ):
            if hasattr(prior, "adapt"):
                prior.adapt(column, *([] if weight is None else [weight]))

    def encode_targets(self, targets: Any) -> Tensor:
        return self._joined(
            lambda prior, one: prior.encode_targets(one), targets
        )

    def without_ignored(self, targets: Any, loss: Any = None) -> Any:
        told = [
            prior.without_ignored(one, its_loss)
            for prior, one, its_loss in zip(
                self._flat(self.priors),
                self._flat(targets),
                self._loss_per_output(loss),
                strict=True,
            )
        ]
        if isinstance(self.priors, dict):
            return dict(zip(self.priors, told, strict=True))
        return told

    def encode_prediction(self, prediction: Any) -> Tensor:
        return self._joined(
            lambda prior, one: prior.encode_prediction(one), prediction
        )

    def encode_blank(self, batch_size: int | Tensor) -> Tensor:
        return self._side_by_side(
            [
                prior.encode_blank(batch_size)
                for prior in self._flat(self.priors)
            ]
        )

    def answer(self, prediction: Any) -> Any:
        return self._mapped(lambda prior, one: prior.answer(one), prediction)

    def probabilities(self, prediction: Any) -> Any:
        return self._mapped(
            lambda prior, one: prior.probabilities(one), prediction
        )

    def check_probabilities(self) -> None:
        for prior in self._flat(self.priors):
            prior.check_probabilities()

    def check_targets(self, targets: Any, loss: Any = None) -> None:
        for prior, one, its_loss in zip(
            self._flat(self.priors),
            self._flat(targets),
            self._loss_per_output(loss),
            strict=True,
        ):
            prior.check_targets(one, its_loss)

    def check_loss(self, loss: Any) -> None:
        for prior, its_loss in zip(
            self._flat(self.priors), self._loss_per_output(loss), strict=True
        ):
            if its_loss is not None:
                prior.check_loss(its_loss)

    def compute_output_shape(self, output_shape: Any) -> Any:
        batch_size = self._flat(output_shape)[0][0]
        return (batch_size, *self.spatial_shape, self.num_channels)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["presence"], config["blank"]
        config["priors"] = keras.tree.map_structure(
            keras.saving.serialize_keras_object, self.priors
        )
        config["output_names"] = self.output_names
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "JointPrior":
        config = dict(config)
        deserialize = keras.saving.deserialize_keras_object
        priors = config.pop("priors")
        if isinstance(priors, dict):
            made = {name: deserialize(one) for name, one in priors.items()}
            return cls(made, **config)
        return cls([deserialize(one) for one in priors], **config)

    def _adapt_to_batches(self, batches: Iterable[tuple[Any, Any]]) -> None:
        learners = [_learner(prior) for prior in self._flat(self.priors)]
        for targets, sample_weight in batches:
            for learner, column, weight in zip(
                learners,
                self._columns(targets),
                self._weights(sample_weight),
                strict=True,
            ):
                if learner is not None:
                    learner.add(column, weight)
        for learner in learners:
            if learner is not None:
                learner.finish()

    def _idle(self) -> list[str]:
        """The names of the outputs whose prior learns nothing."""
        named = zip(self._names(), self._flat(self.priors), strict=False)
        return [name for name, prior in named if not hasattr(prior, "adapt")]

    def _weights(self, sample_weight: Any) -> list[Any]:
        if isinstance(sample_weight, dict):
            sample_weight = dict.fromkeys(self._names()) | sample_weight
        if keras.tree.is_nested(sample_weight):
            return self._flat(sample_weight)
        return [sample_weight] * len(self._flat(self.priors))

    def _columns(self, targets: Any) -> list[Any]:
        """Targets of each output, `None` where they may be left out."""
        if isinstance(targets, dict):
            targets = dict.fromkeys(self._idle()) | targets
        return self._flat(targets)

    def _flat(self, structure: Any) -> list[Any]:
        """One entry per output, whichever way Keras lets it be given."""
        if isinstance(self.priors, dict) or isinstance(structure, dict):
            return self._by_name(structure, self._names())
        is_list = isinstance(structure, (list, tuple))
        if not is_list or len(structure) != len(self.priors):
            given = (
                f"{len(structure)} entries"
                if is_list
                else f"one of type `{type(structure).__name__}`"
            )
            raise ValueError(
                f"The base model has {len(self.priors)} outputs. "
                f"Received: {given}. Give a list with one entry per output."
            )
        return list(structure)

    def _names(self) -> list[str]:
        """The names of the outputs, in the order of the channels."""
        return list(
            self.priors
            if isinstance(self.priors, dict)
            else self.output_names or []
        )

    def _by_name(self, structure: Any, names: list[str]) -> list[Any]:
        if not isinstance(structure, dict) or set(structure) != set(names):
            given = (
                sorted(structure)
                if isinstance(structure, dict)
                else type(structure).__name__
            )
            raise ValueError(
                f"The outputs of the base model are {sorted(names)}. "
                f"Received: {given}. Give a dict with one entry per output."
            )
        return [structure[name] for name in names]

    def _loss_per_output(self, loss: Any) -> list[Any]:
        if isinstance(loss, dict):
            self._check_names_of_losses(loss)
            return [loss.get(name) for name in self._names()]
        if isinstance(loss, (list, tuple)) and len(loss) == len(self.priors):
            return list(loss)
        # Keras takes one for all, and says what it does not take.
        is_one = not isinstance(loss, (list, tuple))
        return [loss if is_one else None] * len(self.priors)

    def _check_names_of_losses(self, loss: dict[str, Any]) -> None:
        """Raises a `ValueError` for a loss of no output."""
        names = self._names()
        unknown = sorted(set(loss) - set(names))
        if names and unknown:
            raise ValueError(
                "Losses are given by the names of the outputs. Expected some "
                f"of {names}. Received: a loss for {unknown}."
            )

    def _mapped(self, function: Callable, prediction: Any) -> Any:
        if isinstance(self.priors, dict):
            return {
                name: function(prior, prediction[name])
                for name, prior in self.priors.items()
            }
        # A list or a tuple, as the outputs are.
        return type(prediction)(
            function(prior, one)
            for prior, one in zip(self.priors, prediction, strict=True)
        )

    def _joined(self, encode: Callable, structure: Any) -> Tensor:
        return self._side_by_side(
            [
                encode(prior, one)
                for prior, one in zip(
                    self._flat(self.priors), self._flat(structure), strict=True
                )
            ]
        )

    def _side_by_side(self, encodings: list[Tensor]) -> Tensor:
        shapes = [prior.spatial_shape for prior in self._flat(self.priors)]
        largest = encodings[shapes.index(self.spatial_shape)]
        spread = [
            lay_on(encoding, largest, len(largest.shape) - 1)
            for encoding in encodings
        ]
        return ops.concatenate(spread, axis=-1)


class _Collector:
    """Hands a prior of a user's own all targets at once."""

    def __init__(self, prior: Any):
        self.prior = prior
        self.targets: list[Any] = []
        self.weights: list[Any] = []

    def add(self, targets: Any, weight: Any = None) -> None:
        self.targets.append(as_array(targets))
        if weight is not None:
            self.weights.append(as_array(weight))

    def finish(self) -> None:
        parts = [self.targets, self.weights] if self.weights else [self.targets]
        self.prior.adapt(*map(np.concatenate, parts))


def _learner(prior: Any) -> Any:
    """What takes the targets of an output batch by batch, if any does."""
    if getattr(type(prior), "adapt", None) is ValuePrior.adapt:
        return Learner(prior)
    return _Collector(prior) if hasattr(prior, "adapt") else None
