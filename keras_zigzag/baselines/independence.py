"""Networks that are trained in one `fit`, each as it would be alone."""

from typing import Any


def check_independent(optimizer: Any) -> None:
    """Raises a `ValueError` if one network's gradients change another's."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    norm = getattr(inner, "global_clipnorm", None)
    if norm is not None:
        raise ValueError(
            "The networks learn independently, and a norm over all of them "
            "would tie them together. Received: an optimizer with "
            f"`global_clipnorm={norm}`. Use `clipnorm`."
        )
