from typing import Any

import keras

from keras_zigzag.baselines.answers import Answers
from keras_zigzag.baselines.bases import check_graph
from keras_zigzag.baselines.masks import MAX_SCALE, Masks
from keras_zigzag.baselines.mixtures import Mixture
from keras_zigzag.baselines.placing import layers_to_sample
from keras_zigzag.baselines.sampled_model import SampledModel
from keras_zigzag.graphs import functional_view
from keras_zigzag.number_checks import (
    checked_count,
    checked_number,
    seed_or_random,
)


@keras.saving.register_keras_serializable(package="keras_zigzag")
class Masksembles(SampledModel):
    """One network under a few fixed masks, each of which makes a member.

    Between `MCDropout`, which has many masks that agree in much, and
    `DeepEnsemble`, whose members share nothing: the masks are few, are fixed
    before training, and overlap as much as `scale` says. They keep whole
    features, and the channels of a convolution.

    In training each sample has one of the masks: a batch is split into
    `num_masks` parts that are as nearly equal as its size allows, so a step
    costs what it costs the base model. The features that are left are not
    scaled up, as in the paper, so a trained base model has to be trained on.
    At inference the batch is tiled: all members are one batched call, and
    what comes before the first mask is computed once for all. The prediction
    is the mean over the members, of probabilities where the network gives
    logits, in `evaluate` as in `predict`.

    Make one with `Masksembles.from_model`.

    Reference: [Durasov et al., 2021](https://arxiv.org/abs/2012.08334).

    Args:
        network: Functional model with the masks that `from_model` puts in.
        task: `"classification"`, `"regression"` or `"binary"`; with several
            outputs a list or dict with one of them per output.
        num_masks: Integer. Number of masks. Defaults to `4`.
        score: String, or a list or dict with one per output.
            `"predictive_entropy"`, `"mutual_information"`,
            `"max_probability"` (one minus it) or `"variance"`;
            `"standard_deviation"` or `"variance"` for a regression. Defaults
            to `None`: the first for its task.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a name is unknown or a number out of its range.

    Example:

    >>> masks = keras_zigzag.baselines.Masksembles.from_model(
    ...     base, task="classification", num_masks=4, scale=2.0
    ... )
    >>> masks.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        num_masks: int = 4,
        score: Any = None,
        **kwargs: Any,
    ):
        num_masks = checked_count("num_masks", num_masks)
        super().__init__(network, task, score, num_masks, **kwargs)
        self.num_masks = num_masks

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any,
        num_masks: int = 4,
        scale: float = 2.0,
        layers: int | None = None,
        score: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> "Masksembles":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not.
                Trained weights are kept.
            task: See the class.
            num_masks: Integer. Number of masks. Defaults to `4`.
            scale: Float in `[1, 6]`. How little the masks overlap: two of
                them have `1 / (2 * scale - 1)` of their features in common
                (intersection over union). At `1` all masks keep everything,
                at large values the members are nearly an ensemble of
                narrower networks. Defaults to `2.0`.
            layers: Integer. In front of how many of the last layers with a
                kernel masks are put; dropout of the base model stays as it
                is. Defaults to `None`: masks take the place of its `Dropout`
                and `SpatialDropout` layers, or if it has none, are put in
                front of as few layers as it takes to reach all outputs, which
                mostly is one.
            score: See the class. Defaults to `None`.
            seed: Integer. Seed of the masks. Defaults to `None`: a random
                one. Whichever it was, the masks are saved with the model.
            **kwargs: Arguments of the constructor.

        Returns:
            A `Masksembles`, not compiled.

        Raises:
            ValueError: If the model cannot be copied or has too few layers
                or features, a number is out of its range, or `layers` is not
                given and no mask would be on the way to an output.

        Example:

        >>> base = keras.Sequential([
        ...     keras.Input((4,)), keras.layers.Dense(16, activation="relu"),
        ...     keras.layers.Dropout(0.1), keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.Masksembles.from_model(
        ...     base, task="regression", num_masks=3, scale=1.5, seed=0)
        >>> model.compile("adam", "mse")
        """
        check_graph(base)
        num_masks = checked_count("num_masks", num_masks)
        layers = layers_to_sample(base, layers)
        scale = _checked_scale(scale, base, task, score)
        seed = seed_or_random(seed)
        network = Masks(base, num_masks, scale, layers, seed).into(
            base, "masks"
        )
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"masksembles_{base.name}")
        return cls(network, task, num_masks, score, **kwargs)


def _checked_scale(
    scale: Any, base: keras.Model, task: Any, score: Any
) -> float:
    scale = checked_number(
        "scale",
        scale,
        lambda one: 1 <= one <= MAX_SCALE,
        f"lie between 1, where all masks are equal, and {MAX_SCALE:g}",
    )
    if scale > 1:
        return scale
    try:
        Mixture(Answers(functional_view(base), task), score, num_samples=1)
    except ValueError as error:
        raise ValueError(
            "At `scale=1` all masks are equal, so that there is no spread. "
            f"Give a scale above 1 and up to {MAX_SCALE:g}. "
            f"Received: scale={scale!r}"
        ) from error
    return scale
