"""What a trained model says on all sets, and what that is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

import keras_zigzag as kz
from keras_zigzag.benchmark.protocol import Data
from keras_zigzag.evaluation.aggregated import places_or_samples
from keras_zigzag.evaluation.data import Batches
from keras_zigzag.evaluation.masks import mask_of_batch, masks_of_model
from keras_zigzag.evaluation.model_outputs import OutputReader
from keras_zigzag.evaluation.places import Answers
from keras_zigzag.evaluation.samples import Samples, ood_scores
from keras_zigzag.host import host_arrays, model_inputs, predict_batch

Scores = dict[str, np.ndarray]
ID = "id"


class SamplesModel(keras.Model):
    """Gives all samples of a sampling method, the batch on the first axis."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model
        self.built = True

    def call(self, inputs: Any) -> Any:
        return keras.tree.map_structure(
            lambda leaf: ops.moveaxis(leaf, 0, 1), self.model.samples(inputs)
        )


def scores_of(model: Any, data: Data, task: str, batch_size: int) -> Scores:
    """Everything that metrics and figures need, without the model.

    Args:
        model: `UncertaintyModel`, trained.
        data: `Data`.
        task: `"classification"` or `"regression"`.
        batch_size: Integer.

    Returns:
        Dictionary of arrays. For the ID set `id_targets`, `id_prediction`
        and `id_uncertainty`, for OOD sets `ood_<name>_uncertainty`, in a
        classification with the entropy of the prediction, `…_entropy`. What
        comes of the first `k` samples has the ending `_<k>`; the samples
        themselves are `id_samples_<output>`. Where the model has masks, they
        are `id_mask` and `ood_<name>_mask`.
    """
    reader = _Reader(model, task)
    scores = {}
    for prefix, inputs, labelled in _sets(data):
        batches = Batches(inputs, prefix, batch_size, labelled)
        parts: dict[str, list[np.ndarray]] = {}
        for x, y, _ in batches:
            found = reader.read(x)
            if labelled:
                found["targets"] = np.asarray(host_arrays(y))
            else:
                found = _without_predictions(found)
            for key, value in found.items():
                parts.setdefault(f"{prefix}_{key}", []).append(value)
        scores.update(
            {key: np.concatenate(all_) for key, all_ in parts.items()}
        )
    return scores


def ood_names(scores: Mapping[str, np.ndarray]) -> list[str]:
    """The OOD sets that there are scores of."""
    start, end = "ood_", "_uncertainty"
    return [
        key[len(start) : -len(end)]
        for key in scores
        if key.startswith(start) and key.endswith(end)
    ]


def numbers_of_samples(scores: Mapping[str, np.ndarray]) -> list[int]:
    """For which numbers of samples there are scores."""
    start = "id_uncertainty_"
    return [int(key[len(start) :]) for key in scores if key.startswith(start)]


def metrics_of(
    scores: Mapping[str, np.ndarray],
    task: str,
    score: str = "uncertainty",
    num_samples: int | None = None,
) -> kz.UncertaintyReport:
    """The metrics of one score, from the arrays of `scores_of`.

    Args:
        scores: Dictionary of arrays.
        task: `"classification"` or `"regression"`.
        score: `"uncertainty"` or `"entropy"`. Defaults to `"uncertainty"`.
        num_samples: Integer, or `None` for all. Defaults to `None`.

    Returns:
        An `UncertaintyReport`. What is NaN counts as most uncertain.
    """
    return kz.UncertaintyReport.from_samples(
        samples_of(scores, task, score, num_samples)
    )


def samples_of(
    scores: Mapping[str, np.ndarray],
    task: str,
    score: str = "uncertainty",
    num_samples: int | None = None,
) -> Samples:
    """The answers and scores of all places that are there.

    Args as for `metrics_of`.
    """
    end = "" if num_samples is None else f"_{num_samples}"
    return Samples(
        task,
        places_or_samples(
            Answers(task),
            scores["id_targets"],
            scores[f"id_prediction{end}"],
            scores[f"id_{score}{end}"],
            mask=scores.get("id_mask"),
        ),
        {
            name: ood_scores(
                scores[f"ood_{name}_{score}{end}"],
                scores.get(f"ood_{name}_mask"),
            )
            for name in ood_names(scores)
        },
        "worst",
    )


def has_entropy_of_its_own(scores: Mapping[str, np.ndarray]) -> bool:
    """Whether the entropy of the prediction is another score."""
    if "id_entropy" not in scores:
        return False
    both = scores["id_entropy"], scores["id_uncertainty"]
    return not np.allclose(*both, rtol=1e-3, atol=1e-6, equal_nan=True)


class _Reader:
    """Reads prediction, uncertainty and samples of a batch."""

    def __init__(self, model: Any, task: str):
        self.model = model
        self.answers = Answers(task)
        self.outputs = OutputReader(self.answers)
        self.masks = masks_of_model(model)
        self.samples = None
        if hasattr(model, "combine"):
            self.samples = SamplesModel(model)

    def read(self, x: Any) -> Scores:
        x = model_inputs(x)
        found = self._answers(x)
        mask = mask_of_batch(self.masks, x, self.outputs, found)
        return found if mask is None else found | {"mask": mask}

    def _answers(self, x: Any) -> Scores:
        if self.samples is None:
            return self._with_entropy(predict_batch(self.model, x))
        samples = predict_batch(self.samples, x)
        leaves = [np.asarray(leaf) for leaf in keras.tree.flatten(samples)]
        found = {f"samples_{index}": leaf for index, leaf in enumerate(leaves)}
        for number in range(1, leaves[0].shape[1] + 1):
            try:
                part = self._of_first(samples, number, x)
            except ValueError:
                # A spread of one sample.
                continue
            found.update({f"{key}_{number}": v for key, v in part.items()})
        # The last part is of all samples.
        return found | self._with_entropy(part)

    def _of_first(self, samples: Any, number: int, x: Any) -> Scores:
        some = keras.tree.map_structure(
            lambda leaf: ops.moveaxis(
                ops.convert_to_tensor(leaf[:, :number]), 1, 0
            ),
            samples,
        )
        return host_arrays(self.model.combine(some, x))

    def _with_entropy(self, outputs: Any) -> Scores:
        found = dict(host_arrays(outputs))
        if self.answers.task == "classification":
            found["entropy"] = self.answers.entropy(found["prediction"])
        return found


def _sets(data: Data) -> Iterator[tuple[str, Any, bool]]:
    yield ID, data.test, True
    for name, values in data.ood.items():
        yield f"ood_{name}", values, False


def _without_predictions(found: Scores) -> Scores:
    """Of OOD sets the scores are kept; there are no right answers."""
    return {
        key: value
        for key, value in found.items()
        if key.startswith(("uncertainty", "entropy", "mask"))
    }
