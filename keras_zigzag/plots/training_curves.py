from collections.abc import Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag.number_checks import checked_count
from keras_zigzag.plots.axes import LINE, add_legend, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Those where 1 is perfect, so that they share an axis. Of a model with
# several outputs they are `val_<output>_raulc` and so on.
DEFAULTS = (
    "val_accuracy",
    "val_*_accuracy",
    "val_raulc",
    "val_*_raulc",
    "val_prediction_rejection_ratio",
    "val_*_prediction_rejection_ratio",
    "val_spearman",
    "val_*_spearman",
    "val_*_roc_auc",
)


def training_curves(
    history: Any,
    metrics: Sequence[str] | None = None,
    frequency: int = 1,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws the callback's metrics by epoch.

    Args:
        history: What `fit` returns, a `keras.callbacks.History`, or its
            dictionary from names to one number per epoch, the first of them
            epoch 1; a `History` knows where `fit` went on from. NaN is an
            epoch without a number, and leaves a gap.
        metrics: List of names, with or without `val_`; `*` stands for
            anything, as in `"*_roc_auc"`. Defaults to `None`: the accuracy,
            rAULC, rejection ratio, Spearman's correlation and ROC-AUCs that
            there are, of each output, else everything that starts with
            `val_`, without what was undefined after some epochs.
        frequency: Integer. Every how many epochs the callback, or Keras's
            `validation_freq`, has measured. Defaults to `1`.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes.

    Raises:
        ValueError: If a metric is not in the history, or has too few numbers
            for its epochs.

    Example:

    >>> ax = keras_zigzag.plots.training_curves(
    ...     {"loss": [1.0, 0.5], "val_raulc": [0.6, 0.8]})
    >>> ax.lines[0].get_ydata()
    [0.6, 0.8]
    """
    logs = _logs(history)
    chosen = _chosen(logs, metrics)
    epochs_of_logs = _epochs(history, max(map(len, logs.values())))
    frequency = checked_count("frequency", frequency)
    measured = epochs_of_logs[epochs_of_logs % frequency == 0]
    if metrics is None:
        # A metric that was undefined after some epochs has no numbers there,
        # and nobody knows which they are.
        fitting = [
            name
            for name in chosen
            if len(logs[name]) in (len(epochs_of_logs), len(measured))
        ]
        chosen = fitting or chosen
    curves = {
        name: _curve(name, logs[name], epochs_of_logs, measured, frequency)
        for name in chosen
    }

    ax = axes_for(ax)
    for name, (epochs, values) in curves.items():
        num_bad = int(np.count_nonzero(~np.isfinite(values)))
        note = f" (missing: {num_bad:,})" if num_bad else ""
        ax.plot(
            epochs,
            values,
            # A point between two gaps is no line.
            marker="." if num_bad or len(values) == 1 else None,
            markersize=4,
            label=name.removeprefix("val_").replace("_", " ") + note,
            **LINE,
        )
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="epoch", ylabel="validation")
    add_legend(ax)
    return ax


def _logs(history: Any) -> dict[str, Any]:
    logs = getattr(history, "history", history)
    if not isinstance(logs, dict) or not any(map(np.size, logs.values())):
        raise ValueError(
            "`history` must be what `fit` returns after at least one epoch, "
            "or its dictionary from names to one number per epoch. "
            f"Received: history={history!r}"
        )
    return logs


def _chosen(logs: dict[str, Any], metrics: Sequence[str] | None) -> list[str]:
    if metrics is None:
        found = _matching(logs, DEFAULTS) or _matching(logs, ["val_*"])
        if not found:
            raise ValueError(
                "There is nothing of a validation in the history. Pass "
                "`validation_data` or the callback to `fit`, or choose "
                f"`metrics`. Received: {sorted(logs)}"
            )
        return found
    found = []
    for name in [metrics] if isinstance(metrics, str) else metrics:
        some = _matching(logs, [name]) or _matching(logs, [f"val_{name}"])
        if not some:
            raise ValueError(
                f"The history has no such metric. Expected one of "
                f"{sorted(logs)}. Received: {name!r}"
            )
        found += some
    return list(dict.fromkeys(found))


def _matching(logs: dict[str, Any], patterns: Sequence[str]) -> list[str]:
    return [
        name for pattern in patterns for name in logs if fnmatch(name, pattern)
    ]


def _epochs(history: Any, num_epochs: int) -> np.ndarray:
    """Numbers of the epochs, from 1; of a training that went on from later."""
    epochs = np.asarray(getattr(history, "epoch", ()), dtype=int) + 1
    if len(epochs) == num_epochs:
        return epochs
    return np.arange(1, num_epochs + 1)


def _curve(
    name: str,
    values: Any,
    epochs: np.ndarray,
    measured: np.ndarray,
    frequency: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Epochs and values, one for each or one where it was measured."""
    values = np.asarray(values, dtype="float64")
    if len(values) == len(epochs):
        return epochs, values
    if len(values) != len(measured):
        raise ValueError(
            f"`{name}` has not a number for every epoch. Say how often it was "
            "measured, `frequency=`, or leave it out if it was not defined "
            "after some of them. Received: "
            f"frequency={frequency}, {len(values)} numbers in a history of "
            f"{len(epochs)} epochs."
        )
    return measured, values
