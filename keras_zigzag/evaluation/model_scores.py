"""A report on a model."""

import dataclasses
import functools
from typing import Any

import keras
import numpy as np

from keras_zigzag.evaluation import input_checks
from keras_zigzag.evaluation.aggregated import places_or_samples
from keras_zigzag.evaluation.chosen_output import chosen_output
from keras_zigzag.evaluation.data import Batches
from keras_zigzag.evaluation.input_checks import InputSummary
from keras_zigzag.evaluation.masks import mask_of_batch, masks_of_model
from keras_zigzag.evaluation.metric_sets import known_names
from keras_zigzag.evaluation.model_outputs import (
    OutputReader,
    Score,
    answers_of,
    check_model,
    output_prior,
    reader_of,
)
from keras_zigzag.evaluation.places import (
    Answers,
    Places,
    joined,
    joined_if_all,
    targets_that_count,
)
from keras_zigzag.evaluation.report import UncertaintyReport
from keras_zigzag.evaluation.samples import OodScores, Samples, ood_scores
from keras_zigzag.evaluation.scores import named_sets
from keras_zigzag.host import host_arrays, model_inputs, predict_batch
from keras_zigzag.metrics.inputs import Array, NanPolicy, as_scores
from keras_zigzag.number_checks import checked_count
from keras_zigzag.place_masks import PlaceMasks


def evaluate_uncertainty(
    model: Any,
    id_data: Any,
    ood_data: Any = None,
    task: str | None = None,
    score: Score = None,
    output: Any = None,
    from_logits: bool | None = None,
    batch_size: int = 32,
    name: str | None = None,
    nan_policy: NanPolicy = "raise",
    verbose: int = 0,
    ignore_class: int | None = None,
) -> UncertaintyReport:
    """How good are the uncertainties of this model?

    One pass over each set, batch by batch, so that the memory of the device
    does not grow with the set. For a classification `report.entropy` is a
    report on the entropy of the same predictions, and the tables show it
    beside the uncertainty: it comes for free, and is often as good.

    Args:
        model: An `UncertaintyModel`, or any Keras model: the score of an
            ordinary classifier is the entropy of its prediction.
        id_data: `(x, y)`, `(x, y, sample_weight)`, or a data set of batches
            of these: `tf.data`, `PyDataset`, a generator that ends. Places
            that a mask of the model says are not there, such as padding, are
            left out.
        ood_data: Dictionary from the name of an OOD set to its inputs or
            data set, or one such set, which is called `"ood"`; inputs by the
            names that those of `(x, y)` have are one set. Targets in it are
            ignored, and of weights all but where they are 0, as at padding.
            Defaults to `None`.
        task: `"classification"`, `"binary"` or `"regression"`. Defaults to
            that of the model's prior or loss.
        score: `"uncertainty"`, `"entropy"`, or a callable of what `predict`
            returns for a batch. Defaults to the model's uncertainty.
        output: Key, index or name of one output, of a model with several.
            Defaults to `None`.
        from_logits: Boolean. Whether predictions are logits. Defaults to
            what the model's prior or loss says.
        batch_size: Integer, for arrays. Defaults to `32`.
        name: String. What tables call it. Defaults to the model's name.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.
        verbose: Integer. 1 shows a progress bar. Defaults to `0`.
        ignore_class: Integer. Label of places to leave out. Defaults to that
            of the model's loss.

    Returns:
        An `UncertaintyReport`.

    Raises:
        ValueError: If the data is empty or does not fit, or the task is not
            known.

    Example:

    >>> model = keras_zigzag.ZigZagModel.from_model(
    ...     base, task="classification"
    ... )
    >>> report = keras_zigzag.evaluate_uncertainty(
    ...     model, (x_test, y_test), ood_data={"far": x_test + 1})
    >>> report["far_prevalence"]
    0.5
    """
    evaluation = Evaluation(
        id_data,
        ood_data,
        task,
        score,
        output,
        from_logits,
        batch_size,
        ignore_class,
    )
    return evaluation.run(
        model,
        name=model.name if name is None else name,
        nan_policy=nan_policy,
        verbose=verbose,
    )


