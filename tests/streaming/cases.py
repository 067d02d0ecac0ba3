"""The streaming metrics beside the functions that they stand for."""

import dataclasses
from collections.abc import Callable

import numpy as np

from keras_zigzag import metrics

# Few bins, so that most samples share theirs, and little time per batch.
NUM_BINS = 1 << 10


@dataclasses.dataclass(frozen=True)
class Case:
    """A class, what it takes, and the exact values of its results."""

    cls: type
    draw: Callable
    exact: Callable

    def __call__(self, **options):
        return self.cls(**{"num_bins": NUM_BINS, **options})

    def streamed(self, *arrays, **options):
        metric = self(**options)
        metric.update_state(*arrays)
        return metric

    @property
    def happened(self):
        return self.cls.value_name


def _exact_risk(loss, score, weight=None):
    return {
        "aurc": metrics.aurc(loss, score, weight),
        "excess_aurc": metrics.excess_aurc(loss, score, weight),
    }


def _exact_lift(correct, score, weight=None):
    return {
        "aulc": metrics.aulc(correct, score, weight),
        "raulc": metrics.raulc(correct, score, weight),
    }


def _exact_detection(is_ood, score, weight=None):
    is_ood = np.asarray(is_ood, dtype=bool)
    sets = score[~is_ood], score[is_ood]
    weights = {}
    if weight is not None:
        weights = {"id_weight": weight[~is_ood], "ood_weight": weight[is_ood]}
    return {
        "roc_auc": metrics.roc_auc(*sets, **weights),
        "average_precision": metrics.average_precision(*sets, **weights),
        "fpr_at_tpr": metrics.fpr_at_tpr(*sets, **weights),
    }


def _losses(rng, score):
    loss = rng.exponential(size=len(score)) * score ** rng.integers(-1, 2)
    return loss.astype("float32")


def _booleans(rng, score):
    # Both kinds are there, and not only in bins of their own.
    happened = rng.uniform(size=len(score)) < rng.uniform(0.1, 0.9)
    happened[rng.choice(len(score), 2, replace=False)] = [True, False]
    return happened


RISK = Case(metrics.StreamingRiskCoverage, _losses, _exact_risk)
ERROR_RATE = Case(metrics.StreamingRiskCoverage, _booleans, _exact_risk)
LIFT = Case(metrics.StreamingLift, _booleans, _exact_lift)
DETECTION = Case(metrics.StreamingDetection, _booleans, _exact_detection)
CASES = {
    "risk": RISK,
    "error_rate": ERROR_RATE,
    "lift": LIFT,
    "detection": DETECTION,
}


def samples(case, seed=0, size=200):
    """What happened and scores, as float32, so that nothing is rounded."""
    rng = np.random.default_rng(seed)
    score = rng.lognormal(size=size).astype("float32")
    return case.draw(rng, score), score
