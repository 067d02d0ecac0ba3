"""What the steps of an `UncertaintyModel` hand to its `call`."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_zigzag.prior_layers import TakeRows

Tensor = Any


class TrainingInputs(NamedTuple):
    """A batch for training.

    Attributes:
        inputs: The user's inputs, `batch_size` samples.
        prior: What the method needs besides, with one row per output row.
        metric_rows: Integer tensor, the rows of the outputs that metrics may
            see: those in which no label took part.
    """

    inputs: Any
    prior: Any
    metric_rows: Any


class HeadOutputs(NamedTuple):
    """The outputs of each head of a network with several."""

    heads: tuple


class LossInputs(NamedTuple):
    """A batch for the loss, which may need more than the prediction."""

    inputs: Any


class ScoringInputs(NamedTuple):
    """A batch to be predicted with its uncertainty."""

    inputs: Any


def with_first_rows_again(structure: Any, count: int | Tensor) -> Any:
    """Puts the first `count` samples of each tensor behind the batch."""
    if isinstance(count, int) and count == 0:
        return structure
    return keras.tree.map_structure(
        lambda leaf: (
            None
            if leaf is None
            else ops.concatenate([leaf, leaf[:count]], axis=0)
        ),
        structure,
    )


class RowTaker:
    """Takes some samples of a batch, masks included.

    It holds the layer that does so where Keras does not look for the layers
    of a model; one made within a step would not go through `torch.compile`.
    """

    def __init__(self) -> None:
        self._layer = TakeRows(dtype="float32")

    def __call__(self, structure: Any, rows: Tensor) -> Any:
        return keras.tree.map_structure(
            lambda leaf: None if leaf is None else self._layer(leaf, rows),
            structure,
        )


def seeing_loss_rows(compute_loss: Callable) -> Callable:
    """`compute_loss` with the user's inputs, row by row with the outputs."""

    @functools.wraps(compute_loss)
    def wrapper(
        self: Any,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if isinstance(x, TrainingInputs):
            x = self.loss_inputs(x)
        elif isinstance(x, LossInputs):
            x = x.inputs
        has_heads = isinstance(y_pred, HeadOutputs)
        outputs = y_pred.heads if has_heads else (y_pred,)
        losses = [
            compute_loss(
                self, x, y, one, _copied(sample_weight), *args, **kwargs
            )
            for one in outputs
        ]
        return ops.mean(ops.stack(losses)) if has_heads else losses[0]

    return _marked(wrapper)


def _copied(sample_weight: Any) -> Any:
    """Weights that a loss may change: Keras does, by a mask, on PyTorch."""
    return keras.tree.map_structure(
        lambda leaf: None if leaf is None else ops.copy(leaf), sample_weight
    )


def seeing_metric_rows(compute_metrics: Callable) -> Callable:
    """`compute_metrics` without the rows in which a label took part."""

    @functools.wraps(compute_metrics)
    def wrapper(
        self: Any,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        if isinstance(x, TrainingInputs):
            x, y, y_pred, sample_weight = self.take_rows(
                (self.loss_inputs(x), y, y_pred, sample_weight), x.metric_rows
            )
        elif isinstance(x, LossInputs):
            x = x.inputs
        if isinstance(y_pred, HeadOutputs):
            y_pred = self.mean_of_heads(y_pred.heads)
        return compute_metrics(self, x, y, y_pred, sample_weight)

    return _marked(wrapper)


def _marked(wrapper: Any) -> Callable:
    wrapper.sees_user_rows = True
    return wrapper


SEES_USER_ROWS = {
    "compute_loss": seeing_loss_rows,
    "compute_metrics": seeing_metric_rows,
}


def rows_of(structure: Any, rows: slice) -> Any:
    """Some rows of arrays, `None` where there is none."""
    return keras.tree.map_structure(
        lambda leaf: None if leaf is None else leaf[rows], structure
    )
