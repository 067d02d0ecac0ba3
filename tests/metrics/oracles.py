"""The metrics by their definitions, one sample after the other.

Written with loops and with every order of every group of ties, as an oracle
that shares nothing with the closed forms.
"""

import itertools

import numpy as np


def orders(score):
    """Every order of the samples in which the score does not fall."""
    groups = [np.flatnonzero(score == value) for value in np.unique(score)]
    permutations = [list(itertools.permutations(group)) for group in groups]
    for parts in itertools.product(*permutations):
        yield np.concatenate(parts).astype(int)


def mean_over_orders(function, values, score):
    """Mean of `function(values in order)`, over all orders."""
    values, score = np.asarray(values), np.asarray(score)
    return np.mean([function(values[order]) for order in orders(score)], axis=0)


def mean_so_far(values):
    return [np.mean(values[: k + 1]) for k in range(len(values))]


def risks(loss, score):
    return mean_over_orders(mean_so_far, loss, score)


def aurc(loss, score):
    return np.mean(risks(loss, score))


def aulc(correct, score):
    return np.mean(risks(correct, score)) / np.mean(correct) - 1


def aulc_regression(error, score):
    return np.mean(np.mean(error) / risks(error, score)) - 1


def augrc(loss, score):
    """By trapezoids over the sums so far, from zero."""

    def area(ordered):
        sums = np.concatenate([[0], np.cumsum(ordered)]) / len(ordered)
        return np.trapezoid(sums, dx=1 / len(ordered))

    return mean_over_orders(area, loss, score)


def rejection_ratio(loss, score):
    line = np.mean(loss) / 2
    return (line - augrc(loss, score)) / (line - augrc(loss, loss))


def coverage_at_risk(loss, score, risk):
    # The closed form and the mean over orders round differently.
    good = np.flatnonzero(risks(loss, score) <= risk + 1e-12)
    return (good[-1] + 1) / len(loss) if good.size else 0.0


def risk_at_coverage(loss, score, num_kept):
    return risks(loss, score)[num_kept - 1]


def roc_auc(id_score, ood_score):
    pairs = [
        (ood > id_) + (ood == id_) / 2 for ood in ood_score for id_ in id_score
    ]
    return np.mean(pairs)


def fpr_at_tpr(id_score, ood_score, tpr):
    score = np.concatenate([id_score, ood_score])
    is_ood = np.repeat([0, 1], [len(id_score), len(ood_score)])

    def fpr(ordered):
        last = np.flatnonzero(np.cumsum(ordered) / len(ood_score) >= tpr)[0]
        return np.sum(1 - ordered[:last]) / len(id_score) if last else 0.0

    return mean_over_orders(fpr, is_ood, -score)


def calibration(confidence, happened, num_bins):
    """Share, mean confidence and frequency of bins `(k/B, (k+1)/B]`."""
    bins = []
    for k in range(num_bins):
        inside = [
            i
            for i, p in enumerate(confidence)
            if k < p * num_bins <= k + 1 or (k == 0 and p == 0)
        ]
        if inside:
            bins.append(
                (
                    len(inside) / len(confidence),
                    np.mean(confidence[inside]),
                    np.mean(happened[inside]),
                )
            )
    return np.array(bins).T
