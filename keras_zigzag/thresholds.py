"""Which uncertainty is too high: thresholds from validation scores.

A prediction is accepted where its uncertainty is at most the threshold. A
threshold that was read off a curve holds on the samples of that curve; these
hold on new samples of the same distribution, with the confidence asked for.
The validation samples must be independent, as images are but not their
pixels, and not those that trained the model.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from keras_zigzag.confidence_bounds import p_values, upper_bound_of_mean
from keras_zigzag.metrics.inputs import (
    Array,
    NanPolicy,
    as_errors,
    as_scores,
    flat,
)
from keras_zigzag.number_checks import is_number

NUM_SEQUENCES = 10


class Threshold(NamedTuple):
    """A threshold and what is known about it.

    Attributes:
        value: Float. Accept where the uncertainty is at most this.
        coverage: Float. Share of the validation samples that it accepts.
        rate: Float. What was limited, on the validation samples: the mean
            loss of those accepted, or the share of those that are not.
        bound: Float. What it is at most on new samples, with probability
            `confidence` over the choice of the validation samples. With
            `confidence=None` of false alarms: in the mean over that choice.
            `nan` where nothing is claimed.
        confidence: Float or `None`.
    """

    value: float
    coverage: float
    rate: float
    bound: float
    confidence: float | None

    def __float__(self) -> float:
        return self.value


def threshold_at_false_alarm_rate(
    id_uncertainty: Any,
    rate: float = 0.05,
    confidence: float | None = 0.95,
    nan_policy: NanPolicy = "raise",
) -> Threshold:
    """The lowest threshold that seldom rejects in-distribution samples.

    The threshold is the `k`-th lowest of `n` scores. The share of new samples
    above it then follows a Beta distribution `(n + 1 - k, k)`, whatever the
    distribution of the scores; with ties it is smaller. `k` is the lowest with

    `P(Beta(n + 1 - k, k) <= rate) >= confidence`,

    or, with `confidence=None`, whose mean `(n + 1 - k) / (n + 1)` is at most
    `rate`, as in split conformal prediction.

    Reference: [Wilks, 1941](https://doi.org/10.1214/aoms/1177731788),
    [Vovk, 2012](https://proceedings.mlr.press/v25/vovk12.html).

    Args:
        id_uncertainty: Array. Uncertainties of in-distribution validation
            samples.
        rate: Float in `(0, 1)`. The share of such samples that may be
            rejected. Defaults to `0.05`.
        confidence: Float in `(0, 1)`, or `None`. Defaults to `0.95`.
        nan_policy: `"raise"`, or `"worst"` to rank NaN as most uncertain.
            Defaults to `"raise"`.

    Returns:
        A `Threshold`; its `rate` and `bound` are of false alarms.

    Raises:
        ValueError: If there are too few samples for such a threshold.

    Example:

    >>> threshold = keras_zigzag.thresholds.threshold_at_false_alarm_rate(
    ...     np.arange(100), rate=0.1)
    >>> threshold.value, threshold.coverage
    (95.0, 0.96)
    """
    _check_inside("rate", rate)
    return _lowest(
        id_uncertainty, "id_uncertainty", rate, confidence, nan_policy
    )


def _lowest(
    uncertainty: Any,
    name: str,
    rate: float,
    confidence: float | None,
    nan_policy: NanPolicy,
) -> Threshold:
    """The lowest threshold that rejects a share of at most `rate`."""
    scores, _ = _sorted_scores(uncertainty, name, nan_policy)
    bounds = _bounds_of_false_alarms(len(scores), confidence)
    allowed = np.flatnonzero(bounds <= rate * (1 + 1e-12))
    if not allowed.size or not scores[allowed[0]] < np.inf:
        needed = _samples_needed(rate, confidence)
        num_finite = int(np.count_nonzero(np.isfinite(scores)))
        is_few = num_finite < needed
        why = "so few finite scores" if is_few else "so many not finite"
        expected = f"{needed} or more" if is_few else "all but a few"
        raise ValueError(
            f"No finite threshold rejects at most {rate:.4g} of new samples "
            f"with `confidence={confidence!r}` on {why}. Expected: {expected}. "
            f"Received: {num_finite} of {len(scores)} finite. Pass more "
            "samples, or let it reject more; what is NaN because nothing is "
            "there, as at padding, is to be left out."
        )
    place = int(allowed[0])
    accepted = int(np.searchsorted(scores, scores[place], side="right"))
    return Threshold(
        value=float(scores[place]),
        coverage=accepted / len(scores),
        rate=(len(scores) - accepted) / len(scores),
        bound=float(bounds[place]),
        confidence=confidence,
    )


def threshold_at_coverage(
    uncertainty: Any,
    coverage: float = 0.95,
    confidence: float | None = 0.95,
    nan_policy: NanPolicy = "raise",
) -> Threshold:
    """The lowest threshold that accepts a share of the samples.

    That of `threshold_at_false_alarm_rate` for a rate of `1 - coverage`.

    Args:
        uncertainty: Array. Uncertainties of validation samples that are
            independent: of pixels or words not all of a sample.
        coverage: Float in `(0, 1)`. The share of samples to accept. Defaults
            to `0.95`.
        confidence: Float in `(0, 1)`, or `None`. Defaults to `0.95`.
        nan_policy: As for `threshold_at_false_alarm_rate`.

    Returns:
        A `Threshold`; its `rate` and `bound` are of the share rejected.

    Raises:
        ValueError: If there are too few samples for such a threshold.

    Example:

    >>> keras_zigzag.thresholds.threshold_at_coverage(
    ...     np.arange(99), coverage=0.9, confidence=None).value
    89.0
    """
    _check_inside("coverage", coverage)
    return _lowest(
        uncertainty, "uncertainty", 1 - coverage, confidence, nan_policy
    )


def threshold_at_risk(
    loss: Any,
    uncertainty: Any,
    risk: float = 0.05,
    confidence: float | None = 0.95,
    nan_policy: NanPolicy = "raise",
) -> Threshold:
    """A high threshold whose accepted predictions are seldom wrong.

    From each of ten places, evenly over the sorted scores, thresholds are
    tried upwards until one fails (fixed-sequence testing, as in Learn then
    Test), each sequence at a tenth of `1 - confidence`. A threshold passes if
    the upper confidence bound of the mean loss of what it accepts is at most
    `risk`. That bound is exact for losses of 0 and 1 (Clopper–Pearson); for
    losses between it is that of Hoeffding and Bentkus.

    With `confidence=None` it is the highest threshold whose mean loss on
    these very samples is at most `risk`; nothing is claimed for others.

    Reference: [Angelopoulos et al., 2021](https://arxiv.org/abs/2110.01052),
    [Bates et al., 2021](https://arxiv.org/abs/2101.02703); the aim is that of
    [Geifman & El-Yaniv, 2017](https://arxiv.org/abs/1705.08500).

    Args:
        loss: Array. One loss per validation sample, such as 1 where the
            prediction is wrong and 0 where it is right. With a `confidence`
            all in `[0, 1]`.
        uncertainty: Array. One uncertainty per sample; samples are
            independent, as pixels of an image are not.
        risk: Float, positive. The highest mean loss that is wanted. Defaults
            to `0.05`.
        confidence: Float in `(0, 1)`, or `None`. Defaults to `0.95`.
        nan_policy: As for `threshold_at_false_alarm_rate`.

    Returns:
        A `Threshold`; its `rate` and `bound` are of the mean loss.

    Raises:
        ValueError: If no threshold keeps the risk.

    Example:

    >>> is_wrong = np.arange(1000) >= 900
    >>> threshold = keras_zigzag.thresholds.threshold_at_risk(
    ...     is_wrong, np.arange(1000), risk=0.05)
    >>> threshold.coverage > 0.85, threshold.bound <= 0.05
    (True, True)
    """
    if not is_number(risk) or risk <= 0:
        raise ValueError(
            f"`risk` must be positive and finite. Received: risk={risk!r}"
        )
    losses = as_errors(loss, "loss")
    _check_confidence(confidence)
    if confidence is not None and risk >= 1:
        raise ValueError(
            "With a `confidence` losses are in [0, 1], and `risk` is the mean "
            f"loss to keep, below 1. Received: risk={risk!r}"
        )
    if confidence is not None and losses.max() > 1:
        raise ValueError(
            "With a `confidence`, `loss` must be in [0, 1]: 1 where the "
            "prediction is not good enough and 0 where it is, or an error "
            "divided by the largest possible. Received: a largest loss of "
            f"{losses.max()}. Rescale it, or pass `confidence=None`."
        )
    scores, order = _sorted_scores(uncertainty, "uncertainty", nan_policy, loss)
    losses = losses.ravel()[order]
    # Ties are accepted together, so only the last of each group is a choice.
    is_last = np.append(scores[1:] != scores[:-1], True)
    counts = 1 + np.flatnonzero(is_last & (scores < np.inf))
    means = np.minimum(np.cumsum(losses)[counts - 1] / counts, losses.max())
    if confidence is None:
        chosen, bound = _last(means <= risk), math.nan
    else:
        is_binary = bool(np.all((losses == 0) | (losses == 1)))
        level = (1 - confidence) / NUM_SEQUENCES
        good = p_values(counts, means, risk, is_binary) <= level
        chosen = _end_of_sequences(good)
    if chosen is None:
        raise ValueError(
            f"No threshold keeps `risk={risk!r}` with "
            f"`confidence={confidence!r}` on these {len(scores)} samples. "
            f"Received: a mean loss of {losses.mean():.3g}, where 1 is wrong "
            "and 0 is right. Pass more samples, or allow a higher risk."
        )
    count, mean = int(counts[chosen]), float(means[chosen])
    if confidence is not None:
        bound = upper_bound_of_mean(count, mean, 1 - level, is_binary)
    return Threshold(
        value=float(scores[count - 1]),
        coverage=count / len(scores),
        rate=mean,
        bound=bound,
        confidence=confidence,
    )


def _last(good: Array) -> int | None:
    places = np.flatnonzero(good)
    return int(places[-1]) if places.size else None


def _end_of_sequences(good: Array) -> int | None:
    """How far one gets from the last of the starts that is good."""
    starts = np.linspace(0, len(good), NUM_SEQUENCES, endpoint=False)
    starts = starts.astype("int64")
    if not len(good) or not good[starts].any():
        return None
    start = starts[good[starts]][-1]
    failed = np.flatnonzero(~good[start:])
    return int(start + failed[0] if failed.size else len(good)) - 1


def _bounds_of_false_alarms(n: int, confidence: float | None) -> Array:
    """For each of `n` sorted scores as the threshold, falling."""
    _check_confidence(confidence)
    above = np.arange(n, 0, -1)  # n + 1 - k for k = 1, …, n
    if confidence is None:
        return above / (n + 1)
    return special.betaincinv(above, n + 1 - above, confidence)


def _samples_needed(rate: float, confidence: float | None) -> int:
    """So many that their largest will do."""
    if confidence is None:
        return math.ceil(1 / rate * (1 - 1e-12)) - 1
    return math.ceil(math.log(1 - confidence) / math.log1p(-rate))


def _sorted_scores(
    values: Any, name: str, nan_policy: NanPolicy, loss: Any = None
) -> tuple[Array, Array]:
    """Scores in rising order, NaN last, and the order."""
    scores = as_scores(values, name, nan_policy)
    (scores, _) = flat(
        **{name: scores, "loss": None if loss is None else np.asarray(loss)}
    )
    order = np.argsort(scores, kind="stable")
    return scores[order].astype("float64"), order


def _check_inside(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(
            f"`{name}` must be in (0, 1). Received: {name}={value!r}"
        )


def _check_confidence(confidence: float | None) -> None:
    if confidence is not None:
        _check_inside("confidence", confidence)
