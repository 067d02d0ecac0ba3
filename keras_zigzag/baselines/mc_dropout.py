from typing import Any

import keras

from keras_zigzag.baselines.bases import check_graph
from keras_zigzag.baselines.placing import layers_to_sample
from keras_zigzag.baselines.sampled_model import SampledModel
from keras_zigzag.baselines.sampling import Sampling
from keras_zigzag.number_checks import (
    checked_count,
    checked_rate,
    seed_or_random,
)


@keras.saving.register_keras_serializable(package="keras_zigzag")
class MCDropout(SampledModel):
    """Several passes of one network with dropout left on.

    At inference only dropout is random; batch normalisation and augmentation
    do what they always do there. All passes are one batched call, and what
    comes before the first dropout is computed once for all. Their masks
    are drawn once from `seed` and then are the same for all inputs, so an
    input has the same answer in every batch, in every call and in an exported
    artifact. The prediction is the mean over the passes, of probabilities
    where the network gives logits, in `evaluate` as in `predict`.

    Make one with `MCDropout.from_model`.

    Reference: [Gal & Ghahramani, 2016](https://arxiv.org/abs/1506.02142).

    Args:
        network: Functional model with the dropout that `from_model` puts in.
        task: `"classification"`, `"regression"` or `"binary"`; with several
            outputs a list or dict with one of them per output.
        num_samples: Integer. Number of passes. Defaults to `5`.
        score: String, or a list or dict with one per output.
            `"predictive_entropy"`, `"mutual_information"`,
            `"max_probability"` (one minus it) or `"variance"`;
            `"standard_deviation"` or `"variance"` for a regression. Defaults
            to `None`: the first for its task.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a name is unknown or a number out of its range.

    Example:

    >>> dropout = keras_zigzag.baselines.MCDropout.from_model(
    ...     base, task="classification", layers=2, rate=0.1
    ... )
    >>> dropout.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        num_samples: int = 5,
        score: Any = None,
        **kwargs: Any,
    ):
        num_samples = checked_count("num_samples", num_samples)
        super().__init__(network, task, score, num_samples, **kwargs)
        self.num_samples = num_samples

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any,
        num_samples: int = 5,
        layers: int | None = None,
        rate: float = 0.2,
        score: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> "MCDropout":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not.
                Trained weights are kept. The passes sample its own `Dropout`
                and `SpatialDropout` layers.
            task: See the class.
            num_samples: Integer. Number of passes. Defaults to `5`.
            layers: Integer. In front of how many of the last layers with a
                kernel dropout is put. Defaults to `None`: of none if the
                model has dropout of its own, else of as few as it takes to
                reach all outputs, which mostly is one.
            rate: Float in `(0, 1)`. Rate of the dropout that is put in.
                Defaults to `0.2`.
            score: See the class. Defaults to `None`.
            seed: Integer. Seed of the masks. Defaults to `None`: a random
                one, which is saved with the model.
            **kwargs: Arguments of the constructor.

        Returns:
            An `MCDropout`, not compiled.

        Raises:
            ValueError: If the model cannot be copied or has too few layers,
                a number is out of its range, or `layers` is not given and
                nothing would be random on the way to an output.

        Example:

        >>> base = keras.Sequential([
        ...     keras.Input((4,)), keras.layers.Dense(8, activation="relu"),
        ...     keras.layers.Dropout(0.1), keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.MCDropout.from_model(
        ...     base, task="regression", num_samples=10, seed=0)
        >>> model.compile("adam", "mse")
        """
        check_graph(base)
        num_samples = checked_count("num_samples", num_samples)
        layers = layers_to_sample(base, layers)
        rate = checked_rate(
            rate, "at 0 all passes are equal, at 1 nothing is left"
        )
        seed = seed_or_random(seed)
        network = Sampling(base, num_samples, layers, rate, seed).into(
            base, "dropout"
        )
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"mc_dropout_{base.name}")
        return cls(network, task, num_samples, score, **kwargs)
