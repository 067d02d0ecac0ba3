"""Networks that take the prior as their second input."""

import keras

from keras_zigzag.graphs import functional_view, is_graph_model
from keras_zigzag.priors.prior import Prior


def check_prior_input(network: keras.Model, prior: Prior) -> None:
    """Raises a `ValueError` if the second input is not for this prior."""
    if not takes_two_inputs(network):
        _check_not_others(network)
        return
    inputs = network.input
    (*_, width) = inputs[1].shape
    if width not in (None, prior.num_channels):
        raise ValueError(
            f"The second input of the network must have {prior.num_channels} "
            f"channels: {prior.num_values} of values and "
            f"{int(prior.presence)} that says whether they are given. "
            f"Received: an input of shape {tuple(inputs[1].shape)}. Change "
            "it, or give the prior `presence=False`."
        )


def _check_not_others(network: keras.Model) -> None:
    """Raises a `ValueError` for a graph that has other inputs."""
    if not is_graph_model(network):
        return
    given = keras.tree.map_structure(
        lambda tensor: tuple(tensor.shape), functional_view(network).input
    )
    raise ValueError(
        "The network must be called as `network([inputs, prior])`. Received: "
        f"a network with the inputs {given}. Several inputs of one's own go "
        "in a list, `keras.Model([[a, b], prior], outputs)`; a model without "
        "a prior is widened by `ZigZagModel.from_model`."
    )


def takes_two_inputs(network: keras.Model) -> bool:
    """Whether the network is known to take `[inputs, prior]`."""
    inputs = network.input if isinstance(network, keras.Function) else None
    return isinstance(inputs, (list, tuple)) and len(inputs) == 2
