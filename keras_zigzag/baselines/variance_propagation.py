from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_zigzag import scores
from keras_zigzag.baselines.answers import Answers, chosen_scores
from keras_zigzag.baselines.bases import check_graph
from keras_zigzag.baselines.kernel_layers import (
    kernel_layers,
    last_kernel_layers,
)
from keras_zigzag.baselines.moment_noise import DropoutBefore, noise_names
from keras_zigzag.baselines.moments import Moments, quadrature, softmax
from keras_zigzag.baselines.network_model import NetworkModel
from keras_zigzag.baselines.propagation import (
    Noisy,
    Propagation,
    num_to_reach_all,
)
from keras_zigzag.graphs import functional_view
from keras_zigzag.number_checks import checked_count, checked_rate

Tensor = Any
# Of probabilities of shape `(batch_size, ..., num_labels, num_outcomes)`.
OF_MOMENTS: dict[str, Callable[[Moments], Tensor]] = {
    "predictive_entropy": lambda p: scores.entropy(p.mean),
    "max_probability": lambda p: scores.max_probability(p.mean),
    "variance": lambda p: ops.sum(p.spread, axis=(-2, -1)),
}
SCORES = {
    "classification": tuple(OF_MOMENTS),
    "binary": tuple(OF_MOMENTS),
    "regression": tuple(scores.OF_VARIANCES),
}