class Evaluation:
    """The sets and the questions, to be put to a model once or many times.

    Args as for `evaluate_uncertainty`.
    """

    def __init__(
        self,
        id_data: Any,
        ood_data: Any = None,
        task: str | None = None,
        score: Score = None,
        output: Any = None,
        from_logits: bool | None = None,
        batch_size: int = 32,
        ignore_class: int | None = None,
    ):
        batch_size = checked_count("batch_size", batch_size)
        self.id_batches = Batches(id_data, "the ID set", batch_size)
        self.ood_batches = {
            name: Batches(
                data, f"the OOD set {name!r}", batch_size, labelled=False
            )
            for name, data in ood_sets(id_data, ood_data).items()
        }
        self.task = task
        self.score = score
        self.output = output
        self.from_logits = from_logits
        self.ignore_class = ignore_class
        self.hints: list[str] | None = None

    def run(
        self,
        model: Any,
        name: str = "",
        nan_policy: NanPolicy = "raise",
        verbose: int = 0,
    ) -> UncertaintyReport:
        """One pass over each set."""
        check_model(model)
        answers = self._answers(model)
        reader = reader_of(model, answers, self.score, self.output)
        scorer = Scorer(model, reader, verbose)
        # What is to be said about the inputs does not change.
        known = None if self.hints is not None else InputSummary()
        hints: list[str] = []
        id_places = scorer.answers(self.id_batches, known)
        as_scores(id_places.uncertainty, nan_policy=nan_policy)
        ood, ood_entropy = {}, {}
        for key, batches in self.ood_batches.items():
            scored = scorer.scores(batches, known, key, hints)
            found = scored[0].uncertainty
            as_scores(found, f"uncertainty of {key!r}", nan_policy)
            ood[key], ood_entropy[key] = scored
        if self.hints is None:
            self.hints = hints
        samples = Samples(answers.task, id_places, ood, nan_policy)
        return UncertaintyReport.from_samples(
            samples,
            name,
            hints=self.hints,
            entropy=_entropy_report(samples, name, ood_entropy),
        )

    def names(self, model: Any) -> list[str]:
        """The metrics that a report on this model may hold."""
        return known_names(self.ood_batches, self._answers(model).task)

    def check_targets(self, model: Any) -> None:
        """Raises a `ValueError` for targets that the prior does not know.

        Of data sets nothing is known before they are read.
        """
        chosen = chosen_output(model, self.output)
        prior = output_prior(model, chosen)
        if prior is None or self.id_batches.arrays is None:
            return
        _, y, weight = self.id_batches.arrays
        targets, weight = host_arrays([chosen.of(y), chosen.of(weight)])
        targets = targets_that_count(targets, weight)
        if targets is None:
            return
        try:
            prior.check_values(targets, self._answers(model).ignore_class)
        except ValueError as error:
            raise ValueError(f"In `id_data`: {error}") from error

    def _answers(self, model: Any) -> Answers:
        return answers_of(
            model, self.task, self.output, self.from_logits, self.ignore_class
        )


@dataclasses.dataclass(frozen=True)
class Scorer:
    """Runs a model over batches.

    Args:
        model: A Keras model.
        reader: `OutputReader` of its outputs.
        verbose: Integer. 1 shows a progress bar.
    """

    model: Any
    reader: OutputReader
    verbose: int = 0

    def answers(self, batches: Batches, summary: InputSummary | None) -> Places:
        """Answers of the ID set, with their entropy."""
        parts = []
        for x, y, weight in self._progress(batches):
            if summary is not None:
                summary.add(host_arrays(x))
            outputs = predict_batch(self.model, model_inputs(x))
            part = places_or_samples(
                self.reader.answers,
                host_arrays(self.reader.pick(y)),
                self.reader.prediction(outputs),
                self.reader.uncertainty(outputs),
                host_arrays(self.reader.pick(weight)),
                self.reader.entropy(outputs),
                self._mask(x, outputs),
            )
            parts.append(part)
        return joined(parts)

    def scores(
        self,
        batches: Batches,
        known: InputSummary | None,
        name: str,
        hints: list[str],
    ) -> tuple[OodScores, Array | None]:
        """Scores of an OOD set, and their entropy."""
        summary = InputSummary()
        scores: list[Array] = []
        entropies: list[Array | None] = []
        samples: list[Array] = []
        num_samples = 0
        for x, _, given in self._progress(batches):
            if known is not None:
                inputs = host_arrays(x)
                if not scores:
                    hints += input_checks.check_shapes(known, inputs, name)
                summary.add(inputs)
            outputs = predict_batch(self.model, model_inputs(x))
            mask = self._mask(x, outputs)
            weight = host_arrays(self.reader.pick(given))
            part = ood_scores(
                self.reader.uncertainty(outputs), mask, weight=weight
            )
            scores.append(part.uncertainty)
            samples.append(part.sample + num_samples)
            num_samples += part.num_samples
            entropy = self.reader.entropy(outputs)
            if entropy is not None:
                entropy = ood_scores(entropy, mask, weight=weight).uncertainty
            entropies.append(entropy)
        if known is not None:
            hints += input_checks.check_values(known, summary, name)
        found = np.concatenate(scores), np.concatenate(samples)
        return OodScores(*found, num_samples), joined_if_all(entropies)

    @functools.cached_property
    def _masks(self) -> PlaceMasks:
        return masks_of_model(self.model)

    def _mask(self, x: Any, outputs: Any) -> Array | None:
        return mask_of_batch(self._masks, x, self.reader, outputs)

    def _progress(self, batches: Batches) -> Any:
        if not self.verbose:
            yield from batches
            return
        progress = keras.utils.Progbar(
            len(batches) or None, verbose=self.verbose, unit_name="batch"
        )
        for batch in batches:
            yield batch
            progress.add(1)


def ood_sets(id_data: Any, ood_data: Any) -> dict[str, Any]:
    """OOD sets by name, with inputs by name for one set of them."""
    inputs = id_data[0] if isinstance(id_data, (tuple, list)) else None
    if isinstance(inputs, dict) and isinstance(ood_data, dict):
        if set(inputs) == set(ood_data):
            return {"ood": ood_data}
    return named_sets(ood_data)


def _entropy_report(
    samples: Samples,
    name: str,
    ood_entropy: dict[str, Array | None],
) -> UncertaintyReport | None:
    if samples.id.entropy is None:
        return None
    return UncertaintyReport.from_samples(
        Samples(
            samples.task,
            dataclasses.replace(samples.id, uncertainty=samples.id.entropy),
            {
                key: dataclasses.replace(samples.ood[key], uncertainty=entropy)
                for key, entropy in ood_entropy.items()
                if entropy is not None
            },
            samples.nan_policy,
        ),
        f"{name}, entropy",
    )
