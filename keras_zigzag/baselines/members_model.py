import random
from typing import Any

import keras
from keras import ops

from keras_zigzag.baselines.adversarial import (
    FastGradientSign,
    attacked,
    with_metrics_of_first_half,
)
from keras_zigzag.baselines.independence import check_independent
from keras_zigzag.baselines.member_batches import (
    MemberBatches,
    MemberInputs,
    MemberOutputs,
    OneMemberBatches,
    OrderOverCalls,
    in_orders,
)
from keras_zigzag.baselines.mixture_model import MixtureModel
from keras_zigzag.baselines.one_by_one import (
    Member,
    MemberFolder,
    train_one_by_one,
)
from keras_zigzag.baselines.passes import batches, check_readable_again
from keras_zigzag.batches import LossInputs, TrainingInputs

Tensor = Any


class MembersModel(MixtureModel):
    """Networks that learn side by side, each as it would alone; abstract.

    A subclass sets the attributes.

    Args:
        **kwargs: Arguments of `keras.Model`.

    Attributes:
        members: List of Functional models.
        task: Name of the task, or a list or dict of them.
        score: Name of the score, or a list or dict of them, or `None`.
        seed: Integer, of the orders of the samples, or `None`.
        adversarial: Float, see `attack`.
        attack: `FastGradientSign`, or `None` for no adversarial samples.
        num_epochs: Integer. How many epochs there were, over all calls of
            `fit`, for each of which the samples have an order.
    """

    members: list[keras.Model]
    task: Any
    score: Any
    seed: int | None
    adversarial: float
    attack: FastGradientSign | None
    num_epochs: int = 0

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

    def samples(self, inputs: Any) -> Any:
        """All answers, in tensors of shape `(num_members, batch_size, ...)`.

        In a regression with variances `(means, log-variances)`.
        """
        return self._mixture.stacked(
            [self._outputs(each, inputs, False) for each in self.members]
        )

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
            # The mean over the members, as in training; Keras divides what
            # layers add by the number of replicas.
            added = sum(map(self._aggregate_additional_loss, self.losses))
            return loss - added * (1.0 - 1.0 / size)
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
        start = options.get("initial_epoch", 0)
        before, after = max(self.num_epochs, start), [self.num_epochs]

        def fit(index: int, model: Member, epoch: int, more: list[Any]) -> Any:
            first = max(epoch, start)
            its_options = options | {
                "callbacks": [*callbacks, *more],
                "initial_epoch": first,
            }
            model.num_epochs = before + first - start
            data = in_orders(
                model,
                x,
                y,
                its_options,
                seeds[index : index + 1],
                OneMemberBatches,
                OrderOverCalls,
            )
            each, targets, its_options = data
            history = model.fit(each, targets, **its_options)
            after.append(model.num_epochs)
            return history

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
        models = map(self._alone, self.members)
        histories = train_one_by_one(models, fit, folder)
        self.num_epochs = max(after)
        return histories

    def training_data(
        self, x: Any, y: Any, options: dict[str, Any]
    ) -> tuple[Any, Any, dict[str, Any]]:
        self._adapt_attack(x, options)
        return in_orders(
            self, x, y, options, self._seeds(), MemberBatches, OrderOverCalls
        )

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().compile(optimizer, loss, *args, **kwargs)
        check_independent(self.optimizer)

        def compile_member(member: Member, optimizer: Any) -> None:
            member.compile(optimizer, loss, *args, **kwargs)

        # Metrics in a list or dict Keras would find and count again.
        self._compile_member = compile_member

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
        model = Member(member, self.task, self.score, self.answers, self.attack)
        kind, config = type(self.optimizer), self.optimizer.get_config()
        self._compile_member(model, kind.from_config(config))
        return model

    def _seeds(self) -> list[list[int]]:
        seed = self.seed
        if seed is None:
            # From the generator that `keras.utils.set_random_seed` sets.
            seed = random.randrange(2**32)
        return [[seed, index] for index in range(len(self.members))]
