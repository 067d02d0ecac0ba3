from typing import Any, NamedTuple

import keras
from keras import ops

from keras_zigzag.baselines.answers import Answers, prediction_of
from keras_zigzag.baselines.bases import copy_base
from keras_zigzag.baselines.hourglass import channel_axis, hourglass
from keras_zigzag.baselines.independence import check_independent
from keras_zigzag.baselines.network_model import (
    NetworkModel,
    check_train_base,
)
from keras_zigzag.baselines.passes import (
    batches,
    check_readable_again,
    training_inputs,
)
from keras_zigzag.baselines.standardizing import (
    Standardization,
    moments,
    scale_of,
)
from keras_zigzag.checks import as_array
from keras_zigzag.graphs import functional_view, is_float, sublayers
from keras_zigzag.model_config import deserialized
from keras_zigzag.number_checks import checked_count

Tensor = Any
ERRORS = {
    "mean_squared_error": (keras.losses.MeanSquaredError, ops.square),
    "mean_absolute_error": (keras.losses.MeanAbsoluteError, ops.abs),
}


class Reconstructed(NamedTuple):
    """What the losses need of both networks.

    Attributes:
        prediction: Outputs of the network.
        given: Tensor of shape `(batch_size, num_values)`, the inputs in
            units of their spread.
        found: As `given`, the reconstructions.
    """

    prediction: Any
    given: Tensor
    found: Tensor


