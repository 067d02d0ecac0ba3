from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.checks import as_array, batches_of, is_array
from keras_zigzag.priors.prior import (
    Prior,
    Shape,
    Tensor,
    fits,
    only,
    require_finite,
    written,
)

INFINITE = -1  # As `tf.data.INFINITE_CARDINALITY` is defined.


@keras.saving.register_keras_serializable(package="keras_zigzag")
class ValuePrior(Prior):
    """Prior of a regression: one channel per value, standardised.

    The network sees `(value - mean) / standard deviation`, with the moments
    of the training targets, so that the units of the targets do not matter.
    They are learnt by `adapt`, as in `keras.layers.Normalization`, or given.

    Args:
        num_values: Integer. Number of values. Defaults to the last dimension
            of the output of the base model.
        mean: Float, or one per value, in the units of the targets. Defaults
            to `None`: `adapt` learns it.
        variance: Float, or one per value, in the squared units of the
            targets. Defaults to `None`: `adapt` learns it.
        presence: Boolean. Whether one more channel says if an answer is
            given. Defaults to `True`.
        blank: Float. Value of the channels where none is given, after
            standardisation. Defaults to `0.0`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Targets: values of shape `(batch_size, ..., num_values)`; with one value
    also `(batch_size, ...)`.

    Raises:
        ValueError: If only one of `mean` and `variance` is given, or a
            variance that is not positive.

    Example:

    >>> prior = keras_zigzag.priors.ValuePrior()
    >>> prior.adapt([1.0, 3.0])
    >>> prior.encode_targets([3.0])
    [[1., 1.]]

    The authors' toy regression writes the bare value against -100:

    >>> prior = keras_zigzag.priors.ValuePrior(
    ...     mean=0.0, variance=1.0, blank=-100.0, presence=False
    ... )
    """

    def __init__(
        self,
        num_values: int | None = None,
        mean: float | list[float] | None = None,
        variance: float | list[float] | None = None,
        presence: bool = True,
        blank: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(
            num_outputs=num_values, presence=presence, blank=blank, **kwargs
        )
        if (mean is None) != (variance is None):
            raise ValueError(
                "`mean` and `variance` go together: give both or neither. "
                f"Received: mean={mean}, variance={variance}"
            )
        if variance is not None and np.min(variance) <= 0:
            raise ValueError(
                f"`variance` must be positive. Received: variance={variance}"
            )
        self.input_mean = mean
        self.input_variance = variance

    def build(self, output_shape: Shape) -> None:
        super().build(output_shape)
        self.mean = self._add_moment("mean", 0.0)
        self.variance = self._add_moment("variance", 1.0)
        self.count = self.add_weight(
            name="count",
            shape=(),
            dtype="int32",
            initializer="zeros",
            trainable=False,
        )
        if self.input_mean is not None:
            self._assign(self.input_mean, self.input_variance, 1)

    @property
    def is_ready(self) -> bool:
        return self.built and int(ops.convert_to_numpy(self.count)) > 0

    def adapt(self, targets: Any, sample_weight: Any = None) -> None:
        """Learns mean and variance of the training targets.

        Args:
            targets: Array of shape `(num_samples, ..., num_values)`, or with
                one value `(num_samples, ...)`; or an iterable of batches of
                such arrays, of `(inputs, targets)` or of `(inputs, targets,
                sample_weight)`, for example a `tf.data.Dataset` or a
                `keras.utils.PyDataset`.
            sample_weight: Array with one number per target, or per sample, or
                a mask. Where it is zero is no target. Defaults to `None`.

        Raises:
            ValueError: If there are no targets, they are not finite or not
                of the shape of the output, or the data set has no end.
        """
        learner = Learner(self)
        batches = weighted_batches(
            _named_alone(targets), _named_alone(sample_weight)
        )
        for batch, weight in batches:
            learner.add(_named_alone(batch), _named_alone(weight))
        learner.finish()

    def as_rows(self, targets: Any) -> np.ndarray:
        """Targets as `(num_targets, num_values)`, checked."""
        targets = as_array(targets)
        require_finite(targets)
        if not self.built:
            self.build((None, *targets.shape[1:]))
        check_value_shape(self, targets.shape)
        return targets.reshape(-1, self.num_outputs).astype("float64")

    def take(self, moments: "Moments") -> None:
        """Standardises by these moments from now on."""
        count = min(moments.count, np.iinfo("int32").max)
        self._assign(moments.mean, moments.variance(), count)

    def target_values(self, targets: Tensor) -> Tensor:
        return self._standardised(ops.convert_to_tensor(targets))

    def feedback_values(self, prediction: Tensor) -> Tensor:
        return self._standardised(prediction)

    def answer(self, prediction: Tensor) -> Tensor:
        return self._with_channel_axis(ops.cast(prediction, "float32"))

    def check_values(
        self, targets: np.ndarray, ignored: int | None = None
    ) -> None:
        require_finite(targets)
        check_value_shape(self, targets.shape)
        if not self.is_ready:
            raise ValueError(
                "The prior does not know the scale of the targets yet. Call "
                "`model.adapt(y_train)` before `fit`, or give "
                "`ValuePrior(mean=..., variance=...)`. "
                "Received: a prior that was not adapted."
            )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update(
            {
                "num_values": self.num_outputs,
                "mean": plain(self.input_mean),
                "variance": plain(self.input_variance),
            }
        )
        return config

    def _standardised(self, values: Tensor) -> Tensor:
        values = self._with_channel_axis(ops.cast(values, "float32"))
        return (values - self.mean) / ops.sqrt(self.variance)

    def _add_moment(self, name: str, value: float) -> Any:
        return self.add_weight(
            name=name,
            shape=(self.num_outputs,),
            initializer=keras.initializers.Constant(value),
            trainable=False,
            # Half precision has no room for the moments of large targets.
            autocast=False,
        )

    def _assign(self, mean: Any, variance: Any, count: int) -> None:
        shape = (self.num_outputs,)
        try:
            mean = np.broadcast_to(mean, shape)
            variance = np.broadcast_to(variance, shape)
        except ValueError:
            raise ValueError(
                "`mean` and `variance` must be numbers, or one number per "
                f"value, of which there are {self.num_outputs}. "
                f"Received: mean={mean}, variance={variance}"
            ) from None
        self.mean.assign(mean)
        self.variance.assign(variance)
        self.count.assign(count)


class Learner:
    """Learns the moments of the targets of one output, batch by batch.

    Args:
        prior: `ValuePrior`, which takes them in the end.
    """

    def __init__(self, prior: ValuePrior):
        self.prior = prior
        self.moments = Moments()

    def add(self, targets: Any, weight: Any = None) -> None:
        """Takes one more batch; where its weight is zero is no target."""
        self.moments.add(rows_there(self.prior.as_rows(targets), weight))

    def finish(self) -> None:
        if self.moments.count == 0:
            raise ValueError(
                "`adapt` needs at least one target. Received: y without "
                "samples, or with weights of zero alone."
            )
        self.prior.take(self.moments)


class Moments:
    """Mean and variance of rows of values that come in batches."""

    def __init__(self) -> None:
        self.count = 0
        self.mean: Any = 0.0
        self._square: Any = 0.0
        self._lowest: Any = np.inf
        self._highest: Any = -np.inf

    def add(self, values: np.ndarray) -> None:
        """Takes one more batch, `(num_rows, num_values)`."""
        if len(values) == 0:
            return
        # Chan et al. (1983): merges the moments of two samples.
        size, mean = len(values), values.mean(axis=0)
        total, delta = self.count + size, mean - self.mean
        square = ((values - mean) ** 2).sum(axis=0)
        self._square += square + delta**2 * self.count * size / total
        self.mean = self.mean + delta * size / total
        self.count = total
        self._lowest = np.minimum(self._lowest, values.min(axis=0))
        self._highest = np.maximum(self._highest, values.max(axis=0))

    def variance(self) -> np.ndarray:
        """The variance; 1 for a constant, which has no scale."""
        # A sum of squares would be what rounding leaves of a constant.
        is_constant = self._lowest == self._highest
        variance = np.where(is_constant, 1.0, self._square / self.count)
        limits = np.finfo("float32")
        if (variance < limits.tiny).any() or (variance > limits.max).any():
            raise ValueError(
                "The targets are too small or too large for float32. "
                f"Received: y with a variance of {variance.tolist()}. Give "
                "them in other units."
            )
        return variance


def weighted_batches(
    targets: Any, sample_weight: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Batches of targets, each with its weights or `None`.

    Args:
        targets: Array, or a data set.
        sample_weight: Array of the weights of an array. Defaults to `None`.
    """
    if is_array(targets) or isinstance(targets, (list, tuple)):
        yield _of_one_output(targets), sample_weight
        return
    if sample_weight is not None:
        raise ValueError(
            "A data set brings its weights itself, as batches of `(inputs, "
            "targets, sample_weight)`. Received: `sample_weight` and targets "
            f"of type {type(targets).__name__}."
        )
    cardinality = getattr(targets, "cardinality", None)
    if getattr(targets, "num_batches", 0) is None or (
        cardinality is not None and int(cardinality()) == INFINITE
    ):
        raise ValueError(
            "`adapt` reads all targets, so the data set must have an end. "
            f"Received: {targets}. Adapt before `repeat()`."
        )
    for batch in batches_of(targets):
        if not isinstance(batch, (list, tuple)):
            yield batch, None
            continue
        _, y, weight = keras.utils.unpack_x_y_sample_weight(tuple(batch))
        yield _of_one_output(y), weight


def _named_alone(structure: Any) -> Any:
    """What is in a dictionary of one; anything else as it is."""
    return only(structure) if isinstance(structure, dict) else structure


def _of_one_output(targets: Any) -> Any:
    """Targets as `fit` takes them, also in a list of one array."""
    is_list = isinstance(targets, (list, tuple)) and len(targets) == 1
    return targets[0] if is_list and is_array(targets[0]) else targets


def rows_there(rows: np.ndarray, weight: Any) -> np.ndarray:
    """The rows of targets whose weight is not zero.

    Args:
        rows: Array of shape `(num_samples * num_places, num_values)`.
        weight: Array of shape `(num_samples,)` or `(num_samples, ...)`, or
            `None` for all.
    """
    if weight is None:
        return rows
    is_there = as_array(weight) != 0
    flat = is_there.reshape(-1)
    if flat.size != len(rows) and is_there.ndim == 1 and flat.size:
        flat = np.repeat(flat, len(rows) // flat.size)
    if flat.size != len(rows):
        raise ValueError(
            "`sample_weight` must have one number per target or per sample. "
            f"Received: `sample_weight` of shape {is_there.shape} for "
            f"{len(rows)} targets."
        )
    return rows[flat]


def check_value_shape(prior: Prior, shape: Shape) -> None:
    """Raises if targets of this shape are not one value per output."""
    expected = (*prior.spatial_shape, prior.num_outputs)
    given = tuple(shape[1:])
    if prior.num_outputs == 1 and len(given) == len(expected) - 1:
        given = (*given, 1)
    if not fits(expected, given):
        raise ValueError(
            "Targets must have the shape of the output, "
            f"{written(expected)}. Received: y of shape {tuple(shape)}."
        )


def plain(moment: Any) -> Any:
    """A number or a list of numbers, which JSON can hold."""
    return moment if moment is None else np.asarray(moment).tolist()
