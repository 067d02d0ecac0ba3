"""What looks wrong about scores, to be said beside the numbers."""

from collections.abc import Mapping

import numpy as np

from keras_zigzag.evaluation.metric_sets import heading, split_key
from keras_zigzag.evaluation.places import Places
from keras_zigzag.evaluation.samples import OodScores, Samples

# A random score has 0; that of few mistakes varies by a good deal.
CLEARLY_BACKWARDS = -0.2


def swapped_sets(values: Mapping[str, float], samples: Samples) -> list[str]:
    """A hint for each OOD set that is trusted more than the ID set.

    Not where chance alone could do it: the standard deviation is that of the
    Mann–Whitney statistic of two sets that are alike.
    """
    hints = []
    for key, value in values.items():
        ood, metric = split_key(key)
        if metric != "roc_auc":
            continue
        sizes = samples.id.num_samples, samples.ood[ood].num_samples
        chance = np.sqrt((sum(sizes) + 1) / (12 * sizes[0] * sizes[1]))
        if value < 0.5 - 2 * chance:
            hints.append(
                f"{heading(key)} is {value:.3f}, below ½: the samples of "
                f"{ood!r} are trusted more than the ID samples. Are the two "
                "sets swapped, does a higher score mean more trust, or are "
                "the samples so far away that the answers saturate, as those "
                "of a softmax or a sigmoid do?"
            )
    return hints


def backward_ranking(values: Mapping[str, float]) -> list[str]:
    """A hint if mistakes are trusted more than right answers."""
    value = values.get("raulc", 0.0)
    if value > CLEARLY_BACKWARDS:
        return []
    return [
        f"rAULC is {value:.3f}, below 0: the score trusts wrong answers more "
        "than right ones. Has the model been trained long enough, and does a "
        "higher score mean less trust?"
    ]


def constant_scores(samples: Samples) -> list[str]:
    """A hint if there is nothing to rank by."""
    parts: list[Places | OodScores] = [samples.id, *samples.ood.values()]
    scores = [part.uncertainty for part in parts]
    lowest = scores[0][0]
    if not all((score == lowest).all() for score in scores):
        return []
    return [
        f"All uncertainties are {lowest:g}. A model that was wrapped has to be "
        "trained: until then its two passes agree."
    ]


def repeated_sets(samples: Samples) -> list[str]:
    """A hint for each OOD set that has the very scores of the ID set."""
    return [
        f"The scores of {name!r} are those of the ID set, one by one. Was the "
        "same set given twice?"
        for name, ood in samples.ood.items()
        if np.array_equal(ood.uncertainty, samples.id.uncertainty)
    ]
