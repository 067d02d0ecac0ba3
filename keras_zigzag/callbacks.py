"""Metrics of the uncertainties while a model trains."""

import warnings
from collections.abc import Sequence
from typing import Any

import keras

from keras_zigzag.callback_order import move_to_front
from keras_zigzag.evaluation.metric_sets import known_names
from keras_zigzag.evaluation.model_outputs import Score, check_model
from keras_zigzag.evaluation.model_scores import Evaluation
from keras_zigzag.evaluation.report import UncertaintyReport
from keras_zigzag.metrics.inputs import NanPolicy
from keras_zigzag.number_checks import checked_count

ON_ERROR = ("warn", "raise")


class UncertaintyEvaluation(keras.callbacks.Callback):
    """Puts the metrics of the uncertainties into the logs of each epoch.

    The numbers are those of `keras_zigzag.evaluate_uncertainty`, with `val_`
    before their names: `val_raulc`, `val_aurc`, `val_svhn_roc_auc`, …, so
    that `EarlyStopping`, `ModelCheckpoint`, `CSVLogger`, `TensorBoard`,
    `History` and the progress bar see them. It puts itself first in the list
    of callbacks, so that all others see them in the same epoch, whatever the
    order they were given in. Logs that are there already, such as
    `val_accuracy` of `validation_data`, stay as they are.

    Keras cannot tell from these names which way is up: give callbacks that
    monitor them `mode="max"` or `mode="min"`.

    It evaluates after the first and the last epoch and every `frequency`-th.
    In between it logs the latest numbers again, so that loggers have their
    columns in every row, and the patience of others counts epochs: for three
    evaluations without an improvement it is three times `frequency`. What is
    not defined after an epoch, as `val_raulc` without a single mistake, is
    missing from its logs.

    Args:
        id_data: `(x, y)`, `(x, y, sample_weight)` or a data set of batches of
            these. A generator is kept in memory.
        ood_data: Dictionary from the name of an OOD set to its inputs or
            data set, or one such set. Defaults to `None`.
        frequency: Integer. Evaluate every so many epochs. Defaults to `1`.
        on_error: `"warn"` or `"raise"`: what to do if the evaluation fails,
            or a metric is not defined. Training goes on after a warning.
            Defaults to `"warn"`.
        metrics: Sequence of the metrics to log, such as `["raulc",
            "svhn_roc_auc"]`, or the name of one. Defaults to all.
        task: As for `keras_zigzag.evaluate_uncertainty`, as are the
            following.
        score: `"uncertainty"`, `"entropy"` or a callable.
        output: Key, index or name of one output, of a model with several. It
            is part of the names in the logs then, `val_<output>_raulc`, so that
            each output can have a callback of its own.
        from_logits: Boolean. Whether predictions are logits.
        batch_size: Integer, for arrays. Defaults to `32`.
        nan_policy: `"raise"` or `"worst"`. Defaults to `"raise"`.
        ignore_class: Integer. Label of places to leave out.

    Attributes:
        report: The latest `UncertaintyReport`, or `None`.

    Raises:
        ValueError: If an argument is out of its range, or arrays do not fit.

    Example:

    >>> model = keras_zigzag.ZigZagModel.from_model(
    ...     base, task="classification"
    ... )
    >>> model.compile("adam", "sparse_categorical_crossentropy")
    >>> evaluation = keras_zigzag.callbacks.UncertaintyEvaluation(
    ...     (x_test, y_train), {"far": x_test + 1})
    >>> history = model.fit(
    ...     x_train, y_train, verbose=0, callbacks=[evaluation])
    >>> history.history["val_far_prevalence"]
    [0.5]
    """

    def __init__(
        self,
        id_data: Any,
        ood_data: Any = None,
        frequency: int = 1,
        on_error: str = "warn",
        metrics: Sequence[str] | str | None = None,
        task: str | None = None,
        score: Score = None,
        output: Any = None,
        from_logits: bool | None = None,
        batch_size: int = 32,
        nan_policy: NanPolicy = "raise",
        ignore_class: int | None = None,
    ):
        super().__init__()
        if on_error not in ON_ERROR:
            raise ValueError(
                f"`on_error` must be one of {list(ON_ERROR)}. "
                f"Received: on_error={on_error!r}"
            )
        self.frequency = checked_count("frequency", frequency)
        self.on_error = on_error
        if isinstance(metrics, str):
            metrics = [metrics]
        self.metrics = None if metrics is None else list(metrics)
        self.nan_policy = nan_policy
        self.report: UncertaintyReport | None = None
        self._evaluation = Evaluation(
            id_data,
            ood_data,
            task,
            score,
            output,
            from_logits,
            batch_size,
            ignore_class,
        )
        self._latest: dict[str, float] | None = None
        self._warned_of: set[str] = set()
        self._check_names(known_names(self._evaluation.ood_batches))

    def on_train_begin(self, logs: Any = None) -> None:
        self._latest = None
        self._warned_of = set()
        # It would fail after every epoch in the same way.
        check_model(self.model)
        self._evaluation.check_targets(self.model)
        self._check_names(self._evaluation.names(self.model))
        move_to_front(self)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._latest is None or self._is_due(epoch):
            self._latest = self._evaluate()
        for name, value in self._latest.items():
            if logs is not None:
                logs.setdefault(name, value)

    def _is_due(self, epoch: int) -> bool:
        is_last = epoch + 1 == (self.params or {}).get("epochs")
        return is_last or (epoch + 1) % self.frequency == 0

    def _evaluate(self) -> dict[str, float]:
        try:
            report = self._evaluation.run(
                self.model, self.model.name, self.nan_policy
            )
        except Exception as error:
            if self.on_error == "raise":
                raise
            warnings.warn(
                "The uncertainties could not be evaluated after this epoch; "
                f"its logs lack their metrics. {type(error).__name__}: {error}",
                stacklevel=2,
            )
            return {}
        self.report = report
        return self._logged(report)

    def _logged(self, report: UncertaintyReport) -> dict[str, float]:
        known = [*report, *report.missing]
        self._check_names(known)
        names = known if self.metrics is None else self.metrics
        self._tell_of_missing(
            {name: report.missing[name] for name in names if name not in report}
        )
        return {
            f"{self._prefix}{name}": report[name]
            for name in names
            if name in report
        }

    def _check_names(self, known: list[str]) -> None:
        unknown = [one for one in self.metrics or [] if one not in known]
        if unknown:
            raise ValueError(
                f"There are no metrics {unknown}. Expected some of {known}, "
                "as reports call them, without `val_`. "
                f"Received: metrics={self.metrics!r}"
            )

    @property
    def _prefix(self) -> str:
        output = self._evaluation.output
        return "val_" if output is None else f"val_{output}_"

    def _tell_of_missing(self, missing: dict[str, str]) -> None:
        """Raises, or warns of each metric once."""
        new = {
            name: reason
            for name, reason in missing.items()
            if name not in self._warned_of
        }
        if not new:
            return
        listed = " ".join(
            f"{self._prefix}{name}: {why}" for name, why in new.items()
        )
        message = f"Not in the logs where it is not defined: {listed}"
        if self.on_error == "raise":
            raise ValueError(message)
        self._warned_of |= new.keys()
        warnings.warn(message, stacklevel=2)
