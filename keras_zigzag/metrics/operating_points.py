"""Single points of the risk–coverage curve."""

import math
from typing import Any

import numpy as np

from keras_zigzag.metrics.inputs import (
    NanPolicy,
    as_fraction,
)
from keras_zigzag.metrics.ranking import (
    check_counts,
)
from keras_zigzag.metrics.risk_coverage import rank_loss


def risk_at_coverage(
    loss: Any,
    uncertainty: Any,
    coverage: float = 0.8,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Mean loss of the most certain `⌈coverage · n⌉` samples.

    A part of a group of ties is a random part of it.

    Args:
        loss: As for `risk_coverage_curve`.
        uncertainty: As for `risk_coverage_curve`.
        coverage: Float in `(0, 1]`. Defaults to `0.8`.
        sample_weight: As for `risk_coverage_curve`.
        nan_policy: As for `risk_coverage_curve`.

    Returns:
        Float.

    Example:

    >>> keras_zigzag.metrics.risk_at_coverage(
    ...     loss=[0, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4], coverage=0.5)
    0.5
    """
    coverage = as_fraction(coverage, "coverage")
    ranking = rank_loss(loss, uncertainty, sample_weight, nan_policy)
    check_counts(ranking)
    counts, totals = np.cumsum(ranking.count), np.cumsum(ranking.total)
    kept = min(whole_samples(coverage * counts[-1]), counts[-1])
    # The curve of the sums is a straight line within each group.
    total = np.interp(kept, np.append(0.0, counts), np.append(0.0, totals))
    return float(total / kept)


def coverage_at_risk(
    loss: Any,
    uncertainty: Any,
    risk: float = 0.05,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    """Largest coverage `k/n` whose risk is at most `risk`.

    A part of a group of ties is a random part of it.

    Args:
        loss: As for `risk_coverage_curve`.
        uncertainty: As for `risk_coverage_curve`.
        risk: Float. The highest risk allowed. Defaults to `0.05`.
        sample_weight: As for `risk_coverage_curve`.
        nan_policy: As for `risk_coverage_curve`.

    Returns:
        Float in `[0, 1]`, 0 if even the most certain sample is above it.

    Example:

    >>> keras_zigzag.metrics.coverage_at_risk(
    ...     loss=[0, 1, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4], risk=0.4)
    0.75
    """
    if not math.isfinite(risk):
        raise ValueError(f"`risk` must be finite. Received: risk={risk!r}")
    ranking = rank_loss(loss, uncertainty, sample_weight, nan_policy)
    check_counts(ranking)
    counts, totals = np.cumsum(ranking.count), np.cumsum(ranking.total)
    # Divided, not multiplied: 29 of 100 is at most 0.29.
    allowed = np.flatnonzero(totals / counts <= risk)
    last = int(allowed[-1]) if allowed.size else -1
    kept = counts[last] if allowed.size else 0.0
    if allowed.size and last + 1 < len(ranking):
        # Within a group the risk moves one way, so only the group after the
        # last good one can still be good in part.
        mean = ranking.total[last + 1] / ranking.count[last + 1]
        spare = risk * kept - totals[last]
        # Rounding may make less than nothing of nothing to spare.
        kept += max(math.floor(spare / (mean - risk) * (1 + 1e-12)), 0)
    return float(kept / counts[-1])


def whole_samples(count: float) -> float:
    """Rounds a number of samples up, but not for the sake of rounding."""
    return float(max(math.ceil(count * (1 - 1e-12)), 1))