@keras.saving.register_keras_serializable(package="keras_zigzag")
class VariancePropagation(NetworkModel):
    """What dropout would do to the answer, in one pass without sampling.

    Noise is injected by layers of dropout or Gaussian noise. In training they
    do what they always do. At inference the mean and the variance that their
    noise causes go through the rest of the network in closed form, layer by
    layer, so that the answer is as of very many passes of `MCDropout`, but
    deterministic. The prediction is that of the network without noise.

    The approximations: every number in the network is taken for a Gaussian
    that is independent of all others, so correlations are ignored, such as
    between the outputs of one layer, between places of one channel that
    `SpatialDropout2D` drops together, or between a shortcut and what is added
    to it. Variances may thus be far too small or too large by a factor; the
    order of the samples is what they are for. Where the authors linearise an
    activation, its moments under a Gaussian are taken here: in closed form
    for those made of straight lines, such as ReLU, else by quadrature. A
    maximum is Clark's, of pairs. Probabilities are the sigmoids of the gaps
    between a logit and the others.

    Make one with `VariancePropagation.from_model`.

    Reference: [Postels et al., 2019](https://arxiv.org/abs/1908.00598).

    Args:
        network: Functional model with layers of noise.
        task: `"classification"`, `"regression"` or `"binary"`; with several
            outputs a list or dict with one of them per output.
        noise: List of strings, names of the layers whose noise counts at
            inference. Defaults to `None`: all `Dropout`, `SpatialDropout1D`
            to `3D`, `GaussianDropout` and `GaussianNoise` layers.
        score: String, or a list or dict with one per output.
            `"predictive_entropy"` (of the mean probabilities under the
            noise), `"max_probability"` (one minus it) or `"variance"` (of the
            probabilities, their sum); `"standard_deviation"` or `"variance"`
            for a regression. Defaults to `None`: the first for its task.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a name is unknown, no noise reaches an output, or it
            meets a layer for which there is no rule.

    Example:

    >>> propagation = keras_zigzag.baselines.VariancePropagation.from_model(
    ...     base, task="classification", layers=2, rate=0.1
    ... )
    >>> propagation.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        noise: list[str] | None = None,
        score: Any = None,
        **kwargs: Any,
    ):
        super().__init__(network, task, score, **kwargs)
        self.noise = None if noise is None else list(noise)
        _check_names(self.noise, network)
        self.use_answers(Answers(functional_view(network), task))
        self._scores = chosen_scores(score, self.answers, SCORES)
        self._propagation = Propagation(network, self.noise)
        _check_reached(self._propagation.reached(), self.answers)

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any,
        layers: int | None = None,
        rate: float = 0.2,
        noise: list[str] | None = None,
        score: Any = None,
        **kwargs: Any,
    ) -> "VariancePropagation":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not.
                Trained weights are kept.
            task: See the class.
            layers: Integer. In front of how many of the last layers with a
                kernel dropout is put. Defaults to `None`: of none if the
                model has noise of its own that counts, else of as few as it
                takes to reach all outputs, which mostly is one.
            rate: Float in `(0, 1)`. Rate of the dropout that is put in.
                Defaults to `0.2`.
            noise: List of strings, names of the model's own layers of noise
                that count at inference; `[]` for none. Defaults to `None`:
                all of them.
            score: See the class. Defaults to `None`.
            **kwargs: Arguments of the constructor.

        Returns:
            A `VariancePropagation`, not compiled.

        Raises:
            ValueError: If the model cannot be copied or has too few layers, a
                number is out of its range, or as of the constructor.

        Example:

        >>> base = keras.Sequential([
        ...     keras.Input((4,)), keras.layers.Dense(8, activation="relu"),
        ...     keras.layers.Dropout(0.1), keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.VariancePropagation.from_model(
        ...     base, task="regression")
        >>> model.compile("adam", "mse")
        """
        check_graph(base)
        if layers is not None:
            layers = checked_count("layers", layers)
        rate = checked_rate(
            rate, "at 0 there is no variance, at 1 nothing is left"
        )
        _check_names(noise, base)
        if layers is None and not (
            noise_names(base) if noise is None else noise
        ):
            layers = _enough_layers(base)
        rewriting = DropoutBefore(last_kernel_layers(base, layers or 0), rate)
        network = rewriting.rewritten(base)
        if noise is not None:
            noise = [*noise, *rewriting.names]
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"variance_propagation_{base.name}")
        return cls(network, task, noise, score, **kwargs)

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        outputs = self._propagation(inputs)
        prediction = keras.tree.map_structure(lambda one: one.value, outputs)
        uncertainty = [
            self._score(index, output)
            for index, output in enumerate(self.answers.flat(outputs))
        ]
        return prediction, self.answers.pack(uncertainty)

    def _score(self, index: int, output: Noisy) -> Tensor:
        name = self._scores[index]
        moments = output.moments
        if name in scores.OF_VARIANCES and (
            self.answers.tasks[index] == "regression"
        ):
            values = self.answers.values(index, moments.spread)
            return scores.OF_VARIANCES[name](values)
        return OF_MOMENTS[name](self._probabilities(index, moments))

    def _probabilities(self, index: int, x: Moments) -> Moments:
        """Moments, `(batch_size, ..., num_labels, num_outcomes)`."""
        is_binary = self.answers.tasks[index] == "binary"
        if self.answers.from_logits(index):
            x = quadrature(ops.sigmoid, x) if is_binary else softmax(x)
        if not is_binary:
            return Moments(
                ops.expand_dims(x.mean, -2), ops.expand_dims(x.spread, -2)
            )
        prior = self.answers.priors[index]
        mean, variance = map(prior._with_channel_axis, (x.mean, x.spread))
        return Moments(
            ops.stack([mean, 1.0 - mean], axis=-1),
            ops.stack([variance, variance], axis=-1),
        )


def _enough_layers(base: keras.Model) -> int:
    """How many of the last layers with a kernel reach all outputs."""
    count = num_to_reach_all(base, kernel_layers(base))
    if count is not None:
        return count
    raise ValueError(
        "There is no layer with a kernel that dropout could be put in front "
        "of on the way to each output, and no layer of noise. "
        f"Received: the model {base.name!r}."
    )


def _check_names(noise: Any, model: keras.Model) -> None:
    known = noise_names(functional_view(model))
    unknown = sorted(set(noise or []) - set(known))
    if unknown or isinstance(noise, str):
        raise ValueError(
            "`noise` must be a list with names of layers of noise, of which "
            f"the model has {known}. Received: noise={noise!r}"
        )


def _check_reached(reached: list[bool], answers: Answers) -> None:
    missing = [
        name
        for name, is_reached in zip(answers.output_names, reached, strict=True)
        if not is_reached
    ]
    if missing:
        raise ValueError(
            "No noise reaches these outputs, so that nothing could be said "
            f"about them. Received: a network with the outputs {missing}. "
            "Give a larger number of `layers` to `from_model`, or `noise` "
            "that comes before them."
        )
