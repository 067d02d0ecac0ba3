"""What the layers of several heads add to the loss."""

from typing import Any

import keras

from keras_zigzag.graphs import is_graph_model, layers_in_order, sublayers
from keras_zigzag.heads.layers import HeadInput, MeanOverHeads
from keras_zigzag.heads.places import Flow


class HeadLosses:
    """Makes what the layers of the heads add to the loss count as its mean.

    That is what they add by `add_loss`, as activity regularisers do; each
    head has such a layer, and Keras adds them up. Regularisers of weights
    are `MeanOverHeads`.

    Args:
        network: The network, with an axis of heads or without.
        num_heads: Integer.
    """

    def __init__(self, network: keras.Model, num_heads: int):
        self.num_heads = num_heads
        self.layers: list[Any] = []
        if num_heads > 1 and is_graph_model(network):
            self.layers = _layers_of_heads(network)
        for layer in self.layers:
            self._divide_regularizers(layer)

    def __call__(self, losses: list[Any]) -> list[Any]:
        """The losses of the network, those of the heads divided."""
        # `layer.losses` would compute the regularisers of weights again.
        added = {
            id(loss)
            for layer in self.layers
            for loss in layer._get_own_losses()
        }
        return [
            loss / self.num_heads if id(loss) in added else loss
            for loss in losses
        ]

    def _divide_regularizers(self, layer: Any) -> None:
        """Those of which the config of a layer does not tell."""
        for weight in layer.weights:
            if not isinstance(weight.regularizer, (MeanOverHeads, type(None))):
                weight.regularizer = MeanOverHeads(
                    weight.regularizer, self.num_heads
                )


def _layers_of_heads(network: keras.Model) -> list[Any]:
    layers = layers_in_order(network)
    inputs = [layer for layer in layers if isinstance(layer, HeadInput)]
    outside = Flow(network, inputs).outside
    return [
        inner
        for layer in layers
        if isinstance(layer, keras.layers.Layer)
        and not is_graph_model(layer)
        and id(layer) not in outside
        for inner in sublayers(layer)
    ]