@keras.saving.register_keras_serializable(package="keras_zigzag")
class AutoencoderError(NetworkModel):
    """Next to any model, an autoencoder that knows the inputs it was shown.

    The uncertainty is the error with which the autoencoder reconstructs an
    input, in units of the spread of the inputs: one number per sample,
    whatever the model predicts. Both networks are trained in one `fit`. They
    share nothing, so each learns as it would alone, and the loss that `fit`
    prints is that of the prediction, with the terms of regularisers and of
    `add_loss` of both. How well the autoencoder does is the mean of the
    uncertainties. The mean and the scale of the inputs are taken
    from all of them when `fit` starts, the first time, or by
    `adapt_inputs`.

    Make one with `AutoencoderError.from_model`.

    Reference: [Japkowicz et al., 1995](https://www.ijcai.org/Proceedings/95-1/Papers/068.pdf).

    Args:
        network: Functional model of one input, of floats.
        autoencoder: Functional model from that input to its reconstruction.
        task: `"classification"`, `"regression"` or `"binary"`; with several
            outputs a list or dict with one of them per output.
        score: `"mean_squared_error"` or `"mean_absolute_error"`, over the
            values of a sample; the autoencoder minimises it too. Defaults to
            `None`, for the first.
        train_base: Boolean. Whether the network is trained. If not,
            `compile` needs no loss. Defaults to `True`.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If the networks do not fit each other, or a name is
            unknown.

    Example:

    >>> model = keras_zigzag.baselines.AutoencoderError.from_model(
    ...     base, task="classification"
    ... )
    >>> model.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        network: keras.Model,
        autoencoder: keras.Model,
        task: Any,
        score: str | None = None,
        train_base: bool = True,
        **kwargs: Any,
    ):
        super().__init__(network, task, score, **kwargs)
        (tensor,) = _inputs(network)
        _check_autoencoder(autoencoder, tensor)
        self.autoencoder = autoencoder
        self.train_base = bool(train_base)
        if not self.train_base:
            network.trainable = False
        self.use_answers(Answers(functional_view(network), task))
        self._loss_of, self._size = _error(score)
        self.standardize = Standardization(
            channel_axis(tensor.shape[1:]), name="standardize"
        )
        self.standardize.build(tensor.shape)

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any,
        score: str | None = None,
        code_size: int | None = None,
        autoencoder: keras.Model | None = None,
        train_base: bool = True,
        **kwargs: Any,
    ) -> "AutoencoderError":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not, with
                one input, of floats. Trained weights are kept.
            task: See the class.
            score: See the class. Defaults to `None`.
            code_size: Integer. Size of the code between the halves of the
                autoencoder. Defaults to `None`: a quarter of the values of a
                sample, 32 at most.
            autoencoder: Sequential or Functional model from inputs to their
                reconstructions, trained or not. Defaults to `None`: an
                hourglass of dense layers for vectors, of convolutions for
                images, sequences and volumes.
            train_base: Boolean. `False` for a trained base that `fit` should
                leave as it is. Defaults to `True`.
            **kwargs: Arguments of the constructor.

        Returns:
            An `AutoencoderError`, not compiled.

        Raises:
            ValueError: If the model cannot be copied, has several inputs or
                one that is not of floats, or the autoencoder does not fit.

        Example:

        >>> base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.AutoencoderError.from_model(
        ...     base, task="regression", code_size=2
        ... )
        >>> model.compile("adam", "mse")
        """
        network = functional_view(copy_base(base))
        (tensor,) = _inputs(network)
        code_size = _checked_code_size(code_size, autoencoder)
        with _named():
            if autoencoder is None:
                autoencoder = hourglass(tensor.shape[1:], code_size)
            else:
                autoencoder = copy_base(autoencoder)
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"autoencoder_{base.name}")
        return cls(
            network, autoencoder, task, score, train_base=train_base, **kwargs
        )

    def adapt_inputs(
        self, x: Any, batch_size: int | None = None, steps: int | None = None
    ) -> None:
        """Learns the mean and the scale of the inputs, by channel.

        `fit` does so at its start, unless it was done before.

        Args:
            x: Inputs, or a data set. It is gone through once.
            batch_size: Integer, for arrays. Defaults to `None`, for 32.
            steps: Integer. Number of batches of a data set at most. Defaults
                to `None`, for all.

        Raises:
            ValueError: If there are no samples, or some are not finite.
        """
        axis = self.standardize.axis
        mean, variance, count = moments(
            _columns(inputs, axis)
            for inputs, _, _ in batches(x, batch_size=batch_size, steps=steps)
        )
        scale = scale_of(mean, variance)
        for layer in sublayers(self):
            if isinstance(layer, Standardization) and layer.axis == axis:
                layer.take(mean, scale, count)

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        prediction = self.network(inputs, training=False)
        given, found = self._reconstructed(inputs, training=False)
        score = ops.mean(self._size(given - found), axis=-1)
        return prediction, self.answers.at_each_place(score, prediction)

    def training_data(
        self, x: Any, y: Any, options: dict[str, Any]
    ) -> tuple[Any, Any, dict[str, Any]]:
        if not self.standardize.is_adapted:
            check_readable_again(x, "`model.adapt_inputs(x)` first")
            self.adapt_inputs(
                training_inputs(x, options),
                options.get("batch_size"),
                options.get("steps_per_epoch"),
            )
        return x, y, options

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        loss = self._loss_of_base(x, y, y_pred, sample_weight, training)
        if not training:
            return loss
        if not isinstance(y_pred, Reconstructed):
            y_pred = Reconstructed(y_pred, *self._reconstructed(x, True))
        added = self._loss_of(
            y_pred.given, y_pred.found, _of_samples(sample_weight)
        )
        # The gradients of both with the value of the one that is shown.
        return loss + ops.cast(added - ops.stop_gradient(added), loss.dtype)

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().compile(optimizer, loss, *args, **kwargs)
        check_independent(self.optimizer)

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None
    ) -> "AutoencoderError":
        with _named():
            autoencoder = deserialized(config["autoencoder"], custom_objects)
        config = config | {"autoencoder": autoencoder}
        return cls(**deserialized(config, custom_objects))

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        prediction = super().call_loss(inputs, training and self.train_base)
        if not training:
            return prediction
        return Reconstructed(prediction, *self._reconstructed(inputs, True))

    def with_options(self, **options: Any) -> Any:
        check_train_base(self, options)
        return super().with_options(**options)

    def _loss_of_base(self, x: Any, y: Any, y_pred: Any, *rest: Any) -> Tensor:
        if self.train_base or self.loss is not None or self.losses:
            return super().compute_loss(x, y, prediction_of(y_pred), *rest)
        # Keras would refuse to go on, but the autoencoder has its own.
        return ops.zeros(())

    def _reconstructed(self, inputs: Any, training: bool) -> tuple[Any, Any]:
        """Inputs and reconstructions, `(batch_size, num_values)`."""
        (leaf,) = keras.tree.flatten(inputs)
        found = self.autoencoder(leaf, training=training)
        given, found = (
            self.standardize(one)
            for one in (ops.convert_to_tensor(leaf), found)
        )
        return _flat(given), _flat(found)


