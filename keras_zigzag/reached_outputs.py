"""Which outputs of a widened network depend on the prior."""

from typing import Any

import keras

from keras_zigzag.graphs import (
    functional_view,
    layers_in_order,
    names_of_outputs,
)
from keras_zigzag.heads.places import Flow
from keras_zigzag.prior_layers import AddPrior, ConcatenatePrior


def check_reached(network: keras.Model, named: Any = ()) -> None:
    """Raises a `ValueError` if an output does not depend on the prior.

    Args:
        network: Widened model.
        named: Names of the layers at which the prior was to enter. Defaults
            to none: at the first layers that mix features.
    """
    entries = [
        layer
        for layer in layers_in_order(network)
        if isinstance(layer, (ConcatenatePrior, AddPrior))
    ]
    depends = keras.tree.flatten(Flow(network, entries).depends)
    names = names_of_outputs(functional_view(network))
    left = [name for name, one in zip(names, depends, strict=True) if not one]
    if not left:
        return
    where = sorted(named) or "the first layers that mix features"
    raise ValueError(
        "Every output must depend on the prior, since otherwise both passes "
        f"give the same and its uncertainty is always 0. The outputs {left} "
        f"do not. Received: a prior that enters at {where}. Name an earlier "
        "layer, or one on the way to each output, as in "
        "`from_model(base, ..., prior_at=['one', 'other'])`; an output that "
        "no such layer leads to has no place in the base model."
    )
