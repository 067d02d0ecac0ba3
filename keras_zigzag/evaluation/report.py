"""What there is to say about the uncertainties of one method."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_zigzag.evaluation import (
    bootstrap,
    report_json,
    report_text,
    tables,
)
from keras_zigzag.evaluation.hints import (
    backward_ranking,
    constant_scores,
    repeated_sets,
    swapped_sets,
)
from keras_zigzag.evaluation.metric_sets import evaluate
from keras_zigzag.evaluation.samples import Samples
from keras_zigzag.metrics.inputs import Array


class UncertaintyReport(Mapping[str, float]):
    """The metrics of one set of uncertainties, by name.

    Made by `keras_zigzag.evaluate_scores` and
    `keras_zigzag.evaluate_uncertainty`. It is a mapping from `"raulc"`,
    `"aurc"`, `"svhn_roc_auc"`, … to floats. What is not defined on the data,
    as rAULC without a single mistake, is not in the mapping but in `missing`,
    with the reason, and a dash in the tables.

    Args:
        values: Dictionary from metrics to floats.
        task: `"classification"`, `"binary"` or `"regression"`.
        name: String. What tables call it. Defaults to `""`.
        missing: Dictionary from metrics that are not defined to the reason.
            Defaults to `None`.
        hints: Sequence of strings, what looks wrong. Defaults to `()`.
        intervals: Dictionary from metrics to `(low, high)`. Defaults to
            `None`.
        confidence: Float, of the intervals. Defaults to `None`.
        samples: `Samples` that it was computed from, for plots and
            intervals, or `None`. Defaults to `None`.
        entropy: Report on the entropy of the same predictions, or `None`.
            Defaults to `None`.

    Example:

    >>> report = keras_zigzag.evaluate_scores(
    ...     targets=[0, 1, 1], prediction=[0, 1, 0],
    ...     uncertainty=[0.1, 0.2, 0.9])
    >>> report["raulc"]
    1.0
    """

    def __init__(
        self,
        values: Mapping[str, float],
        task: str,
        name: str = "",
        missing: Mapping[str, str] | None = None,
        hints: Sequence[str] = (),
        intervals: Mapping[str, tuple[float, float]] | None = None,
        confidence: float | None = None,
        samples: Samples | None = None,
        entropy: "UncertaintyReport | None" = None,
    ):
        self._values = {key: float(value) for key, value in values.items()}
        self.task = task
        self.name = name
        self.missing = dict(missing or {})
        self.hints = list(hints)
        self.intervals = dict(intervals or {})
        self.confidence = confidence
        self.samples = samples
        self.entropy = entropy

    @classmethod
    def from_samples(
        cls, samples: Samples, name: str = "", **kwargs: Any
    ) -> "UncertaintyReport":
        """Computes every metric of the task."""
        values, missing = evaluate(samples)
        hints = [
            *kwargs.pop("hints", ()),
            *constant_scores(samples),
            *backward_ranking(values),
            *swapped_sets(values, samples),
            *repeated_sets(samples),
        ]
        return cls(values, samples.task, name, missing, hints, **kwargs)._with(
            samples=samples
        )

    # A mapping.

    def __getitem__(self, key: str) -> float:
        if key in self.missing:
            raise KeyError(f"{key} is not defined here: {self.missing[key]}")
        if key not in self._values:
            raise KeyError(
                f"There is no metric {key!r}. Expected one of {list(self)}"
            )
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    # What it was computed from, for plots.

    @property
    def targets(self) -> Array:
        return self._needed_samples().id.targets

    @property
    def prediction(self) -> Array:
        return self._needed_samples().id.prediction

    @property
    def uncertainty(self) -> Array:
        return self._needed_samples().id.uncertainty

    @property
    def loss(self) -> Array:
        """1 for a mistake and 0 otherwise, or the absolute error."""
        return self._needed_samples().loss

    @property
    def sample_weight(self) -> Array | None:
        """How many samples each one stands for; `None`: one."""
        return self._needed_samples().id.weight

    @property
    def num_samples(self) -> int:
        """Of the ID set; in a dense task each has many places."""
        return self._needed_samples().id.num_samples

    @property
    def ood_uncertainty(self) -> dict[str, Array]:
        ood = self._needed_samples().ood
        return {name: scores.uncertainty for name, scores in ood.items()}

    def bootstrap(
        self,
        num_resamples: int = 1000,
        confidence: float = 0.95,
        seed: int | None = 0,
        verbose: int = 0,
    ) -> "UncertaintyReport":
        """The same report with confidence intervals of its metrics.

        Percentiles over resamples with replacement: of the samples of the ID
        set and, apart from them, of each OOD set. In dense tasks whole
        samples are drawn, with all of their places.

        Reference: [Efron & Tibshirani, 1993](https://doi.org/10.1201/9780429246593).

        Args:
            num_resamples: Integer. Defaults to `1000`.
            confidence: Float in `(0, 1)`. Defaults to `0.95`.
            seed: Integer. Defaults to `0`.
            verbose: Integer. 1 shows a progress bar. Defaults to `0`.

        Returns:
            A new `UncertaintyReport`; `intervals` maps metrics to
            `(low, high)`.

        Example:

        >>> report = keras_zigzag.evaluate_scores(
        ...     targets=[0, 1, 1, 0], prediction=[0, 1, 0, 0],
        ...     uncertainty=[0.1, 0.2, 0.9, 0.3])
        >>> report.bootstrap(num_resamples=50).intervals["accuracy"]
        (0.5, 1.0)
        """
        options = num_resamples, confidence, seed, verbose
        samples = self._needed_samples()
        intervals = bootstrap.intervals(samples, list(self), *options)
        entropy = self.entropy and self.entropy.bootstrap(*options)
        return self._with(
            intervals=intervals, confidence=confidence, entropy=entropy
        )

    def plot(self, path: Any = None) -> Any:
        """One page of pictures, with `matplotlib`.

        Args:
            path: Where to save it, or `None`. Defaults to `None`.

        Returns:
            The `matplotlib` figure.
        """
        self._needed_samples()
        plots = importlib.import_module("keras_zigzag.plots")
        figure = plots.report(self)
        if path is not None:
            figure.savefig(path)
        return figure

    # As text.

    def to_json(self, path: Any = None) -> str:
        """The numbers, not the arrays, with the versions that made them.

        Args:
            path: File to write as well, or `None`. Defaults to `None`.

        Returns:
            String, which `from_json` reads.
        """
        text = report_json.dumps(self)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, text: str) -> "UncertaintyReport":
        """Reads what `to_json` returned; it has no arrays to plot.

        Args:
            text: String.

        Returns:
            An `UncertaintyReport`.
        """
        return cls._from_dict(report_json.loads(text))

    def to_markdown(self) -> str:
        """A Markdown table, with a line for each thing to know about it."""
        table = tables.markdown(*report_text.table(self))
        return "\n\n".join([table, *report_text.notes(self)])

    def __str__(self) -> str:
        return f"{report_text.title(self)}\n\n{self.to_markdown()}"

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return (
            f"<UncertaintyReport {name}{self.task}: {len(self)} metrics, "
            f"{len(self.missing)} missing>"
        )

    def _repr_html_(self) -> str:
        title = tables.paragraphs([report_text.title(self)])
        table = tables.as_html(*report_text.table(self))
        return title + table + tables.paragraphs(report_text.notes(self))

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> "UncertaintyReport":
        entropy = content["entropy"]
        intervals = content["intervals"].items()
        return cls(
            content["metrics"],
            content["task"],
            content["name"],
            content["missing"],
            content["hints"],
            {key: (low, high) for key, (low, high) in intervals},
            content["confidence"],
            entropy=entropy and cls._from_dict(entropy),
        )

    def _with(self, **changes: Any) -> "UncertaintyReport":
        arguments = {
            "values": self._values,
            "task": self.task,
            "name": self.name,
            "missing": self.missing,
            "hints": self.hints,
            "intervals": self.intervals,
            "confidence": self.confidence,
            "samples": self.samples,
            "entropy": self.entropy,
        }
        return UncertaintyReport(**{**arguments, **changes})

    def _needed_samples(self) -> Samples:
        if self.samples is None:
            raise ValueError(
                "This report holds numbers only, since it was read from JSON. "
                "Evaluate again to have its samples."
            )
        return self.samples
