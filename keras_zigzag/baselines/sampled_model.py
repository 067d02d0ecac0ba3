from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.answers import Answers
from keras_zigzag.baselines.mixture_model import MixtureModel
from keras_zigzag.baselines.mixtures import Mixture
from keras_zigzag.baselines.network_model import NetworkModel
from keras_zigzag.baselines.tiling import TileBatch
from keras_zigzag.graphs import functional_view, sublayers


class SampledModel(MixtureModel, NetworkModel):
    """A network that gives several answers in one call; abstract.

    The network tiles the batch itself (see `Tiling`): what comes out is the
    answers of all samples, one sample after the other.

    Args:
        network: Functional model.
        task: `"classification"`, `"regression"` or `"binary"`, or a list or
            dict of them with one per output.
        score: Name of a score, or a list or dict of them, or `None`.
        num_answers: Integer. Number of samples.
        **kwargs: Arguments of `keras.Model`.
    """

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        score: Any,
        num_answers: int,
        **kwargs: Any,
    ):
        super().__init__(network, task, score, **kwargs)
        _check_number(network, num_answers)
        self._num_answers = num_answers
        self.use_answers(Answers(functional_view(network), task))
        self._mixture = Mixture(self.answers, score, num_answers)

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        if training:
            return self.network(inputs, training=True)
        return self.mixture_with_masks(inputs)

    def mixture_with_masks(self, inputs: Any, training: bool = False) -> Any:
        """The prediction, with the masks of the network's outputs."""
        outputs = self.network(inputs, training=training)
        samples = self._apart(outputs)
        first = self._first_sample(outputs, samples)
        return self.take_masks(self._mixture.outputs(samples), first)

    def samples(self, inputs: Any) -> Any:
        """All answers, in tensors of shape `(num_samples, batch_size, ...)`."""
        return self._apart(self.network(inputs, training=False))

    def _apart(self, outputs: Any) -> Any:
        return keras.tree.map_structure(
            lambda leaf: ops.reshape(
                leaf, (self._num_answers, -1, *list(ops.shape(leaf))[1:])
            ),
            outputs,
        )

    def _first_sample(self, outputs: Any, samples: Any) -> Any:
        """The answers of the first sample, with their masks."""
        size = ops.shape(keras.tree.flatten(samples)[0])[1]
        return self.take_rows(outputs, ops.arange(size, dtype="int32"))


def _check_number(network: keras.Model, num_answers: int) -> None:
    """Raises a `ValueError` if the network gives another number of answers."""
    for layer in sublayers(network):
        if isinstance(layer, TileBatch) and layer.num_samples != num_answers:
            raise ValueError(
                "The number of samples is that of the network. Received: "
                f"{num_answers}, for a network that gives {layer.num_samples}. "
                "Make a model with another number by `from_model`."
            )
