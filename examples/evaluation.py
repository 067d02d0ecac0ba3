"""What the examples measure, and the table they print.

Higher uncertainty means less trust. In detection, out-of-distribution (OOD)
is the positive class and in-distribution (ID) the negative one.
"""

import numpy as np
from scipy.special import entr
from sklearn.metrics import average_precision_score, roc_auc_score


def accuracy(labels, probabilities):
    """Fraction of samples whose most probable class is the label."""
    return float(np.mean(is_correct(labels, probabilities)))


def is_correct(labels, probabilities):
    """One Boolean per sample, from `(N,)` labels and `(N, C)` probabilities."""
    return np.argmax(probabilities, axis=-1) == np.asarray(labels)


def entropy(probabilities):
    """Entropy in nats of each row of `(N, C)` probabilities."""
    return entr(np.asarray(probabilities, dtype="float64")).sum(axis=-1)


def aulc(correct, uncertainty):
    """Area under the lift curve: 0 for a random order of the samples.

    With the samples in order of rising uncertainty, `F(q)` is the accuracy
    of the most certain fraction `q`, the lift is `L(q) = F(q) / F(1)`, and
    the area is `-1 + ∫ L(q) dq` (Vuk & Curk 2006; Postels et al. 2022).
    Samples that tie count with their group's mean, which is the expected
    value of `F` over all orders of the group.
    """
    correct = np.asarray(correct, dtype="float64")
    uncertainty = np.asarray(uncertainty)
    if np.isnan(uncertainty).any():
        raise ValueError(
            "`uncertainty` must not hold NaN. Received: "
            f"{int(np.isnan(uncertainty).sum())} NaN of {uncertainty.size}."
        )
    if not correct.any():
        raise ValueError(
            "The lift needs at least one correct sample. Received: "
            f"{correct.size} samples, all of them wrong or none at all."
        )
    _, group, size = np.unique(
        uncertainty, return_inverse=True, return_counts=True
    )
    group_mean = np.bincount(group, weights=correct) / size
    expected = np.repeat(group_mean, size)
    fraction_correct = np.cumsum(expected) / np.arange(1, correct.size + 1)
    return float(np.mean(fraction_correct) / np.mean(correct) - 1.0)


def raulc(correct, uncertainty):
    """AULC relative to the oracle's, which puts every mistake last.

    1 is the oracle, 0 a random order, below 0 worse than random.
    """
    correct = np.asarray(correct, dtype="float64")
    if correct.all():
        raise ValueError(
            "rAULC has no scale without a mistake to rank. Received: "
            f"{correct.size} samples, all of them correct."
        )
    return aulc(correct, uncertainty) / aulc(correct, 1.0 - correct)


def roc_auc(id_uncertainty, ood_uncertainty):
    """Probability that an OOD sample is the more uncertain one."""
    return float(roc_auc_score(*_detection(id_uncertainty, ood_uncertainty)))


def pr_auc(id_uncertainty, ood_uncertainty):
    """Average precision of OOD; that of a random score is OOD's share."""
    return float(
        average_precision_score(*_detection(id_uncertainty, ood_uncertainty))
    )


def scores(labels, probabilities, id_uncertainty, ood_uncertainty):
    """The four numbers of one row of the table, by column."""
    correct = is_correct(labels, probabilities)
    return {
        "accuracy": accuracy(labels, probabilities),
        "rAULC": raulc(correct, id_uncertainty),
        "OOD ROC-AUC": roc_auc(id_uncertainty, ood_uncertainty),
        "OOD PR-AUC": pr_auc(id_uncertainty, ood_uncertainty),
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


def _detection(id_uncertainty, ood_uncertainty):
    is_ood = np.repeat([0, 1], [len(id_uncertainty), len(ood_uncertainty)])
    return is_ood, np.concatenate([id_uncertainty, ood_uncertainty])
