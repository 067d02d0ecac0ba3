from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.answers import Answers
from keras_zigzag.baselines.mixtures import Mixture
from keras_zigzag.baselines.network_model import NetworkModel
from keras_zigzag.graphs import functional_view


class SampledModel(NetworkModel):
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
        self._num_answers = num_answers
        self.use_answers(Answers(functional_view(network), task))
        self._mixture = Mixture(self.answers, score, num_answers)

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        if training:
            return self.network(inputs, training=True)
        return self._mixture.outputs(self.samples(inputs))

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        samples = self.samples(inputs)
        prediction = self._mixture.outputs(samples)
        return prediction, self._mixture.uncertainty(samples)

    def samples(self, inputs: Any, training: bool = False) -> Any:
        """All answers, in tensors of shape `(num_samples, batch_size, ...)`."""
        return keras.tree.map_structure(
            lambda leaf: ops.reshape(
                leaf, (self._num_answers, -1, *list(ops.shape(leaf))[1:])
            ),
            self.network(inputs, training=training),
        )
