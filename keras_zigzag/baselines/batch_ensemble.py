from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.bases import check_graph
from keras_zigzag.baselines.fast_weights import with_fast_weights
from keras_zigzag.baselines.member_batches import MemberOutputs
from keras_zigzag.baselines.sampled_model import SampledModel
from keras_zigzag.number_checks import (
    checked_count,
    checked_number,
    seed_or_random,
)

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class BatchEnsemble(SampledModel):
    """Members that share their kernels and differ by rank-1 factors.

    Nearly an ensemble at the size of one network: member `i` sees a kernel
    `W` as `W ∘ rᵢ sᵢᵀ`, with a vector `r` on the inputs, a vector `s` on the
    outputs and a bias of its own. All members go through `W` together, on a
    batch that is tiled in front of the first such layer; what comes before
    it is computed once for all. Normalisation and all other weights are
    shared.

    In training each member sees each sample, its loss is that of its own
    answer, and the loss is the mean over the members. Metrics see the
    prediction, the mean of the members' answers (of their probabilities,
    where they give logits), in `fit`, `evaluate` and `predict`.

    Make one with `BatchEnsemble.from_model`.

    Reference: [Wen et al., 2020](https://arxiv.org/abs/2002.06715).

    Args:
        network: Functional model with the layers that `from_model` puts in.
        task: `"classification"`, `"regression"` or `"binary"`; with several
            outputs a list or dict with one of them per output.
        num_members: Integer. Number of members. Defaults to `4`.
        score: String, or a list or dict with one per output.
            `"predictive_entropy"`, `"mutual_information"`,
            `"max_probability"` (one minus it) or `"variance"`;
            `"standard_deviation"` or `"variance"` for a regression. Defaults
            to `None`: the first for its task.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a name is unknown or a number out of its range.

    Example:

    >>> ensemble = keras_zigzag.baselines.BatchEnsemble.from_model(
    ...     base, task="classification", num_members=3
    ... )
    >>> ensemble.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        num_members: int = 4,
        score: Any = None,
        **kwargs: Any,
    ):
        num_members = checked_count("num_members", num_members)
        super().__init__(network, task, score, num_members, **kwargs)
        self.num_members = num_members

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any,
        num_members: int = 4,
        layers: int | None = None,
        deviation: float | None = None,
        score: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> "BatchEnsemble":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not. Its
                kernels are kept; each member starts with its biases.
            task: See the class.
            num_members: Integer. Number of members. Defaults to `4`.
            layers: Integer. How many of the last `Dense` and convolution
                layers differ between the members. Fewer cost less: what comes
                before them is computed once. Others, such as recurrent and
                attention layers, and frozen ones, are shared. Defaults to
                `None`: all.
            deviation: Float. Standard deviation of the normal numbers around
                1 with which `r` and `s` start; a small one, such as `0.1`,
                leaves a trained base model near to what it has learnt.
                Defaults to `None`: random signs, as in the paper, after which
                the members have to be trained.
            score: See the class. Defaults to `None`.
            seed: Integer. Seed of `r` and `s`. Defaults to `None`: a random
                one.
            **kwargs: Arguments of the constructor.

        Returns:
            A `BatchEnsemble`, not compiled.

        Raises:
            ValueError: If the model cannot be copied or has too few layers,
                or a number is out of its range.

        Example:

        >>> base = keras.Sequential([
        ...     keras.Input((4,)), keras.layers.Dense(8, activation="relu"),
        ...     keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.BatchEnsemble.from_model(
        ...     base, task="regression", num_members=2, seed=0)
        >>> model.compile("adam", "mse")
        """
        check_graph(base)
        num_members = checked_count("num_members", num_members)
        if layers is not None:
            layers = checked_count("layers", layers)
        if deviation is not None:
            deviation = checked_number(
                "deviation",
                deviation,
                lambda one: one > 0,
                "be positive, else all members are equal, or `None` for "
                "random signs",
            )
        seed = seed_or_random(seed)
        network = with_fast_weights(base, num_members, layers, seed, deviation)
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"batch_ensemble_{base.name}")
        return cls(network, task, num_members, score, **kwargs)

    def call_prediction(self, inputs: Any, training: bool | None = None) -> Any:
        return self.mixture_with_masks(inputs, bool(training))

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        if not training:
            return self.call_prediction(inputs, training)
        outputs = self.network(inputs, training=True)
        samples = self._apart(outputs)
        first = self._first_sample(outputs, samples)
        members = (
            self.take_masks(_member(samples, index), first)
            for index in range(self.num_members)
        )
        return MemberOutputs(tuple(members))

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        if not isinstance(y_pred, MemberOutputs):
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        losses = [
            super(BatchEnsemble, self).compute_loss(
                x, y, outputs, sample_weight, training
            )
            for outputs in y_pred.members
        ]
        return ops.mean(ops.stack(losses))

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        if isinstance(y_pred, MemberOutputs):
            first, *_ = y_pred.members
            samples = self._mixture.stacked(list(y_pred.members))
            y_pred = self.take_masks(self._mixture.outputs(samples), first)
        return super().compute_metrics(x, y, y_pred, sample_weight)


def _member(samples: Any, index: int) -> Any:
    return keras.tree.map_structure(lambda leaf: leaf[index], samples)