def _named() -> Any:
    """Gives the weights of the autoencoder paths of their own.

    On PyTorch, Keras would clear the gradients of one weight for each path.
    """
    return keras.name_scope("autoencoder")


def _inputs(network: keras.Model) -> list[Any]:
    tensors = keras.tree.flatten(functional_view(network).input)
    if len(tensors) != 1 or not is_float(tensors[0]):
        given = [f"{one.name}: {one.dtype}" for one in tensors]
        raise ValueError(
            "The base model must have one input, of floats, which can be "
            f"reconstructed. Received: the inputs {given}. With several, as "
            "on graphs, use a method that looks at the last features, such as "
            "`OrthonormalCertificates` or `SNGP`."
        )
    return tensors


def _check_autoencoder(autoencoder: keras.Model, tensor: Any) -> None:
    shapes = [
        [tuple(one.shape[1:]) for one in tensors]
        for tensors in (autoencoder.inputs, autoencoder.outputs)
    ]
    expected = [tuple(tensor.shape[1:])]
    if shapes != [expected, expected]:
        raise ValueError(
            "The autoencoder must take what the base model takes, and give "
            f"it back: shape {expected[0]} without the batch. Received: a "
            f"model from {shapes[0]} to {shapes[1]}."
        )


def _checked_code_size(code_size: Any, autoencoder: Any) -> int | None:
    if code_size is None:
        return None
    if autoencoder is not None:
        raise ValueError(
            "An autoencoder of your own has its code. Received: "
            f"code_size={code_size!r} and autoencoder={autoencoder!r}. Give "
            "one of them."
        )
    return checked_count("code_size", code_size)


def _error(score: str | None) -> tuple[Any, Any]:
    """The loss of that name, and what it takes the mean of."""
    name = next(iter(ERRORS)) if score is None else score
    if name not in ERRORS:
        raise ValueError(
            f"Unknown score. Expected one of {list(ERRORS)}. "
            f"Received: score={score!r}"
        )
    loss, size = ERRORS[name]
    return loss(dtype="float32"), size


def _columns(inputs: Any, axis: int) -> Any:
    """Values by channel, `(num_values, num_channels)`."""
    (leaf,) = keras.tree.flatten(inputs)
    values = as_array(leaf)
    values = values.swapaxes(axis, -1)
    return values.reshape(-1, values.shape[-1])


def _flat(tensor: Tensor) -> Tensor:
    return ops.reshape(tensor, (ops.shape(tensor)[0], -1))


def _of_samples(sample_weight: Any) -> Tensor | None:
    """One weight per sample, the mean over places and outputs."""
    leaves = [
        ops.cast(leaf, "float32")
        for leaf in keras.tree.flatten(sample_weight)
        if leaf is not None
    ]
    means = [
        ops.mean(leaf, axis=tuple(range(1, len(leaf.shape))))
        if len(leaf.shape) > 1
        else leaf
        for leaf in leaves
    ]
    return sum(means) / len(means) if means else None
