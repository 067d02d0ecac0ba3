"""How the risk falls when the most uncertain samples are left out.

The *coverage* is the fraction of samples that are kept, most certain first,
the *risk* is their mean loss: 0/1 errors, absolute errors or any other real
loss. Samples that tie count with their expected value over all orders.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
    error_arrays,
    loss_arrays,
)
from keras_zigzag.metrics.ranking import (
    Ranking,
    check_counts,
    rank,
    rank_by_value,
)
from keras_zigzag.metrics.sums import mean_sum


class RiskCoverageCurve(NamedTuple):
    """Three arrays of shape `(num_samples,)`, most certain sample first.

    `coverage` is the fraction that is kept, `risk` its mean loss, and
    `threshold` the uncertainty of the last sample that is kept.
    """

    coverage: Array
    risk: Array
    threshold: Array


def risk_coverage_curve(
    loss: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> RiskCoverageCurve:
    """Risk of the most certain samples, `r(k/n) = (1/k) Σ_{i≤k} loss_i`.

    Reference: [El-Yaniv & Wiener, 2010](https://www.jmlr.org/papers/v11/el-yaniv10a.html).

    Args:
        loss: Array of real losses, one per sample, of any shape.
        uncertainty: Array of the same shape; higher means less trust.
        sample_weight: Array of the same shape, or `None`. How many samples
            each one stands for.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.

    Returns:
        `RiskCoverageCurve` of arrays `coverage`, `risk`, `threshold`.

    Example:

    >>> curve = keras_zigzag.metrics.risk_coverage_curve(
    ...     loss=[0, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    >>> curve.risk
    [0.0, 0.5, 0.333333333, 0.5]
    """
    ranking = rank_loss(loss, uncertainty, sample_weight, nan_policy)
    # In place, for the sake of memory.
    coverage, risk = ranking.positions()
    risk /= coverage
    coverage /= coverage[-1]
    threshold = ranking.score
    if ranking.has_ties():
        threshold = np.repeat(threshold, ranking.num_samples)
    return RiskCoverageCurve(coverage, risk, threshold)


def aurc(
    loss: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Area under the risk–coverage curve, `(1/n) Σ_k r(k/n)`.

    Lower is better; a constant score has the mean loss.

    Reference: [Geifman et al., 2019](https://arxiv.org/abs/1805.08206).

    Args as for `risk_coverage_curve`.

    Returns:
        Float.

    Example:

    >>> keras_zigzag.metrics.aurc(
    ...     loss=[0, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    0.333333333
    """
    return aurc_of(rank_loss(loss, uncertainty, sample_weight, nan_policy))


def excess_aurc(
    loss: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """AURC above that of the oracle, which ranks by the loss itself.

    The oracle's area is computed from the losses, not from the approximation
    for 0/1 losses in the reference.

    Reference: [Geifman et al., 2019](https://arxiv.org/abs/1805.08206).

    Args as for `risk_coverage_curve`.

    Returns:
        Float, 0 for the oracle.

    Example:

    >>> keras_zigzag.metrics.excess_aurc(
    ...     loss=[0, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    0.125
    """
    loss, score, weight = loss_arrays(
        loss, uncertainty, sample_weight, nan_policy
    )
    return _excess(loss, score, weight)


def ause(
    absolute_error: Any,
    uncertainty: Any,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Area under the sparsification error, `(AURC − AURC_oracle) / mean`.

    The sparsification curve is the mean error of the samples that are kept,
    as a fraction of the mean error of all; the area is that between the curve
    of the uncertainty and the curve of the oracle.

    Reference: [Ilg et al., 2018](https://arxiv.org/abs/1802.07095).

    Args:
        absolute_error: Array of errors that are not negative, one per
            sample, of any shape.
        uncertainty: Array of the same shape; higher means less trust.
        sample_weight: Array of the same shape, or `None`. How many samples
            each one stands for.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.

    Returns:
        Float, 0 for the oracle.

    Example:

    >>> keras_zigzag.metrics.ause(
    ...     absolute_error=[1.0, 3.0, 2.0], uncertainty=[0.1, 0.2, 0.3])
    0.083333333
    """
    error, score, weight = error_arrays(
        absolute_error, uncertainty, sample_weight, nan_policy
    )
    if not error.any():
        raise ValueError(
            "The sparsification error is relative to the mean error, which "
            f"is zero. Received: {error.size} errors of zero."
        )
    return _excess(error, score, weight) / float(
        np.average(error, weights=weight)
    )


def rank_loss(
    loss: Any, uncertainty: Any, sample_weight: Any, nan_policy: NanPolicy
) -> Ranking:
    loss, score, weight = loss_arrays(
        loss, uncertainty, sample_weight, nan_policy
    )
    return rank(score, loss, weight)


def aurc_of(ranking: Ranking) -> float:
    check_counts(ranking)
    area = math.fsum(mean_sum(block).sum() for block in ranking.blocks())
    return float(area / ranking.count.sum())


def _excess(loss: Array, score: Array, weight: Array | None) -> float:
    area = aurc_of(rank(score, loss, weight))
    return area - aurc_of(rank_by_value(loss, weight))
