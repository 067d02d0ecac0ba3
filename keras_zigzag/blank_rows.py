"""Which rows of a training batch have the prior blank, and which the answer."""

from typing import Any

import keras
from keras import ops

Tensor = Any
PASSES = ("both", "sampled")


def check_passes(passes: Any) -> None:
    """Raises a `ValueError` unless it is one of `PASSES`."""
    if passes not in PASSES:
        raise ValueError(
            f"Unknown passes. Expected one of {list(PASSES)}. "
            f"Received: passes={passes!r}"
        )


def num_samples_again(passes: str, size: int | Tensor) -> int | Tensor:
    """How many samples of a batch appear a second time in training.

    Args:
        passes: One of `PASSES`.
        size: Integer or scalar tensor, how many samples there are.
    """
    if passes == "both":
        return size
    # Half of a sample cannot be blank, so a single one is trained both
    # ways; the metrics would otherwise have nothing to see.
    if isinstance(size, int):
        return max(2 - size, 0)
    return ops.maximum(2 - size, 0)


def first_half(size: int | Tensor) -> tuple[Tensor, Tensor]:
    """Which of `2 * size` rows are blank, as Booleans and as indices."""
    is_blank = ops.arange(2 * size, dtype="int32") < size
    return is_blank, ops.arange(size, dtype="int32")


def random_half(
    size: int | Tensor, seed: keras.random.SeedGenerator
) -> tuple[Tensor, Tensor]:
    """Which half of the rows are blank, and indices of such rows."""
    order = ops.argsort(keras.random.uniform((size,), seed=seed))
    # The odd sample of an odd batch is blank half of the time.
    coin = keras.random.uniform((), seed=seed)
    num_blank = (size + ops.cast(coin < 0.5, "int32")) // 2
    is_blank = ops.cast(ops.argsort(order), "int32") < num_blank
    return is_blank, order[: size // 2]
