import warnings
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.baselines.answers import Answers
from keras_zigzag.baselines.bases import copy_base
from keras_zigzag.baselines.certificates import (
    KINDS,
    certificates,
    default_number,
    trained_weights,
)
from keras_zigzag.baselines.heads import last_features
from keras_zigzag.baselines.network_model import NetworkModel
from keras_zigzag.baselines.opened_ends import open_end
from keras_zigzag.baselines.passes import (
    batches,
    check_readable_again,
    outputs_on,
    training_inputs,
)
from keras_zigzag.baselines.standardizing import Standardization, moments
from keras_zigzag.checks import check_finite, is_data
from keras_zigzag.graphs import functional_view
from keras_zigzag.model_config import check_options, fit_options
from keras_zigzag.number_checks import (
    checked_count,
    checked_number,
    seed_or_random,
)

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class OrthonormalCertificates(NetworkModel):
    """Functions that are about zero on what the network has seen.

    The certificates read what the last layer with a kernel reads, its mean
    over places or steps if it has any, less the mean of the training set and
    divided by one number for all features. They are trained after the
    network, at the end of `fit` or by `fit_certificates`, on the loss
    `mean (Cᵀφ)² + λ ‖CᵀC − I‖²`, and the uncertainty is `‖Cᵀφ(x)‖²`: one
    number per sample, whatever the model predicts. Linear ones are exactly
    orthonormal; their best are the directions in which the features of the
    training set vary least. Before that the certificates are random
    directions.

    A checkpoint that was written during `fit` has certificates that are not
    trained: after loading it, call `fit_certificates`.

    Make one with `OrthonormalCertificates.from_model`.

    Reference: [Tagasovska & Lopez-Paz, 2019](https://arxiv.org/abs/1811.00908),
    section 4.

    Args:
        network: Functional model that ends in layers, not in a model.
        task: `"classification"`, `"regression"` or `"binary"`; with several
            outputs a list or dict with one of them per output.
        num_certificates: Integer. Defaults to `None`: 100 as in the paper,
            but half as many as there are features at most; 5 of kind `"mlp"`.
        kind: `"linear"`, or `"mlp"` for certificates that are small networks
            of one hidden layer. Defaults to `"linear"`.
        penalty: Float. The factor `λ`. Defaults to `1.0`.
        num_steps: Integer. Number of steps of their training, on batches of
            128. Defaults to `4000`, as in the authors' experiments.
        seed: Integer. Defaults to `None`: a random one, which is saved with
            the model.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If there is no layer with a kernel, there are more linear
            certificates than features, or an argument is out of its range.

    Example:

    >>> model = keras_zigzag.baselines.OrthonormalCertificates.from_model(
    ...     base, task="classification", num_certificates=2
    ... )
    >>> model.fit_certificates(x_train)
    >>> model.predict(x_test, verbose=0)["uncertainty"].shape
    (8,)
    """

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        num_certificates: int | None = None,
        kind: str = "linear",
        penalty: float = 1.0,
        num_steps: int = 4000,
        seed: int | None = None,
        **kwargs: Any,
    ):
        check_options(kwargs, OrthonormalCertificates)
        _check_kind(kind)
        if num_certificates is not None:
            num_certificates = checked_count(
                "num_certificates", num_certificates
            )
        super().__init__(network, task, None, **kwargs)
        view = functional_view(network)
        self.use_answers(Answers(view, task))
        features = last_features(view)
        size = features.shape[-1]
        _check_number(num_certificates, kind, size)
        self.num_certificates = num_certificates or default_number(kind, size)
        self.kind = kind
        self.penalty = checked_number(
            "penalty",
            penalty,
            lambda one: one > 0,
            "be above zero, or all certificates would be zero everywhere",
        )
        self.num_steps = checked_count("num_steps", num_steps)
        self.seed = seed_or_random(seed)
        self._scored = keras.Model(network.input, [network.output, features])
        self.standardize = Standardization(name="standardize")
        self.standardize.build((None, size))
        # Keras would train them with the network.
        self.certificates = certificates(
            kind, size, self.num_certificates, self.seed
        )
        self.certificates.trainable = False

    @classmethod
    def from_model(
        cls,
        base: keras.Model,
        task: Any,
        num_certificates: int | None = None,
        kind: str = "linear",
        penalty: float = 1.0,
        num_steps: int = 4000,
        seed: int | None = None,
        **kwargs: Any,
    ) -> "OrthonormalCertificates":
        """Makes a model of a base model, which is not changed.

        Args:
            base: Sequential or Functional model, built, trained or not.
                Trained weights are kept: then `fit_certificates` is all there
                is to do.
            task: See the class.
            num_certificates: See the class. Defaults to `None`.
            kind: See the class. Defaults to `"linear"`.
            penalty: See the class. Defaults to `1.0`.
            num_steps: See the class. Defaults to `4000`.
            seed: See the class. Defaults to `None`.
            **kwargs: Arguments of the constructor.

        Returns:
            An `OrthonormalCertificates`, not compiled.

        Raises:
            ValueError: If the model cannot be copied, or as of the class.

        Example:

        >>> base = keras.Sequential([
        ...     keras.Input((4,)), keras.layers.Dense(8, activation="relu"),
        ...     keras.layers.Dense(1)])
        >>> model = keras_zigzag.baselines.OrthonormalCertificates.from_model(
        ...     base, task="regression", kind="mlp", seed=0)
        >>> model.num_certificates
        5
        """
        network = open_end(copy_base(base))
        kwargs.setdefault("dtype", base.dtype_policy)
        kwargs.setdefault("name", f"certificates_{base.name}")
        return cls(
            network,
            task,
            num_certificates,
            kind,
            penalty,
            num_steps,
            seed,
            **kwargs,
        )

    def fit_certificates(
        self, x: Any, batch_size: int | None = None, steps: int | None = None
    ) -> None:
        """Trains the certificates on what the network was trained on.

        The features of all of them are held in memory. Samples of which no
        place is there, such as empty sequences, are left out.

        Args:
            x: Inputs, or a data set. It is gone through once.
            batch_size: Integer, of the network's pass over arrays. Defaults
                to `None`, for 32.
            steps: Integer. Number of batches of a data set at most. Defaults
                to `None`, for all.

        Raises:
            ValueError: If there are no samples, or their features are not
                finite.

        Example:

        >>> model = keras_zigzag.baselines.OrthonormalCertificates.from_model(
        ...     base, task="classification", num_steps=10
        ... )
        >>> model.fit_certificates(x_train)
        """
        found = _with_places(
            [
                np.asarray(outputs_on(self._scored, inputs)[-1], "float32")
                for inputs, _, _ in batches(
                    x, batch_size=batch_size, steps=steps
                )
            ]
        )
        mean, variance, count = moments(found)
        # The same for all features, so that directions stay what they are.
        scale = np.sqrt(variance.mean()) or 1.0
        self.standardize.take(mean, np.full_like(mean, scale), count)
        features = (np.concatenate(found) - mean) / scale
        weights = trained_weights(
            features.astype("float32"),
            self.kind,
            self.num_certificates,
            self.seed,
            self.penalty,
            self.num_steps,
        )
        self.certificates.set_weights(weights)

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        prediction, features = self._scored(inputs, training=False)
        answers = self.certificates(self.standardize(features))
        score = ops.sum(ops.square(answers), axis=-1)
        return prediction, self.answers.at_each_place(score, prediction)

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        self._warn_unless_fitted()
        return super().predict(x, *args, **kwargs)

    def export(self, *args: Any, **kwargs: Any) -> None:
        self._warn_unless_fitted()
        super().export(*args, **kwargs)

    def _warn_unless_fitted(self) -> None:
        if not self.standardize.is_adapted:
            warnings.warn(
                "The certificates are random, so the uncertainty means "
                "nothing: they are trained when `fit` ends, and not yet in a "
                "checkpoint that was written before. Call "
                "`fit_certificates(x_train)`.",
                stacklevel=3,
            )

    def fit(
        self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        options = fit_options(args, kwargs)
        check_readable_again(x, "`train_on_batch` and `fit_certificates`")
        if is_data(x):
            # The certificates would find out when the network is trained.
            check_finite(x)
        history = super().fit(x, y, **options)
        self.fit_certificates(
            training_inputs(x, options),
            options.get("batch_size"),
            options.get("steps_per_epoch"),
        )
        return history


def _with_places(found: list[np.ndarray]) -> list[np.ndarray]:
    """The features without those of samples of which no place is there.

    Args:
        found: Arrays of shape `(num_samples, num_features)`, of inputs that
            are finite.
    """
    some = [rows[~np.isnan(rows).all(axis=-1)] for rows in found]
    # Where nothing is left, the network may have diverged.
    return some if any(map(len, some)) else found


def _check_kind(kind: Any) -> None:
    if kind not in KINDS:
        raise ValueError(
            f"Unknown kind. Expected one of {list(KINDS)}. "
            f"Received: kind={kind!r}"
        )


def _check_number(num_certificates: Any, kind: str, num_features: int) -> None:
    if kind == "linear" and (num_certificates or 0) > num_features:
        raise ValueError(
            f"The last layer reads {num_features} features, and there are not "
            "more orthonormal directions than that. "
            f"Received: num_certificates={num_certificates}"
        )
