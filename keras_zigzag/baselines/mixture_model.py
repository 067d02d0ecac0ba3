from typing import Any

from keras_zigzag.baselines.answering_model import AnsweringModel
from keras_zigzag.baselines.answers import prediction_of
from keras_zigzag.baselines.mixtures import Mixture


class MixtureModel(AnsweringModel):
    """A method that combines several answers with equal weights; abstract.

    A subclass implements `call_loss` and `samples`, and makes the mixture.

    Args:
        **kwargs: Arguments of `keras.Model`.
    """

    _mixture: Mixture

    def samples(self, inputs: Any) -> Any:
        """All answers, in tensors of shape `(num_samples, batch_size, ...)`."""
        raise NotImplementedError

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        samples = self.samples(inputs)
        prediction = prediction_of(self._mixture.outputs(samples))
        return prediction, self._mixture.uncertainty(samples)

    def combine(self, samples: Any, inputs: Any = None) -> dict[str, Any]:
        """Prediction and uncertainty of some of the samples.

        What fewer samples would have said, without asking again.

        Args:
            samples: Structure of tensors of shape `(num_samples, batch_size,
                ...)`, as `samples` returns, with any number of samples.
            inputs: Inputs that they are the answers to: where these are not
                finite, and where no place is, the uncertainty is NaN.
                Defaults to `None`: they are, and all places are there.

        Returns:
            Dictionary with `"prediction"` and `"uncertainty"`, as `predict`
            gives it.

        Raises:
            ValueError: If the score is a spread and there is one sample.

        Example:

        >>> model = keras_zigzag.baselines.MCDropout.from_model(
        ...     base, task="classification", layers=1, num_samples=5)
        >>> samples = model.samples(x_test)
        >>> sorted(model.combine(samples[:2]))
        ['prediction', 'uncertainty']
        """
        return self.answer(*self._mixture.combined(samples), inputs)
