"""What looks wrong about scores, to be said beside the numbers."""

from collections.abc import Mapping

import numpy as np

from keras_zigzag.evaluation.metric_sets import heading, split_key
from keras_zigzag.evaluation.samples import Samples


def swapped_sets(values: Mapping[str, float]) -> list[str]:
    """A hint for each OOD set that is trusted more than the ID set."""
    hints = []
    for key, value in values.items():
        ood, metric = split_key(key)
        if metric == "roc_auc" and value < 0.5:
            hints.append(
                f"{heading(key)} is {value:.3f}, below ½: the samples of "
                f"{ood!r} are trusted more than the ID samples. Are the two "
                "sets swapped, or does a higher score mean more trust?"
            )
    return hints


def repeated_sets(samples: Samples) -> list[str]:
    """A hint for each OOD set that has the very scores of the ID set."""
    return [
        f"The scores of {name!r} are those of the ID set, one by one. Was the "
        "same set given twice?"
        for name, ood in samples.ood.items()
        if np.array_equal(ood.uncertainty, samples.id.uncertainty)
    ]
