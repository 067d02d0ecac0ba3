"""What the steps of an `UncertaintyModel` hand to its `call`."""

from typing import Any, NamedTuple


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


class ScoringInputs(NamedTuple):
    """A batch to be predicted with its uncertainty."""

    inputs: Any
