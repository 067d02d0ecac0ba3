"""Which rows of the kernels of a wide layer read the prior."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.call_arguments import Arguments, first_features, replace
from keras_zigzag.copying import copy_layer, copy_state
from keras_zigzag.graphs import is_float

BATCH_SIZE, OPEN_SIZE = 2, 5
# Integers may be indices of nodes, of which there may be one; edges may have
# to stand in blocks of some rows for each node that they end at.
LIMITS_AND_ROWS = ((2, 1), (1, 1), *((2, rows) for rows in range(2, 9)))
TOLERANCE = 1e-4


def place_rows(layer: Any, wide: Any, arguments: Arguments, prior: Any) -> bool:
    """Puts the weights of a layer where its wide copy reads the features.

    The copy has them at the beginning of each axis that grew, with zeros
    behind them. Where a kernel reads something else after the features, as
    the ends of an edge side by side, the prior's rows lie in between: they
    are those that change nothing while the prior is zero.

    Args:
        layer: Layer of the base model, built.
        wide: The `WideLayer` of its copy, which has its weights.
        arguments: `(args, kwargs)` of the layer's call.
        prior: Symbolic tensor of the prior.

    Returns:
        Whether the copy then answers as the layer does, whatever the prior.
        Where the layer cannot be tried, it is not known to.
    """
    trial = Trial(layer, wide, arguments, prior)
    if trial.expected is None:
        return False
    state = Values(wide.layer.variables)
    try:
        if trial.tells_apart() and trial.agrees():
            return True
        rows = prior_rows(layer, trial)
        if rows is None:
            return False
        state = Values(wide.layer.variables, state.values)
        for index, (axis, is_prior) in rows.items():
            state.spread(index, axis, is_prior)
        state.restore()
        return trial.agrees()
    finally:
        # A call may leave something behind in the layer.
        state.restore()


class Values:
    """What some variables hold.

    Args:
        variables: List of variables.
        values: List of arrays. Defaults to what the variables hold.
    """

    def __init__(self, variables: list[Any], values: Any = None):
        self.variables = variables
        held = variables if values is None else values
        # PyTorch would hand out its own memory.
        self.values = [np.array(ops.convert_to_numpy(one)) for one in held]

    def restore(self) -> None:
        for variable, value in zip(self.variables, self.values, strict=True):
            variable.assign(value)

    def spread(self, index: int, axis: int, is_prior: np.ndarray) -> None:
        """Moves what comes first on an axis to where it is not `is_prior`."""
        value = np.moveaxis(self.values[index], axis, 0)
        spread = np.zeros_like(value)
        spread[~is_prior] = value[: int((~is_prior).sum())]
        self.values[index] = np.moveaxis(spread, 0, axis)


class Trial:
    """Calls of a layer and of its wide copy on the same random numbers.

    Args:
        layer: Layer of the base model, built.
        wide: The `WideLayer` of its copy.
        arguments: `(args, kwargs)` of the layer's call.
        prior: Symbolic tensor of the prior.

    Attributes:
        expected: List of arrays, what the layer answers, or `None` if it
            takes no random numbers.
    """

    def __init__(self, layer: Any, wide: Any, arguments: Arguments, prior: Any):
        self.wide = wide
        self.symbolic = arguments
        self.features = first_features(layer, arguments)
        self.prior = prior
        for self._limit, self._rows in LIMITS_AND_ROWS:
            self._samples: dict[int, Any] = {}
            self._generator = np.random.default_rng(0)
            self.arguments = keras.tree.map_structure(self._sample, arguments)
            self.expected = self._answers_of(layer)
            if self.expected is not None:
                break

    def tells_apart(self) -> bool:
        """Whether the layer answers one sample as it does not the other.

        Where nothing gets through to the answer, as at a gate that starts
        closed, it agrees with whatever its kernels are.
        """
        return any(np.ptp(one, axis=0).any() for one in self.expected or [])

    def agrees(self) -> bool:
        """Whether the wide copy answers as the layer does."""
        outputs = self.answers(self._sample(self.prior))
        return outputs is not None and all(
            np.allclose(one, other, atol=TOLERANCE, equal_nan=True)
            for one, other in zip(outputs, self.expected or [], strict=True)
        )

    def answers(self, prior: Any = None) -> list[np.ndarray] | None:
        """What the wide copy answers, by default to a prior of zeros."""
        if prior is None:
            prior = ops.zeros_like(self._sample(self.prior))
        features = self._sample(self.features)
        joined = self.wide.entry([features, prior])
        args, kwargs = replace(
            self.wide.layer, self.arguments, features, joined, once=True
        )
        return called(self.wide.layer, args, kwargs)

    def _answers_of(self, layer: Any) -> list[np.ndarray] | None:
        # A copy, since a call may leave something behind in the user's layer.
        plain = copy_layer(layer)
        args, kwargs = self.arguments
        if called(plain, args, kwargs) is None:
            return None
        copy_state(layer, plain)
        return called(plain, args, kwargs)

    def _sample(self, leaf: Any) -> Any:
        if not isinstance(leaf, keras.KerasTensor):
            return leaf
        # A tensor that is read twice is the same tensor twice.
        if id(leaf) not in self._samples:
            batch_size, *rest = leaf.shape
            by_node = leaf is self.features or leaf is self.prior
            by_node = by_node or is_bool(leaf) or self._rows == 1
            open_size = OPEN_SIZE * (1 if by_node else self._rows)
            shape = (
                batch_size or BATCH_SIZE,
                *(size or open_size for size in rest),
            )
            self._samples[id(leaf)] = ops.convert_to_tensor(
                self._numbers(leaf, shape), leaf.dtype
            )
        return self._samples[id(leaf)]

    def _numbers(self, leaf: Any, shape: tuple) -> np.ndarray:
        if is_float(leaf):
            return self._generator.standard_normal(shape)
        if is_bool(leaf):
            return np.ones(shape)
        numbers = self._generator.integers(0, self._limit, shape)
        if self._rows > 1 and len(shape) == 3:
            numbers[..., -1] = np.arange(shape[1]) // self._rows
        return numbers


def is_bool(tensor: Any) -> bool:
    return keras.backend.standardize_dtype(tensor.dtype) == "bool"


def called(layer: Any, args: tuple, kwargs: dict) -> list[np.ndarray] | None:
    """The outputs of a layer as arrays, `None` where they cannot be had."""
    try:
        arrays = [
            np.array(ops.convert_to_numpy(ops.cast(one, "float32")))
            for one in keras.tree.flatten(layer(*args, **kwargs))
        ]
    except Exception:
        # Numbers of no meaning may not be valid inputs.
        return None
    return arrays if all(np.isfinite(one).any() for one in arrays) else None


def prior_rows(
    layer: Any, trial: Trial
) -> dict[int, tuple[int, np.ndarray]] | None:
    """Where the prior is read, of each weight that grew.

    The values of the weights are others afterwards.

    Returns:
        Dictionary from the index of a weight to the axis that grew and which
        places on it the prior alone reads. `None` if that cannot be told.
    """
    variables = trial.wide.layer.variables
    grown = {
        index: axis
        for index, (old, new) in enumerate(
            zip(layer.variables, variables, strict=True)
        )
        for axis, size in enumerate(new.shape)
        if size != old.shape[axis]
    }
    generator = np.random.default_rng(0)
    for index, variable in enumerate(variables):
        is_zero = not ops.convert_to_numpy(variable).any()
        # What is multiplied by zero would seem not to be read.
        if index in grown or (variable.trainable and is_zero):
            variable.assign(generator.standard_normal(variable.shape))
    expected = trial.answers()
    if expected is None:
        return None
    found = {}
    for index, axis in grown.items():
        is_read = rows_that_matter(trial, variables[index], axis, expected)
        if is_read.sum() != layer.variables[index].shape[axis]:
            return None
        found[index] = axis, ~is_read
    return found


def rows_that_matter(
    trial: Trial, variable: Any, axis: int, expected: list[np.ndarray]
) -> np.ndarray:
    """Which rows of a weight change the answer to a prior of zeros."""
    value = np.array(ops.convert_to_numpy(variable))
    generator = np.random.default_rng(1)
    matters = np.zeros(value.shape[axis], bool)
    for row in range(len(matters)):
        other = np.array(value)
        places = [slice(None)] * value.ndim
        places[axis] = slice(row, row + 1)
        other[tuple(places)] += generator.standard_normal(
            other[tuple(places)].shape
        )
        variable.assign(other)
        outputs = trial.answers()
        matters[row] = outputs is None or not all(
            np.allclose(one, two, rtol=1e-6, atol=1e-6, equal_nan=True)
            for one, two in zip(outputs, expected, strict=True)
        )
    variable.assign(value)
    return matters
