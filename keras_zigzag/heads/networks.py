"""Networks that take a prior and have one or several heads."""

from typing import Any

import keras

from keras_zigzag.graphs import functional_view, is_graph_model, layers_in_order
from keras_zigzag.heads.copies import HeadedModel, with_heads
from keras_zigzag.heads.layers import (
    HEAD_AXIS,
    StackHeads,
    TakeHead,
    check_axis,
)
from keras_zigzag.heads.places import Flow
from keras_zigzag.number_checks import checked_count, checked_seed
from keras_zigzag.priors.prior import Prior
from keras_zigzag.widening import Places, Widening, check_layer

PLACES = ("first", "heads", "both")


def widen_with_heads(
    base: keras.Model,
    prior: Prior,
    layer: str | None,
    prior_at: Any,
    num_heads: int,
    heads_from: Any,
    head_start: str,
    seed: int | None,
) -> keras.Model:
    """Gives a copy of a model a second input, the prior, and its heads.

    Args:
        base: Sequential or Functional model, checked.
        prior: The prior, built.
        layer: See `keras_zigzag.ZigZagModel.from_model`, as for the others.
        prior_at: Likewise.
        num_heads: Likewise.
        heads_from: Likewise.
        head_start: Likewise.
        seed: Integer or `None`. Seed of the new weights.

    Returns:
        Functional model of `[inputs, prior]`.

    Raises:
        ValueError: If one of the options is unknown, or does not fit.
    """
    num_heads = checked_count("num_heads", num_heads)
    prior_at = _checked_places(base, prior_at, layer)
    shape = (*prior.spatial_shape, prior.num_channels)
    if num_heads == 1:
        _check_unused(head_start=(head_start, "fresh"))
    if num_heads == 1 and prior_at not in ("heads", "both"):
        _check_unused(heads_from=(heads_from, None))
        places = _places(HeadedModel(base, {}, []), prior_at)
        return Widening(shape, places).widen(base)
    headed = with_heads(
        base, num_heads, heads_from, head_start, checked_seed(seed)
    )
    widening = Widening(shape, _places(headed, prior_at))
    network = widening.widen(headed.model)
    if prior_at == "both":
        _check_heads_read(widening.found, headed, heads_from)
    return network


def _check_heads_read(
    found: set[str], headed: HeadedModel, heads_from: Any
) -> None:
    """Raises a `ValueError` if no layer of the heads takes the prior."""
    entries = set(headed.entries)
    layers = layers_in_order(headed.model)
    starts = [layer for layer in layers if layer.name in entries]
    outside = Flow(headed.model, starts).outside
    if not any(
        layer.name in found and id(layer) not in outside for layer in layers
    ):
        raise ValueError(
            "The heads cannot take the prior: what mixes features there is "
            f"frozen, or there is none. Received: heads_from={heads_from!r} "
            "and prior_at='both'. Leave `prior_at` at 'first', or let the "
            "heads have a trainable layer such as `Dense` or `Conv2D`."
        )


def one_head(network: Any, num_heads: int) -> Any:
    """The network with the answer of its first head alone.

    Args:
        network: Keras model.
        num_heads: Integer. With one, it is the network itself.

    Raises:
        ValueError: If the outputs do not have as many heads.
    """
    if not is_graph_model(network):
        return network
    if num_heads == 1:
        _check_no_heads(functional_view(network))
        return network
    network = functional_view(network)
    for output in network.outputs:
        check_axis(output, num_heads)
    take_head = TakeHead(dtype="float32", name="take_head")
    outputs = keras.tree.map_structure(
        lambda output: take_head(output, index=0), network.output
    )
    return keras.Model(network.input, outputs)


def _check_no_heads(network: keras.Model) -> None:
    for output in network.outputs:
        layer = output._keras_history.operation
        if isinstance(layer, StackHeads):
            raise ValueError(
                f"The network has {output.shape[HEAD_AXIS]} heads, on the "
                "second axis of its outputs. Received: num_heads=1. Say how "
                "many there are."
            )


def _check_unused(**options: tuple[Any, Any]) -> None:
    """Raises a `ValueError` for what only several heads make use of."""
    for name, (value, default) in options.items():
        if value != default:
            raise ValueError(
                f"One head leaves nothing for `{name}` to say. Received: "
                f"{name}={value!r} and num_heads=1. Give the number of heads, "
                "as `num_heads=5`, or leave it out."
            )


def _checked_places(base: keras.Model, prior_at: Any, layer: Any) -> Any:
    if layer is not None:
        if prior_at != "first":
            raise ValueError(
                "Give `layer` or `prior_at`, which say the same. "
                f"Received: layer={layer!r} and prior_at={prior_at!r}"
            )
        prior_at = [layer]
    if isinstance(prior_at, str):
        if prior_at in PLACES:
            return prior_at
        prior_at = [prior_at]
    if not isinstance(prior_at, (list, tuple)) or not prior_at:
        raise ValueError(
            f"`prior_at` must be one of {list(PLACES)}, the name of a layer or "
            f"a list of names. Received: prior_at={prior_at!r}"
        )
    for name in prior_at:
        check_layer(base, name, "prior_at" if layer is None else "layer")
    return list(prior_at)


def _places(headed: HeadedModel, prior_at: Any) -> Places:
    if isinstance(prior_at, list):
        return Places(False, frozenset(_names(headed, prior_at)))
    behind = frozenset(headed.entries if prior_at != "first" else [])
    return Places(prior_at in ("first", "both"), behind=behind)


def _names(headed: HeadedModel, prior_at: list[str]) -> list[str]:
    names = []
    for name in prior_at:
        found = headed.names.get(name, [name])
        if not found:
            raise ValueError(
                f"The layers of the model {name!r} are those of the heads, so "
                "that it is unfolded. "
                f"Received: prior_at={prior_at!r}. Name one of its layers, "
                "or give prior_at='heads'."
            )
        names += found
    return names
