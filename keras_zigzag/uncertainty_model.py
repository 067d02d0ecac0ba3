from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_zigzag import aggregates
from keras_zigzag.batches import (
    SEES_USER_ROWS,
    LossInputs,
    RowTaker,
    ScoringInputs,
    TrainingInputs,
)
from keras_zigzag.checks import (
    check_not_empty,
    checked_data,
    checked_validation,
)
from keras_zigzag.finite import (
    any_not_finite,
    unknown_unless_finite,
    unknown_where,
)
from keras_zigzag.fixed_options import FixedOptions, with_options
from keras_zigzag.model_config import fit_options
from keras_zigzag.place_masks import PlaceMasks, masks_of
from keras_zigzag.serving import export_serving_model
from keras_zigzag.thresholded_model import ThresholdedModel

Tensor = Any


class UncertaintyModel(FixedOptions, keras.Model):
    """A Keras model that says how far each prediction can be trusted.

    The contract that all methods share:

    - `model(x)`, `evaluate` and the metrics see the prediction only, so they
      mean what they mean on the base model;
    - `predict(x)` returns `{"prediction": …, "uncertainty": …}`, whatever
      the options: `prediction` is what the base model's `predict` returns,
      `uncertainty` is float32, one number per sample, or one per place where
      the task is dense, or one of these per output. Higher uncertainty
      means less trust; a sample with an input that is not finite has an
      uncertainty of NaN, and so has a place that a mask of Keras says is not
      there;
    - everything else is as on any Keras model.

    A method implements `call_prediction` and `estimate`, and where training
    needs more than the user's batch, `training_batch` and `call_training`.
    Where the loss needs more than the prediction, batches of `LossInputs` go
    through `call_loss`.

    Args:
        aggregate: String. What makes one uncertainty per sample of those of
            its places: `"mean"` or `"max"`, over the places that are there.
            Defaults to `None`: one uncertainty per place where the task is
            dense.
        **kwargs: Arguments of `keras.Model`.
    """

    how_to_change = "Use `model.with_options(...)`."

    def __init__(self, aggregate: str | None = None, **kwargs: Any):
        # The base model converts its inputs itself, as it always did.
        super().__init__(autocast=False, **kwargs)
        self.aggregate = aggregate
        self._aggregated = aggregates.get(aggregate)
        self._place_masks: PlaceMasks | None = None
        self.take_rows = RowTaker()

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        # The trainers call these with the rows of the training step. What a
        # user overrides should see the batch that the user knows.
        for name, seeing_user_rows in SEES_USER_ROWS.items():
            method = getattr(cls, name)
            if not hasattr(method, "sees_user_rows"):
                setattr(cls, name, seeing_user_rows(method))

    # What a method implements.

    def call_prediction(self, inputs: Any, training: bool | None = None) -> Any:
        """The prediction, in the structure of the base model's outputs."""
        raise NotImplementedError

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        """The prediction and its uncertainty, one number per sample.

        Args:
            inputs: Tensors as the base model takes them.

        Returns:
            Prediction and uncertainty, in the structure of the outputs.
        """
        raise NotImplementedError

    def training_data(
        self, x: Any, y: Any, options: dict[str, Any]
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Turns what `fit` was given, and has been checked, into its data.

        Args:
            x: Inputs, or a data set.
            y: Targets, or `None`.
            options: All further arguments of `fit`, by name.

        Returns:
            The same three to go on with.
        """
        return x, y, options

    def training_batch(
        self, x: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        """Turns the user's batch into what a training step takes."""
        return x, y, sample_weight

    def test_batch(
        self, x: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        """Turns the user's batch into what a step of `evaluate` takes."""
        return x, y, sample_weight

    def call_training(
        self, inputs: TrainingInputs, training: bool | None = None
    ) -> Any:
        """The outputs that the loss compares with the targets."""
        return self.call_prediction(inputs.inputs, training)

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        """As `call_prediction`, with all that the loss needs besides."""
        return self.call_prediction(inputs, training)

    def loss_inputs(self, inputs: TrainingInputs) -> Any:
        """The inputs row by row with the outputs, for `compute_loss`."""
        return inputs.inputs

    def check_targets(self, targets: Any) -> None:
        """Raises a `ValueError` if these, or `None`, cannot be the targets."""

    def check_loss(self, loss: Any) -> None:
        """Raises a `ValueError` if the loss contradicts the outputs."""

    def check_uncertainty(self) -> None:
        """Raises a `ValueError` if it has none that could be evaluated."""

    def input_signature(self) -> list[Any]:
        """`keras.InputSpec` of the inputs, for `export`."""
        raise NotImplementedError

    def find_masks(self) -> PlaceMasks:
        """The masks of the prediction, by default those of `network`."""
        return masks_of(getattr(self, "network", None))

    # What follows from it.

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if isinstance(inputs, ScoringInputs):
            return self.call_with_uncertainty(inputs.inputs)
        if isinstance(inputs, TrainingInputs):
            return self.call_training(inputs, training)
        if isinstance(inputs, LossInputs):
            return self.call_loss(inputs.inputs, training)
        return self.call_prediction(inputs, training)

    def call_with_uncertainty(self, inputs: Any) -> dict[str, Any]:
        """As `model(x)`, with the uncertainty.

        Tensors in, tensors out, so that it can be part of another graph and
        be differentiated. For arrays use `predict`, or `predict_on_batch` for
        a single batch.

        Args:
            inputs: Tensors as the base model takes them.

        Returns:
            Dictionary with `"prediction"`, in the structure of the base
            model's outputs, and `"uncertainty"`, float32 tensors of shape
            `(batch_size,)`, or `(batch_size, ...)` for dense outputs, unless
            there is an `aggregate`.
        """
        inputs = as_tensors(inputs)
        return self.answer(*self.estimate(inputs), inputs)

    def answer(
        self, prediction: Any, uncertainty: Any, inputs: Any = None
    ) -> dict[str, Any]:
        """The dictionary of `predict`, of what `estimate` has found.

        Uncertainties that are not known, by the inputs, the prediction or
        the masks, are NaN, and places have their aggregate.

        Args:
            prediction: Outputs.
            uncertainty: One number per sample or place of each output.
            inputs: Inputs that they are of. Defaults to `None`: all inputs
                are finite, and all places are there.
        """
        bad = None
        answers = keras.tree.flatten(prediction)
        masks: list[Tensor | None] = [None for _ in answers]
        if inputs is not None:
            inputs = as_tensors(inputs)
            bad = any_not_finite(inputs)
            masks = self._masks(inputs, prediction)
        scores = [
            self._marked(unknown_where(bad, score), answer, mask)
            for score, answer, mask in zip(
                keras.tree.flatten(uncertainty), answers, masks, strict=True
            )
        ]
        return {
            "prediction": prediction,
            "uncertainty": keras.tree.pack_sequence_as(uncertainty, scores),
        }

    def with_options(self, **options: Any) -> Any:
        """The same trained model with other options, such as another score.

        What an option says is compiled into `predict` and saved with the
        model, so that a model keeps its own. The networks and their weights
        are shared: nothing is trained again, and further training of one
        changes both.

        Args:
            **options: Arguments of the constructor of this model.

        Returns:
            A model of the same class, not compiled.

        Raises:
            ValueError: If an option is unknown or its value does not fit, or
                a model with it has other weights.

        Example:

        >>> model = keras_zigzag.ZigZagModel.from_model(
        ...     base, task="classification"
        ... )
        >>> by_entropy = model.with_options(uncertainty="entropy")
        >>> by_entropy.predict(x_test, verbose=0)["uncertainty"].shape
        (8,)
        """
        return with_options(self, options)

    def with_threshold(self, threshold: Any) -> ThresholdedModel:
        """Adds `"accept"` to what is served.

        Args:
            threshold: Float or `keras_zigzag.thresholds.Threshold`; with
                several outputs one for all, or a list or dict as of the
                outputs. A prediction is accepted where its uncertainty is at
                most this.

        Returns:
            A `ThresholdedModel` on the same layers, with `predict`, `save`
            and `export`.

        Raises:
            ValueError: If a threshold is not a number, or there is not one
                for each output.

        Example:

        >>> served = model.with_threshold(0.3)
        >>> sorted(served.predict(x_test, verbose=0))
        ['accept', 'prediction', 'uncertainty']
        """
        return ThresholdedModel(self, threshold)

    def train_step(self, *args: Any) -> Any:
        *state, data = args
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        batch, state = self._with_state(
            state, lambda: self.training_batch(x, y, sample_weight)
        )
        return super().train_step(
            *state, keras.utils.pack_x_y_sample_weight(*batch)
        )

    def test_step(self, *args: Any) -> Any:
        *state, data = args
        batch = self.test_batch(*keras.utils.unpack_x_y_sample_weight(data))
        return super().test_step(
            *state, keras.utils.pack_x_y_sample_weight(*batch)
        )

    def predict_step(self, *args: Any) -> Any:
        *state, data = args
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        return super().predict_step(*state, (ScoringInputs(x),))

    def fit(
        self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        options = fit_options(args, kwargs)
        x = checked_data(self.check_targets, x, y)
        if "validation_data" in options:
            options["validation_data"] = checked_validation(
                self.check_targets, options["validation_data"]
            )
        x, y, options = self.training_data(x, y, options)
        return super().fit(x, y, **options)

    def train_on_batch(
        self, x: Any, y: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        checked_data(self.check_targets, x, y)
        return super().train_on_batch(x, y, *args, **kwargs)

    def evaluate(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        check_not_empty(x)
        return super().evaluate(x, *args, **kwargs)

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        check_not_empty(x)
        return super().predict(x, *args, **kwargs)

    def predict_on_batch(self, x: Any) -> dict[str, Any]:
        check_not_empty(x)
        return super().predict_on_batch(x)

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if loss is not None:
            self.check_loss(loss)
        super().compile(optimizer, loss, *args, **kwargs)

    def get_compile_config(self) -> Any:
        config = super().get_compile_config()
        if not config:
            return config
        return config | {"optimizer_is_built": self.optimizer.built}

    def compile_from_config(self, config: dict[str, Any]) -> None:
        config = dict(config)
        # Otherwise it would wait for the state of an optimizer that had none.
        is_built = config.pop("optimizer_is_built", True)
        config = keras.saving.deserialize_keras_object(config)
        self.compile(**config)
        if is_built:
            self.optimizer.build(self.trainable_variables)

    def export(
        self,
        filepath: Any,
        format: str = "tf_saved_model",
        verbose: bool | None = None,
        input_signature: Any = None,
        **kwargs: Any,
    ) -> None:
        """Writes an artifact that needs neither this package nor Keras.

        Args:
            filepath: String or path. Where to write it.
            format: String. `"tf_saved_model"`, `"onnx"`, `"openvino"`,
                `"litert"` or `"torch"`, as far as the backend offers it.
            verbose: Boolean. Whether to print a message. Defaults to `None`,
                which leaves it to Keras.
            input_signature: List with the structure of `keras.InputSpec`.
                Defaults to the inputs of the base model with a free batch
                size.
            **kwargs: Further arguments of `keras.Model.export`.

        The inputs of the artifact have the names of the base model's
        `keras.Input`s, the outputs are `prediction` and `uncertainty`; with
        several outputs of the base model `prediction_<name>` and
        `uncertainty_<name>`, or `_<index>` if they are a list.
        """
        export_serving_model(
            self,
            filepath,
            format=format,
            verbose=verbose,
            input_signature=input_signature,
            **kwargs,
        )

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        # On JAX, outputs lose their masks once they are differentiated.
        y_pred = self.place_masks.attached(x, y_pred)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    @property
    def place_masks(self) -> PlaceMasks:
        """Which places of the prediction are there, by the inputs."""
        if self._place_masks is None:
            self._place_masks = self.find_masks()
        return self._place_masks

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        if self.aggregate is not None:
            config["aggregate"] = self.aggregate
        return config

    def _masks(self, inputs: Any, prediction: Any) -> list[Tensor | None]:
        """The mask of each output, `None` where it has none."""
        answers = keras.tree.flatten(prediction)
        known = self.place_masks(inputs) + [None] * len(answers)
        return [
            getattr(answer, "_keras_mask", None) if mask is None else mask
            for answer, mask in zip(answers, known, strict=False)
        ]

    def _marked(self, score: Tensor, answer: Tensor, mask: Any) -> Tensor:
        """The uncertainty, or its aggregate, with NaN where there is none."""
        score = unknown_unless_finite(score, answer)
        if mask is not None and len(mask.shape) > len(score.shape):
            mask = None
        if self._aggregated is not None and len(score.shape) > 1:
            return self._aggregated(score, mask)
        if mask is None:
            return score
        return unknown_where(ops.logical_not(mask), score)

    def _with_state(
        self, state: list[Any], function: Callable[[], Any]
    ) -> tuple[Any, list[Any]]:
        """Runs `function`, which may read and write variables.

        JAX passes the variables through the step as `state`; the other
        backends pass nothing and hold them.
        """
        if not state:
            return function(), state
        (trainable, non_trainable, *rest), *_ = state
        variables = self.trainable_variables + self.non_trainable_variables
        values = list(trainable) + list(non_trainable)
        with keras.StatelessScope(
            state_mapping=list(zip(variables, values, strict=True))
        ) as scope:
            result = function()
        non_trainable = [
            scope.get_current_value(variable)
            for variable in self.non_trainable_variables
        ]
        return result, [(trainable, non_trainable, *rest)]


def as_tensors(structure: Any) -> Any:
    return keras.tree.map_structure(
        lambda leaf: None if leaf is None else ops.convert_to_tensor(leaf),
        structure,
    )
