from inspect import signature
from typing import Any

import keras
from keras import ops

from keras_zigzag import distances
from keras_zigzag.batches import (
    HeadOutputs,
    TrainingInputs,
    with_first_rows_again,
)
from keras_zigzag.blank_rows import (
    check_passes,
    first_half,
    num_samples_again,
    random_half,
)
from keras_zigzag.finite import unknown_unless_finite
from keras_zigzag.graphs import functional_view
from keras_zigzag.heads.answers import HeadAnswers
from keras_zigzag.heads.losses import HeadLosses
from keras_zigzag.heads.networks import one_head, widen_with_heads
from keras_zigzag.model_config import (
    check_options,
    deserialized,
    input_specs,
    serialized,
)
from keras_zigzag.number_checks import checked_count, checked_seed
from keras_zigzag.place_masks import PlaceMasks, masks_of
from keras_zigzag.priors.one_hot_prior import OneHotPrior
from keras_zigzag.priors.prior import Prior
from keras_zigzag.priors.resolve import resolve, resolve_anew
from keras_zigzag.splitting import SplitNetwork
from keras_zigzag.two_inputs import check_prior_input, takes_two_inputs
from keras_zigzag.uncertainty_model import UncertaintyModel
from keras_zigzag.widening import check_base

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class ZigZagModel(UncertaintyModel):
    """Uncertainty by two passes of one network.

    The network takes a second argument, the prior. Training makes it give
    the same answer with the prior blank and with the true answer in it:
    `L(M(x, blank), y) + L(M(x, y), y)`. At inference its own first answer
    goes in, `y0 = M(x, blank)`, `y1 = M(x, y0)`; the prediction is `y0` and
    the uncertainty `‖y0 − y1‖`. On inputs unlike those of the training the
    network does not know what to make of the answer, and the two differ.

    With several heads on one trunk (`num_heads`) each has its pair of
    answers, and the uncertainty is
    `√(meanₖ ‖y0ₖ − y1ₖ‖² + varₖ y0ₖ)`: how far the heads move, and how far
    they disagree, as the members of an ensemble do.

    Make one with `ZigZagModel.from_model`. The constructor is for networks
    with two inputs of your own.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML);
    for the heads [Lee et al., 2015](https://arxiv.org/abs/1511.06314), for
    their disagreement [Lakshminarayanan et al., 2017](https://arxiv.org/abs/1612.01474).

    Args:
        network: Keras model called as `network([inputs, prior])`.
        prior: A `keras_zigzag.priors.Prior`, or its name. Has no default.
        passes: `"both"` trains each batch with the prior blank and with the
            answer, at twice the cost (the paper's loss, as the mean of the
            two terms so that learning rates carry over; their sum, if the
            `reduction` of the loss is `"sum"`). `"sampled"` gives
            half of the samples the one and half the other, drawn anew for
            each batch, at the cost of ordinary training. Defaults to
            `"both"`.
        distance: String or callable of `(first, second)`, see
            `keras_zigzag.distances.get`. Defaults to `"norm"`.
        num_passes: Integer, at least 2. Number of passes at inference; each
            takes the answer of the one before, and the distance is that of
            the last two, which is mostly 0 where a class alone is fed back
            and stays the same. Defaults to `2`.
        seed: Integer. Seed of `passes="sampled"`. Defaults to `None`.
        aggregate: String. `"mean"` (the paper's) or `"max"` over the places
            of a dense task, such as the nodes of a mesh, for one uncertainty
            per sample. Defaults to `None`: one per place.
        num_heads: Integer. How many answers the network gives; with several
            its outputs are `(batch_size, num_heads, ...)`. Their mean (of
            the probabilities, where they are logits) is the prediction and
            what goes in again; the loss is the mean of the heads' losses.
            Defaults to `1`.
        uncertainty: String. `"distance"`, the mean over the heads of
            `distance`; `"disagreement"` of the heads, the root of the
            variance of `y0` over them; `"both"`, the root of
            `mean ‖y0 − y1‖² + variance of y0`; or `"entropy"` of the mean
            probabilities. Defaults to `None`: `"both"` with several heads,
            `"distance"` with one.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a name is unknown or a number out of its range, there
            is no prior or it does not fit the network, a distance or an
            uncertainty is not defined for the task, or with one head
            `uncertainty` is `"both"` or `"disagreement"`.

    Example:

    >>> model = keras_zigzag.ZigZagModel.from_model(
    ...     base, task="classification"
    ... )
    >>> model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    >>> model.fit(x_train, y_train)
    >>> model.predict(x_test)["uncertainty"]
    """

    def __init__(
        self,
        network: keras.Model,
        prior: Prior | str | None = None,
        passes: str = "both",
        distance: Any = "norm",
        num_passes: int = 2,
        seed: int | None = None,
        aggregate: str | None = None,
        num_heads: int = 1,
        uncertainty: str | None = None,
        **kwargs: Any,
    ):
        if prior is None:
            raise ValueError(
                "A network of two inputs needs a prior. Received: prior=None. "
                "Pass one of `keras_zigzag.priors`, or make the model of an "
                "ordinary one with `ZigZagModel.from_model(base, task=...)`."
            )
        check_options(kwargs, ZigZagModel, _arguments_of_the_prior())
        kwargs.setdefault("dtype", network.dtype_policy)
        super().__init__(aggregate=aggregate, **kwargs)
        check_passes(passes)
        num_passes = checked_count("num_passes", num_passes, least=2)
        self.num_heads = checked_count("num_heads", num_heads)
        self.network = network
        self.prior = resolve(one_head(network, self.num_heads), prior=prior)
        check_prior_input(network, self.prior)
        self.passes = passes
        self.distance = distances.get(distance)
        self.num_passes = num_passes
        self.seed = checked_seed(seed)
        self._seed_generator = keras.random.SeedGenerator(self.seed)
        self._split = SplitNetwork(network)
        self._check_distance()
        self.uncertainty = uncertainty
        self._heads = HeadAnswers(
            self.prior, self.num_heads, uncertainty, self.distance
        )
        self._head_losses = HeadLosses(network, self.num_heads)
        if hasattr(network, "output_names"):
            self.output_names = network.output_names
        self.built = True

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any = None,
        prior: Any = None,
        layer: str | None = None,
        prior_at: Any = "first",
        num_heads: int = 1,
        heads_from: Any = None,
        head_start: str = "fresh",
        **kwargs: Any,
    ) -> "ZigZagModel":
        """Makes a ZigZag model of an ordinary one.

        Args:
            base: Sequential or Functional model, built, trained or not. It
                is not changed; trained weights are kept.
            task: `"classification"`, `"regression"` or `"binary"`; with
                several outputs a list or dict with one of them per output.
                Picks the prior. Defaults to `None`.
            prior: A `keras_zigzag.priors.Prior` or its name, instead of the
                one that `task` picks; with several outputs a list or dict.
                The model gets a copy of it. Defaults to `None`.
            layer: String. Name of the layer where the prior enters, see
                `keras_zigzag.widen_model`. The later, the cheaper is
                `predict`. Defaults to `None`: at the first.
            prior_at: String or list of strings, in the place of `layer`:
                names of layers, or `"first"`, `"heads"` (the first layers of
                the heads, so that what is before them is computed once) or
                `"both"`. Defaults to `"first"`.
            num_heads: Integer. How many times the layers from `heads_from` on
                exist, with weights of their own. Defaults to `1`.
            heads_from: Name of a layer, or list of names. Defaults to `None`:
                the last two layers that mix features on the way to an output,
                the last one where there are but two.
            head_start: String. What the heads start with: `"fresh"`, new
                weights; `"fresh_last"`, those of the base model but for the
                last layer; or `"perturbed"`, those of the base model and a
                tenth of their standard deviation in noise. The first head has
                the weights of the base model in any case. Defaults to
                `"fresh"`.
            **kwargs: Arguments of the constructor: `passes`, `distance`,
                `uncertainty`, `num_passes`, `aggregate`, `seed`, `name`.

        Returns:
            A `ZigZagModel`, not compiled.

        Raises:
            ValueError: If the model cannot be widened, neither `task` nor
                `prior` is given, they do not fit the model's outputs, a
                layer or an option is unknown, an output would have no heads
                or not depend on the prior, `layer` and `prior_at` are both
                given, or `heads_from` or `head_start` with one head, where
                they make no difference.

        Example:

        >>> base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        >>> model = keras_zigzag.ZigZagModel.from_model(
        ...     base, task="regression", distance="l1"
        ... )
        >>> model.adapt(y_train)

        Five heads, of which the last layers differ:

        >>> model = keras_zigzag.ZigZagModel.from_model(
        ...     base, task="regression", num_heads=5, prior_at="both"
        ... )
        >>> model.network.output_shape
        (None, 5, 1)
        """
        check_base(base)
        prior = resolve_anew(functional_view(base), task=task, prior=prior)
        network = widen_with_heads(
            base,
            prior,
            layer=layer,
            prior_at=prior_at,
            num_heads=num_heads,
            heads_from=heads_from,
            head_start=head_start,
            seed=kwargs.get("seed"),
        )
        kwargs.setdefault("num_heads", num_heads)
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"zigzag_{base.name}")
        return cls(network, prior, **kwargs)

    def adapt(self, targets: Any, sample_weight: Any = None) -> None:
        """Learns the scale of the targets, for priors that need it.

        Args:
            targets: Array of all training targets, in the structure of the
                outputs, or a data set of `(inputs, targets)` or `(inputs,
                targets, sample_weight)`.
            sample_weight: Array of one number per sample or place, or a mask
                of places. Where it is zero is no target. Defaults to `None`.

        Raises:
            ValueError: If the prior learns nothing from targets.
        """
        if not hasattr(self.prior, "adapt"):
            raise ValueError(
                "Only a prior of values has something to learn from targets. "
                f"Received: `adapt` on a `{type(self.prior).__name__}`. Leave "
                "the call out."
            )
        if sample_weight is None:
            self.prior.adapt(targets)
        else:
            self.prior.adapt(targets, sample_weight)

    @property
    def losses(self) -> list[Any]:
        """What layers add to the loss, those of the heads as their mean."""
        losses = super().losses
        # On JAX a step sets what it has found here, divided already.
        return losses if self._losses_override else self._head_losses(losses)

    def call_prediction(self, inputs: Any, training: bool | None = None) -> Any:
        features = self._split.trunk(inputs, training)
        outputs = self._split.head(features, self._blank(inputs), training)
        return self._heads.mean_with_masks(outputs)

    def training_batch(
        self, x: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        told = self.prior.without_ignored(y, self.loss)
        answer = self.prior.encode_targets(told)
        size = ops.shape(answer)[0]
        again = num_samples_again(self.passes, size)
        y, sample_weight = with_first_rows_again((y, sample_weight), again)
        answer = with_first_rows_again(answer, again)
        blank = ops.broadcast_to(
            self.prior.encode_blank(ops.shape(answer)[0]), ops.shape(answer)
        )
        if self.passes == "both":
            is_blank, rows = first_half(size)
        else:
            is_blank, rows = random_half(
                ops.shape(answer)[0], self._seed_generator
            )
        axes = tuple(range(1, len(answer.shape)))
        prior = ops.where(ops.expand_dims(is_blank, axes), blank, answer)
        return TrainingInputs(x, prior, rows), y, sample_weight

    def call_training(
        self, inputs: TrainingInputs, training: bool | None = None
    ) -> Any:
        features = self._split.trunk(inputs.inputs, training)
        # One concatenated batch: two forward passes would give a batch
        # normalisation two sets of statistics.
        features = self._split.again(features, self._num_again_in(inputs))
        outputs = self._split.head(features, inputs.prior, training)
        if self.num_heads == 1:
            return outputs
        return HeadOutputs(self._heads.each(outputs))

    def mean_of_heads(self, heads: tuple[Any, ...]) -> Any:
        """The prediction, from the outputs of each head."""
        return self._heads.mean_of_each(heads)

    def loss_inputs(self, inputs: TrainingInputs) -> Any:
        return with_first_rows_again(inputs.inputs, self._num_again_in(inputs))

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        features = self._split.trunk(inputs, training=False)
        return self._heads.estimate(
            lambda prior: self._split.head(features, prior, training=False),
            self._blank(inputs),
            self.num_passes,
            self._distance,
        )

    def find_masks(self) -> PlaceMasks:
        if not takes_two_inputs(self.network):
            return masks_of(None)
        return masks_of(self.network, index=0)

    def check_targets(self, targets: Any) -> None:
        if targets is None:
            raise ValueError(
                "Training needs targets, since the answer is an input too. "
                "Received: y=None. Pass `fit(x, y)`, or a data set of "
                "`(inputs, targets)`."
            )
        loss = self.loss if self.compiled else None
        self.prior.check_targets(targets, loss)

    def check_loss(self, loss: Any) -> None:
        self.prior.check_loss(loss)

    def input_signature(self) -> list[Any]:
        if not takes_two_inputs(self.network):
            raise ValueError(
                "The inputs of a subclassed network are not known. Received: "
                f"{self.network!r}. Give `export` an `input_signature`, as "
                "`[keras.InputSpec(shape=(None, 4), dtype='float32')]`."
            )
        inputs, _ = self.network.input
        return input_specs(inputs)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        serialize = keras.saving.serialize_keras_object
        config.update(
            {
                "network": serialized(self.network),
                "prior": serialize(self.prior),
                "passes": self.passes,
                "distance": distances.serialize(self.distance),
                "num_passes": self.num_passes,
                "seed": self.seed,
                "aggregate": self.aggregate,
                "num_heads": self.num_heads,
                "uncertainty": self.uncertainty,
            }
        )
        return config

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None
    ) -> "ZigZagModel":
        return cls(**deserialized(config, custom_objects))

    def _blank(self, inputs: Any) -> Tensor:
        return self.prior.encode_blank(ops.shape(first_leaf(inputs))[0])

    def _num_again_in(self, inputs: TrainingInputs) -> int | Tensor:
        size = ops.shape(first_leaf(inputs.inputs))[0]
        return num_samples_again(self.passes, size)

    def _distance(self, first: Any, second: Any) -> Any:
        compared = self.prior.answer
        if self.distance in distances.DIVERGENCES:
            compared = self.prior.probabilities

        def distance(first: Tensor, second: Tensor) -> Tensor:
            # An infinite answer is a very small maximum, for example.
            score = self.distance(first, second)
            distances.check_shape(self.distance, score, first)
            return unknown_unless_finite(score, first, second)

        return keras.tree.map_structure(
            distance, compared(first), compared(second)
        )

    def _check_distance(self) -> None:
        if self.distance in distances.DIVERGENCES:
            self.prior.check_probabilities()


def _arguments_of_the_prior() -> dict[str, str]:
    """What to do with them where they were given to the model."""
    return {
        name: f" `{name}` is an argument of the prior: pass "
        f"`prior=keras_zigzag.priors.OneHotPrior({name}=...)` or another one."
        for name in signature(OneHotPrior).parameters
    }


def first_leaf(inputs: Any) -> Tensor:
    leaves = keras.tree.flatten(inputs)
    return next(leaf for leaf in leaves if leaf is not None)
