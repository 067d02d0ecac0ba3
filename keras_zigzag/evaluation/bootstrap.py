"""Confidence intervals by drawing samples again."""

from collections.abc import Iterator, Sequence

import keras
import numpy as np

from keras_zigzag.evaluation.metric_sets import split_key
from keras_zigzag.evaluation.places import Places
from keras_zigzag.evaluation.resampled_metrics import ResampledMetrics
from keras_zigzag.evaluation.samples import OodScores, Samples
from keras_zigzag.metrics.inputs import Array
from keras_zigzag.number_checks import checked_count

# Numbers in an array of one chunk: 16 MB, of which there are a few.
CHUNK = 1 << 21


def intervals(
    samples: Samples,
    keys: Sequence[str],
    num_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int | None = None,
    verbose: int = 0,
) -> dict[str, tuple[float, float]]:
    """Percentile intervals of the metrics, by key.

    Resamples where a metric is not defined, such as rAULC without a mistake
    in it, do not count. The prevalence, which does not vary, has none.
    """
    _check(num_resamples, confidence)
    keys = [key for key in keys if split_key(key)[1] != "prevalence"]
    metrics = ResampledMetrics(samples)
    drawn: dict[str, list[Array]] = {key: [] for key in keys}
    with np.errstate(divide="ignore", invalid="ignore"):
        for id_weights, ood_weights in _draws(
            samples, num_resamples, seed, verbose
        ):
            functions = metrics.functions(id_weights, ood_weights)
            for key, values in drawn.items():
                values.append(functions[key]())
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    result = {}
    for key, parts in drawn.items():
        resampled = np.concatenate(parts)
        resampled = resampled[np.isfinite(resampled)]
        if resampled.size:
            low, high = np.quantile(resampled, ends)
            result[key] = float(low), float(high)
    return result


def _draws(
    samples: Samples, num_resamples: int, seed: int | None, verbose: int
) -> Iterator[tuple[Array, dict[str, Array]]]:
    """Chunks of weights of the ID places, and of those of each OOD set."""
    sets: dict[str, Places | OodScores] = {"": samples.id, **samples.ood}
    generators = np.random.default_rng(seed).spawn(len(sets))
    # Samples are drawn whether or not a place of theirs is left.
    size = sum(
        max(len(part.uncertainty), part.num_samples) for part in sets.values()
    )
    chunk = max(CHUNK // size, 1)
    progress = keras.utils.Progbar(
        num_resamples, verbose=verbose, unit_name="resample"
    )
    for start in range(0, num_resamples, chunk):
        count = min(chunk, num_resamples - start)
        weights = {
            name: _counts(generator, part.num_samples, count)[:, part.sample]
            for (name, part), generator in zip(
                sets.items(), generators, strict=True
            )
        }
        id_weights = weights.pop("")
        if samples.id.weight is not None:
            id_weights *= samples.id.weight
        yield id_weights, weights
        if verbose:
            progress.add(count)


def _counts(
    generator: np.random.Generator, num_samples: int, count: int
) -> Array:
    """How often each sample was drawn, `(count, num_samples)`."""
    drawn = generator.integers(num_samples, size=(count, num_samples))
    drawn += np.arange(count)[:, None] * num_samples
    counts = np.bincount(drawn.ravel(), minlength=count * num_samples)
    return counts.reshape(count, num_samples).astype("float64")


def _check(num_resamples: int, confidence: float) -> None:
    checked_count("num_resamples", num_resamples, least=2)
    if not 0 < confidence < 1:
        raise ValueError(
            "`confidence` must be between 0 and 1. "
            f"Received: confidence={confidence!r}"
        )
