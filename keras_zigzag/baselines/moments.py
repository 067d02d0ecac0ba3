"""Mean and variance of functions of independent Gaussians, elementwise."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from keras import ops

Tensor = Any
SMALLEST = 1.1754944e-38  # Of the normal float32.
# Beyond so many deviations a density is zero in float32.
FAR = 40.0
NUM_NODES = 16
TAIL_COEFFICIENTS = (
    0.254829592,
    -0.284496736,
    1.421413741,
    -1.453152027,
    1.061405429,
)
SHIFT_DAMPING = 1.0 / 32.0


@dataclass(frozen=True)
class Moments:
    """What is known of a tensor of random numbers.

    Attributes:
        mean: Tensor, float32.
        variance: Tensor of the same shape, or `None` if nothing is random.
        weight: Tensor of zeros and ones, `(batch_size, steps)`, by the mask of
            a sequence, where a rule needs it; else `None`.
    """

    mean: Tensor
    variance: Tensor | None = None
    weight: Tensor | None = None

    @property
    def spread(self) -> Tensor:
        """The variance, with zeros if nothing is random."""
        if self.variance is None:
            return ops.zeros_like(self.mean)
        return self.variance


def density(z: Tensor) -> Tensor:
    """Of the standard Gaussian."""
    return ops.exp(-0.5 * ops.square(z)) / math.sqrt(2.0 * math.pi)


def below(z: Tensor) -> Tensor:
    """Probability that a standard Gaussian is smaller than this.

    By Abramowitz & Stegun, 1964, formula 7.1.26, good to 1e-7: some runtimes
    of exported models have no error function.
    """
    t = 1.0 / (1.0 + 0.3275911 / math.sqrt(2.0) * ops.abs(z))
    polynomial = 0.0
    for coefficient in reversed(TAIL_COEFFICIENTS):
        polynomial = (polynomial + coefficient) * t
    tail = 0.5 * polynomial * ops.exp(-0.5 * ops.square(z))
    return ops.where(z < 0.0, tail, 1.0 - tail)


def deviation(variance: Tensor) -> Tensor:
    """The root, never zero, so that one can divide by it."""
    return ops.sqrt(ops.maximum(variance, SMALLEST))


def piecewise_linear(
    x: Moments,
    knots: Sequence[Any],
    pieces: Sequence[tuple[Any, Any]],
) -> Moments:
    """Moments of a function made of straight lines, in closed form.

    For a rectifier see [Frey & Hinton, 1999](https://doi.org/10.1162/089976699300016872).
    The variance is a sum of squares about the mean.

    Args:
        x: `Moments`.
        knots: List of floats, in order, where one piece ends.
        pieces: List of `(slope, intercept)`, one more than knots.
    """
    sigma = deviation(x.spread)
    edges = [ops.clip((knot - x.mean) / sigma, -FAR, FAR) for knot in knots]
    zero = ops.zeros_like(x.mean)
    probability = [zero, *map(below, edges), zero + 1.0]
    at_edge = [zero, *map(density, edges), zero]
    slope_at_edge = [
        zero,
        *(edge * density(edge) for edge in edges),
        zero,
    ]
    # ∫ zᵏ φ(z) dz over each piece, for k = 0, 1, 2.
    integrals = []
    for index in range(len(pieces)):
        size = probability[index + 1] - probability[index]
        first = at_edge[index] - at_edge[index + 1]
        second = size + slope_at_edge[index] - slope_at_edge[index + 1]
        integrals.append((size, first, second))
    mean = zero
    for (slope, intercept), (size, first, _) in zip(
        pieces, integrals, strict=True
    ):
        line = slope * x.mean + intercept
        mean = mean + line * size + slope * sigma * first
    variance = zero
    for (slope, intercept), (size, first, second) in zip(
        pieces, integrals, strict=True
    ):
        offset = slope * x.mean + intercept - mean
        scale = slope * sigma
        square = ops.square(offset) * size + ops.square(scale) * second
        variance = variance + square + 2.0 * offset * scale * first
    return Moments(mean, ops.maximum(variance, 0.0))


def quadrature(function: Callable[[Tensor], Tensor], x: Moments) -> Moments:
    """Moments of any elementwise function, by Gauss–Hermite quadrature.

    Exact for polynomials up to a degree of twice the number of nodes less
    one; for a sigmoid within 1 % of its deviation up to a deviation of 3 of
    its argument.

    Args:
        function: Elementwise function of a tensor.
        x: `Moments`.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NUM_NODES)
    weights = weights / weights.sum()
    sigma = deviation(x.spread)
    center = function(x.mean)
    shift = square = ops.zeros_like(x.mean)
    for node, weight in zip(nodes, weights, strict=True):
        # About the middle, so that no large numbers are subtracted.
        difference = function(x.mean + float(node) * sigma) - center
        shift = shift + float(weight) * difference
        square = square + float(weight) * ops.square(difference)
    variance = ops.maximum(square - ops.square(shift), 0.0)
    return Moments(center + shift, variance)


