from collections.abc import Callable
from typing import Any

import keras

from keras_zigzag.baselines.adversarial import (
    FastGradientSign,
    checked_epsilon,
    sizes_of,
)
from keras_zigzag.baselines.answers import Answers
from keras_zigzag.baselines.bases import (
    check_graph,
    copy_base,
    fresh_base,
)
from keras_zigzag.baselines.heads import prediction_part, with_log_variances
from keras_zigzag.baselines.members_model import MembersModel
from keras_zigzag.baselines.mixtures import Mixture
from keras_zigzag.graphs import functional_view
from keras_zigzag.model_config import (
    check_options,
    deserialized,
    input_specs,
    own_config,
)
from keras_zigzag.number_checks import NUM_SEEDS, checked_count, checked_seed
from keras_zigzag.place_masks import PlaceMasks, masks_of
from keras_zigzag.seeding import seeded


@keras.saving.register_keras_serializable(package="keras_zigzag")
class DeepEnsemble(MembersModel):
    """Several networks that were initialised and shuffled independently.

    The prediction is the mean of the members' (of their probabilities, where
    they give logits). The members are trained together in one `fit`: each
    minimises its own loss, and given arrays, each sees them in an order of
    its own; from a data set all take the same batches. The loss that `fit`
    prints is the mean over the members.

    Regression members predict a variance beside each value and are trained
    with the Gaussian likelihood, unless `variance=False`; their Gaussians are
    combined as a mixture. Predicted variances rank errors well, but are small
    where the members have seen nothing: to find that, take the spread of the
    means alone, `score="epistemic_variance"`.

    Make one with `DeepEnsemble.from_model`, or of networks that are trained
    already with `DeepEnsemble.from_models`.

    Reference: [Lakshminarayanan et al., 2017](https://arxiv.org/abs/1612.01474).

    Args:
        members: List of Functional models of the same inputs and outputs.
        task: `"classification"`, `"regression"` or `"binary"`; with several
            outputs a list or dict with one of them per output.
        score: String, or a list or dict with one per output.
            `"predictive_entropy"`, `"mutual_information"`,
            `"max_probability"` (one minus it) or `"variance"`;
            `"standard_deviation"`, `"variance"` or `"epistemic_variance"`
            (of the means) for a regression. Defaults to `None`: the first
            for its task.
        variance: Boolean. Whether members of a regression have the outputs
            `[prediction, [log-variances]]`. Defaults to `False`.
        seed: Integer. Seed of the orders of the samples, one for each epoch
            over all calls of `fit`; in another process they go on from
            `initial_epoch`. Defaults to `None`.
        adversarial: Float in `[0, 1)`. Size of the step to adversarial
            samples, as a part of the range of each feature in what `fit` is
            given; the members then learn on them as much as on the samples.
            The authors take 0.01. Defaults to `0.0`, for none.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If the members differ in their outputs, or a name is
            unknown or does not fit.

    Example:

    >>> ensemble = keras_zigzag.baselines.DeepEnsemble.from_model(
    ...     base, task="classification", num_members=3
    ... )
    >>> ensemble.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        members: list[keras.Model],
        task: Any,
        score: Any = None,
        variance: bool = False,
        seed: int | None = None,
        adversarial: float = 0.0,
        **kwargs: Any,
    ):
        check_options(kwargs, DeepEnsemble)
        adversarial = checked_epsilon(adversarial)
        _check_members(members)
        kwargs.setdefault("dtype", members[0].dtype_policy)
        super().__init__(**kwargs)
        # PyTorch, when it exports, knows modules that are attributes only.
        for index, member in enumerate(members):
            setattr(self, f"member_{index}", member)
        self.members = list(members)
        self.task = task
        self.score = score
        self.variance = variance
        self.seed = checked_seed(seed)
        self.adversarial = adversarial
        first, *others = (_answers(one, task, variance) for one in members)
        _check_meaning(first, others)
        self.use_answers(first)
        self._mixture = Mixture(self.answers, score, len(members))
        self.attack = None
        if adversarial:
            self.attack = FastGradientSign(
                adversarial, sizes_of(members[0].input), name="attack"
            )
        self.built = True

    @classmethod
    def from_model(
        cls,
        base: keras.Model | Callable[[], keras.Model],
        task: Any,
        num_members: int = 5,
        score: Any = None,
        variance: bool = True,
        seed: int | None = None,
        **kwargs: Any,
    ) -> "DeepEnsemble":
        """Makes an ensemble of members with new random weights.

        Args:
            base: Sequential or Functional model, built; it is not changed.
                Each member is a copy with new weights, but for layers that
                have nothing to train, such as a frozen backbone (all are new
                where all is frozen). Or a function without arguments that
                makes a model.
            task: See the class.
            num_members: Integer. Defaults to `5`.
            score: See the class. Defaults to `None`.
            variance: Boolean. Whether regression members predict a variance
                too. Defaults to `True`.
            seed: Integer. Member `i` has the weights that it has after
                `keras.utils.set_random_seed(seed + i)`. Defaults to `None`.
            **kwargs: Arguments of the constructor.

        Returns:
            A `DeepEnsemble`, not compiled.

        Raises:
            ValueError: If there is no member, or the model cannot be copied.

        Example:

        >>> build = lambda: keras.Sequential(
        ...     [keras.Input((4,)), keras.layers.Dense(1)])
        >>> ensemble = keras_zigzag.baselines.DeepEnsemble.from_model(
        ...     build, task="regression", num_members=2, seed=0)
        >>> ensemble.compile("adam")
        """
        num_members = checked_count("num_members", num_members)
        seed = checked_seed(seed)
        is_builder = callable(base) and not isinstance(base, keras.Model)
        if not is_builder:
            check_graph(base)
        members = []
        for index in range(num_members):
            state = seeded(_seed_of_member(seed, index))
            with state, _named(index):
                member = base() if is_builder else fresh_base(base)
                check_graph(member)
                members.append(_with_variances(member, task, variance))
        kwargs.setdefault("name", f"ensemble_{members[0].name}")
        has_variance = variance and "regression" in keras.tree.flatten(task)
        return cls(members, task, score, has_variance, seed, **kwargs)

    @classmethod
    def from_models(
        cls, models: list[keras.Model], task: Any, **kwargs: Any
    ) -> "DeepEnsemble":
        """Makes an ensemble of copies of models that are trained already.

        Args:
            models: List of Sequential or Functional models. They are not
                changed.
            task: See the class.
            **kwargs: Arguments of the constructor.

        Returns:
            A `DeepEnsemble`, ready to predict.

        Raises:
            ValueError: If the models differ in their outputs.

        Example:

        >>> ensemble = keras_zigzag.baselines.DeepEnsemble.from_models(
        ...     [base, keras.models.clone_model(base)], task="classification")
        """
        members = []
        _check_list(models)
        for index, model in enumerate(models):
            with _named(index):
                members.append(copy_base(model))
        kwargs.setdefault("name", f"ensemble_{members[0].name}")
        return cls(members, task, **kwargs)

    def find_masks(self) -> PlaceMasks:
        return masks_of(self.members[0])

    def input_signature(self) -> list[Any]:
        return input_specs(functional_view(self.members[0]).input)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | own_config(self)

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None
    ) -> "DeepEnsemble":
        members = []
        for index, member in enumerate(config["members"]):
            with _named(index):
                members.append(deserialized(member, custom_objects))
        config = config | {"members": members}
        return cls(**deserialized(config, custom_objects))


def _named(index: int) -> Any:
    """Gives the weights of a member paths of their own.

    On PyTorch, Keras would clear the gradients of one weight for each path.
    """
    return keras.name_scope(f"member_{index}")


def _seed_of_member(seed: int | None, index: int) -> int | None:
    return None if seed is None else (seed + index) % NUM_SEEDS


def _with_variances(member: Any, task: Any, variance: bool) -> keras.Model:
    member = functional_view(member)
    if not variance or "regression" not in keras.tree.flatten(task):
        return member
    tasks = Answers(member, task).tasks
    return with_log_variances(member, [one == "regression" for one in tasks])


def _check_list(members: Any) -> None:
    if not isinstance(members, (list, tuple)) or not members:
        raise ValueError(
            "An ensemble has one member at least, in a list. "
            f"Received: members={members!r}"
        )


def _check_members(members: Any) -> None:
    _check_list(members)
    for member in members:
        check_graph(member)
    paths = [w.path for one in members for w in one.trainable_weights]
    if len(set(paths)) < len(paths):
        raise ValueError(
            "The weights of the members must have different paths. Received: "
            f"{sorted({one for one in paths if paths.count(one) > 1})} more "
            "than once. Use `DeepEnsemble.from_models`, which makes copies."
        )
    for what in ("input", "output"):
        shapes = [_shapes(getattr(functional_view(m), what)) for m in members]
        if any(shape != shapes[0] for shape in shapes):
            raise ValueError(
                f"The members of an ensemble must have the same {what}s. "
                f"Received: members with {what}s of the shapes {shapes}."
            )


def _shapes(tensors: Any) -> Any:
    return keras.tree.map_structure(lambda one: tuple(one.shape), tensors)


def _answers(member: keras.Model, task: Any, variance: bool) -> Answers:
    view = functional_view(member)
    if variance:
        view = prediction_part(view, "DeepEnsemble")
    return Answers(view, task, variance=variance)


def _check_meaning(first: Answers, others: list[Answers]) -> None:
    """Raises a `ValueError` if some give logits where others do not."""
    for index, name in enumerate(first.output_names):
        is_logits = first.from_logits(index)
        if any(one.from_logits(index) != is_logits for one in others):
            raise ValueError(
                "The members of an ensemble must all end in probabilities, "
                "or all in logits. Received: a member whose output "
                f"{name!r} is one, and another where it is the other. "
                "End all of them in a softmax (or sigmoid) layer."
            )
