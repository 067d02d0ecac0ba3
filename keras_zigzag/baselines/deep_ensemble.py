import random
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.adversarial import (
    FastGradientSign,
    attacked,
    checked_epsilon,
    sizes_of,
    with_metrics_of_first_half,
)
from keras_zigzag.baselines.answering_model import AnsweringModel
from keras_zigzag.baselines.answers import Answers, prediction_of
from keras_zigzag.baselines.bases import (
    check_graph,
    copy_base,
)
from keras_zigzag.baselines.heads import with_log_variances
from keras_zigzag.baselines.independence import check_independent
from keras_zigzag.baselines.member_batches import (
    MemberBatches,
    MemberInputs,
    MemberOutputs,
    OneMemberBatches,
    in_orders,
)
from keras_zigzag.baselines.mixtures import Mixture
from keras_zigzag.baselines.one_by_one import (
    Member,
    MemberFolder,
    train_one_by_one,
)
from keras_zigzag.baselines.passes import batches, check_readable_again
from keras_zigzag.batches import LossInputs, TrainingInputs
from keras_zigzag.graphs import functional_view
from keras_zigzag.model_config import (
    check_options,
    deserialized,
    input_specs,
    own_config,
)
from keras_zigzag.number_checks import NUM_SEEDS, checked_count, checked_seed
from keras_zigzag.place_masks import PlaceMasks, masks_of
from keras_zigzag.seeding import fresh_model, seeded

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class DeepEnsemble(AnsweringModel):
    """Several networks that were initialised and shuffled independently.

    The prediction is the mean of the members' (of their probabilities, where
    they give logits). The members are trained together in one `fit`: each
    minimises its own loss, and given arrays, each sees them in an order of
    its own; from a data set all take the same batches. The loss that `fit`
    prints is the mean over the members.

    Regression members predict a variance beside each value and are trained
    with the Gaussian likelihood, unless `variance=False`; their Gaussians are
    combined as a mixture.

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
        seed: Integer. Seed of the orders of the samples. Defaults to `None`.
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
        first = functional_view(members[0])
        if variance:
            first = keras.Model(first.input, first.output[0])
        self.use_answers(Answers(first, task, variance=variance))
        self._mixture = Mixture(self.answers, score, len(members))
        self.attack = None
        if adversarial:
            self.attack = FastGradientSign(
                adversarial, sizes_of(first.input), name="attack"
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
                have nothing to train, such as a frozen backbone. Or a
                function without arguments that makes a model.
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
                member = base() if is_builder else fresh_model(base)
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
        for index, model in enumerate(models):
            with _named(index):
                members.append(copy_base(model))
        if members:
            kwargs.setdefault("name", f"ensemble_{members[0].name}")
        return cls(members, task, **kwargs)

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        if isinstance(inputs, MemberInputs):
            outputs = map(
                lambda member, x: self._outputs(member, x, training),
                self.members,
                inputs.members,
            )
            return MemberOutputs(tuple(outputs))
        answers = [self._outputs(one, inputs, training) for one in self.members]
        outputs = self._mixture.outputs(self._mixture.stacked(answers))
        return self.take_masks(outputs, answers[0])

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        # Keras builds metrics on a batch of the data as it comes.
        if isinstance(inputs, MemberInputs):
            return self.call_loss(inputs, training)
        return super().call(inputs, training)

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        samples = self.samples(inputs)
        prediction = prediction_of(self._mixture.outputs(samples))
        return prediction, self._mixture.uncertainty(samples)

    def samples(self, inputs: Any) -> Any:
        """All answers, in tensors of shape `(num_members, batch_size, ...)`.

        In a regression with variances `(means, log-variances)`.
        """
        return self._mixture.stacked(
            [self._outputs(each, inputs, False) for each in self.members]
        )

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

        >>> ensemble = keras_zigzag.baselines.DeepEnsemble.from_model(
        ...     base, task="classification", num_members=3)
        >>> samples = ensemble.samples(x_test)
        >>> sorted(ensemble.combine(samples[:2]))
        ['prediction', 'uncertainty']
        """
        return self.answer(*self._mixture.combined(samples), inputs)

    def training_batch(
        self, x: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        if not isinstance(x, MemberInputs):
            size = len(self.members)
            x, y = MemberInputs((x,) * size), (y,) * size
            if sample_weight is not None:
                sample_weight = (sample_weight,) * size
        if self.attack is None:
            return LossInputs(x), y, sample_weight
        weights = sample_weight or (None,) * len(self.members)
        pairs = [
            attacked(self, member, self.attack, *batch)
            for member, batch in zip(
                self.members,
                zip(x.members, y, weights, strict=True),
                strict=True,
            )
        ]
        members, y, weights = map(tuple, zip(*pairs, strict=True))
        if sample_weight is None:
            weights = None
        return with_metrics_of_first_half(MemberInputs(members), y, weights)

    def call_training(
        self, inputs: TrainingInputs, training: bool | None = None
    ) -> Any:
        return self.call_loss(inputs.inputs, training)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        size = len(self.members)
        if not isinstance(y_pred, MemberOutputs):
            loss = super().compute_loss(x, y, y_pred, sample_weight, training)
            # The mean over the members, as in training.
            return loss - sum(self.losses) * (1.0 - 1.0 / size)
        weights = sample_weight or (None,) * size
        outputs = y_pred.members
        # The terms of regularisers and of `add_loss` of all members come with
        # the first.
        total = super().compute_loss(
            x.members[0], y[0], outputs[0], weights[0], training
        )
        for index in range(1, size):
            total += self._compile_loss(
                y[index],
                self.answers.for_loss(outputs[index]),
                weights[index],
            )
        # The gradient of the sum, so that each member learns as it would
        # alone, with the value of the mean to be shown.
        constant = ops.stop_gradient(total)
        return (total - constant) + constant / size

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        if not isinstance(y_pred, MemberOutputs):
            return super().compute_metrics(x, y, y_pred, sample_weight)
        weights = sample_weight or (None,) * len(self.members)
        for index, outputs in enumerate(y_pred.members):
            results = super().compute_metrics(
                x.members[index], y[index], outputs, weights[index]
            )
        return results

    def fit_one_by_one(
        self,
        x: Any = None,
        y: Any = None,
        backup_dir: Any = None,
        **options: Any,
    ) -> list[Any]:
        """Trains the members one after the other, which needs less memory.

        Each is trained as by `fit`, with an optimizer of its own, and ends
        with the same weights. With `backup_dir` a run that stopped goes on
        where it was: finished members are not trained again, and the current
        one goes on after its last epoch.

        Args:
            x: As for `fit`; not a generator, which could be read only once.
            y: As for `fit`.
            backup_dir: String or path of a folder for the weights of the
                members, made if it does not exist. Defaults to `None`:
                nothing is kept.
            **options: Further arguments of `fit`.

        Returns:
            List with a `keras.callbacks.History` for each member, `None` for
            those that were finished before.

        Raises:
            ValueError: If the folder holds the members of another ensemble,
                or the data can be read only once.

        Example:

        >>> ensemble = keras_zigzag.baselines.DeepEnsemble.from_model(
        ...     base, task="classification", num_members=2, seed=0)
        >>> ensemble.compile("adam", "sparse_categorical_crossentropy")
        >>> len(ensemble.fit_one_by_one(x_train, y_train, verbose=0))
        2
        """
        check_readable_again(x, "`fit`, which reads them once for all members")
        if not self.compiled:
            raise ValueError(
                "Call `compile` before `fit_one_by_one`. Received: an "
                "ensemble that is not compiled."
            )
        self._adapt_attack(x, options)
        seeds = self._seeds()
        callbacks = keras.tree.flatten(options.pop("callbacks", None) or [])

        def fit(index: int, model: Member, more: list[Any]) -> Any:
            its_options = options | {"callbacks": [*callbacks, *more]}
            data = in_orders(
                model,
                x,
                y,
                its_options,
                seeds[index : index + 1],
                OneMemberBatches,
            )
            each, targets, its_options = data
            return model.fit(each, targets, **its_options)

        folder = None
        if backup_dir is not None:
            shapes = [list(one.shape) for one in self.members[0].weights]
            which = {
                "num_members": len(self.members),
                "seed": self.seed,
                "task": self.task,
                "adversarial": self.adversarial,
                "shapes": shapes,
            }
            folder = MemberFolder(backup_dir, which)
        return train_one_by_one(map(self._alone, self.members), fit, folder)

    def training_data(
        self, x: Any, y: Any, options: dict[str, Any]
    ) -> tuple[Any, Any, dict[str, Any]]:
        self._adapt_attack(x, options)
        return in_orders(self, x, y, options, self._seeds(), MemberBatches)

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().compile(optimizer, loss, *args, **kwargs)
        self._compile_arguments = (loss, *args), kwargs
        check_independent(self.optimizer)

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

    def _outputs(self, member: Any, x: Any, training: bool | None) -> Any:
        return self.answers.outputs(member(x, training=training))

    def _adapt_attack(self, x: Any, options: dict[str, Any]) -> None:
        if self.attack is None:
            return
        check_readable_again(x, "`fit` without `adversarial`")
        data = batches(
            x,
            batch_size=options.get("batch_size"),
            steps=options.get("steps_per_epoch"),
        )
        self.attack.adapt(inputs for inputs, _, _ in data)

    def _alone(self, member: keras.Model) -> Member:
        model = Member(member, self.task, self.answers, self.attack)
        arguments = self._compile_arguments
        optimizer = type(self.optimizer).from_config(
            self.optimizer.get_config()
        )
        model.compile(optimizer, *arguments[0], **arguments[1])
        return model

    def _seeds(self) -> list[list[int]]:
        seed = self.seed
        if seed is None:
            # From the generator that `keras.utils.set_random_seed` sets.
            seed = random.randrange(2**32)
        return [[seed, index] for index in range(len(self.members))]


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


def _check_members(members: Any) -> None:
    if not isinstance(members, (list, tuple)) or not members:
        raise ValueError(
            "An ensemble has one member at least. "
            f"Received: members={members!r}"
        )
    for member in members:
        check_graph(member)
    paths = [w.path for one in members for w in one.trainable_weights]
    if len(set(paths)) < len(paths):
        raise ValueError(
            "The weights of the members must have different paths. Received: "
            f"{sorted({one for one in paths if paths.count(one) > 1})} more "
            "than once. Use `DeepEnsemble.from_models`, which makes copies."
        )
    shapes = [
        keras.tree.map_structure(
            lambda tensor: tuple(tensor.shape), functional_view(one).output
        )
        for one in members
    ]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(
            "The members of an ensemble must have the same outputs. "
            f"Received: members with outputs of the shapes {shapes}."
        )
