"""Checks of the numbers that a user hands over, NumPy's among them."""

import math
import numbers
import random
from collections.abc import Callable
from typing import Any

NUM_SEEDS = 2**32


def is_integer(value: Any) -> bool:
    """Whether it is an integer; `True` is none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether it is a finite real number; `True` is none."""
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def checked_count(name: str, value: Any, least: int = 1) -> int:
    """An integer of `least` or more, as one of Python.

    Raises:
        ValueError: If it is no such number.
    """
    if not is_integer(value) or value < least:
        expected = {
            0: "an integer that is not negative",
            1: "a positive integer",
        }.get(least, f"an integer of {least} or more")
        raise ValueError(
            f"`{name}` must be {expected}. Received: {name}={value!r}"
        )
    return int(value)


def checked_number(
    name: str, value: Any, fits: Callable[[float], bool], expected: str
) -> float:
    """A finite number, as one of Python.

    Args:
        name: String. Name of the argument.
        value: What was given for it.
        fits: Function that says whether a number may be given.
        expected: String. What these numbers are, such as `"be positive"`.

    Raises:
        ValueError: If it is no such number.
    """
    if not is_number(value) or not fits(value):
        raise ValueError(
            f"`{name}` must {expected}. Received: {name}={value!r}"
        )
    return float(value)


def checked_rate(value: Any, ends: str) -> float:
    """A rate of dropout; `ends` says what is wrong with 0 and 1."""
    return checked_number(
        "rate",
        value,
        lambda rate: 0 < rate < 1,
        f"lie between 0 and 1; {ends}",
    )


def checked_seed(seed: Any) -> int | None:
    """A seed that Python, NumPy and Keras take, or `None`.

    Raises:
        ValueError: If it is neither.
    """
    if seed is None:
        return None
    if not is_integer(seed) or not 0 <= seed < NUM_SEEDS:
        raise ValueError(
            "`seed` must be an integer from 0 to 2**32 - 1, or `None`. "
            f"Received: seed={seed!r}"
        )
    return int(seed)


def seed_or_random(seed: Any) -> int:
    """A checked seed; for `None` one that follows Python's generator.

    That is the one that `keras.utils.set_random_seed` sets.
    """
    seed = checked_seed(seed)
    return random.randint(1, 2**31) if seed is None else seed
