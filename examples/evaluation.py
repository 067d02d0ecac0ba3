"""What the examples measure, and the table they print.

Higher uncertainty means less trust. In detection, out-of-distribution (OOD)
is the positive class and in-distribution (ID) the negative one.
"""

import numpy as np
from scipy.special import entr

from keras_zigzag import metrics


def accuracy(labels, probabilities):
    """Fraction of samples whose most probable class is the label."""
    return float(np.mean(is_correct(labels, probabilities)))


def is_correct(labels, probabilities):
    """One Boolean per sample, from `(N,)` labels and `(N, C)` probabilities."""
    return np.argmax(probabilities, axis=-1) == np.asarray(labels)


def entropy(probabilities):
    """Entropy in nats of each row of `(N, C)` probabilities."""
    return entr(np.asarray(probabilities, dtype="float64")).sum(axis=-1)


def scores(labels, probabilities, id_uncertainty, ood_uncertainty):
    """The four numbers of one row of the table, by column."""
    correct = is_correct(labels, probabilities)
    return {
        "accuracy": accuracy(labels, probabilities),
        "rAULC": metrics.raulc(correct, id_uncertainty),
        "OOD ROC-AUC": metrics.roc_auc(id_uncertainty, ood_uncertainty),
        "OOD PR-AUC": metrics.average_precision(
            id_uncertainty, ood_uncertainty
        ),
    }


def table(rows):
    """Markdown table, mean ± standard deviation over the seeds.

    Args:
        rows: Dictionary from a row's name to a list of what `scores`
            returned, one for each seed.
    """
    columns = list(next(iter(rows.values()))[0])
    width = max(map(len, rows))
    lines = [
        f"| {'':{width}} | " + " | ".join(f"{c:>13}" for c in columns) + " |",
        f"|{'-' * (width + 2)}|" + f"{'-' * 14}:|" * len(columns),
    ]
    for name, seeds in rows.items():
        cells = [_mean_and_spread([s[c] for s in seeds]) for c in columns]
        lines.append(f"| {name:{width}} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _mean_and_spread(values):
    if len(values) == 1:
        return f"{values[0]:13.3f}"
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"