def exponential(x: Moments) -> Moments:
    """Moments of the log-normal distribution."""
    mean = ops.exp(x.mean + 0.5 * x.spread)
    return Moments(mean, ops.square(mean) * ops.expm1(x.spread))


def maximum(one: Moments, other: Moments) -> Moments:
    """Moments of the larger of two independent Gaussians.

    Reference: [Clark, 1961](https://doi.org/10.1287/opre.9.2.145), with the
    second moment about the mean.
    """
    theta = deviation(one.spread + other.spread)
    alpha = ops.clip((one.mean - other.mean) / theta, -FAR, FAR)
    wins, loses = below(alpha), below(-alpha)
    tie = theta * density(alpha)
    mean = one.mean * wins + other.mean * loses + tie
    first, second = one.mean - mean, other.mean - mean
    variance = (
        (ops.square(first) + one.spread) * wins
        + (ops.square(second) + other.spread) * loses
        + (first + second) * tie
    )
    return Moments(mean, ops.maximum(variance, 0.0))


def product(one: Moments, other: Moments) -> Moments:
    """Moments of the product of two independent numbers."""
    variance = (
        one.spread * other.spread
        + one.spread * ops.square(other.mean)
        + other.spread * ops.square(one.mean)
    )
    return Moments(one.mean * other.mean, variance)


def softmax(x: Moments, axis: int = -1) -> Moments:
    """Approximate moments of the probabilities of logits.

    `softmax(x)ₖ` is the sigmoid of the gap `xₖ − log Σ_{j≠k} exp(xⱼ)`. The gap
    is taken for a Gaussian with the moments of a second-order expansion of
    the logarithm, and the means are made to sum to one. With two classes that
    is exact but for the quadrature.

    Args:
        x: `Moments` of the logits.
        axis: Integer. Axis of the classes. Defaults to `-1`.
    """
    mean = ops.moveaxis(x.mean, axis, -1)
    variance = ops.moveaxis(x.spread, axis, -1)
    answer = quadrature(ops.sigmoid, _gap(mean, variance))
    total = ops.sum(answer.mean, axis=-1, keepdims=True)
    return Moments(
        ops.moveaxis(answer.mean / total, -1, axis),
        ops.moveaxis(answer.spread, -1, axis),
    )


def _gap(mean: Tensor, variance: Tensor) -> Moments:
    """How far each logit is above the logarithm of what the others sum to."""
    log_p = ops.log_softmax(mean)
    p = ops.exp(log_p)
    # The second-order term overshoots where the variance is large. This much
    # less of it was best against Monte Carlo with 3 to 100 classes.
    damped = variance / (1.0 + SHIFT_DAMPING * variance)
    # For the class above one half, `1 − p` would be what rounding leaves.
    wins = p > 0.5
    others = ops.where(wins, 0.0, p)
    rest_of_winner = ops.maximum(_total(others), SMALLEST)
    share = others / rest_of_winner
    rest = ops.maximum(1.0 - p, 0.5)

    def spread(of: Tensor) -> Tensor:
        """`Σ_{j≠k} qⱼ² vⱼ` with the share `q` of each among the others."""
        terms = ops.square(p) * of
        return ops.where(
            wins,
            _total(ops.square(share) * of),
            (_total(terms) - terms) / ops.square(rest),
        )

    average = ops.where(
        wins,
        _total(share * damped),
        (_total(p * damped) - p * damped) / rest,
    )
    shift = 0.5 * (average - spread(damped))
    log_rest = ops.where(wins, ops.log(rest_of_winner), ops.log(rest))
    return Moments(
        log_p - log_rest - ops.maximum(shift, 0.0),
        variance + ops.maximum(spread(variance), 0.0),
    )


def _total(tensor: Tensor) -> Tensor:
    return ops.sum(tensor, axis=-1, keepdims=True)
