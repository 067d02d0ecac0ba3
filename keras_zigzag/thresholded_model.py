from typing import Any

import keras
import numpy as np
from keras import ops

from keras_zigzag.checks import check_not_empty
from keras_zigzag.fixed_options import FixedOptions
from keras_zigzag.model_config import deserialized
from keras_zigzag.serving import export_serving_model


@keras.saving.register_keras_serializable(package="keras_zigzag")
class ThresholdedModel(FixedOptions, keras.Model):
    """A trained model that also says which predictions to accept.

    For serving: beside `"prediction"` and `"uncertainty"`, which stay as they
    are, `predict` and the exported artifacts return `"accept"`, Booleans in the
    shape of the uncertainty: whether it is at most the threshold. An
    uncertainty of NaN is not accepted.

    Make one with `UncertaintyModel.with_threshold`. It shares the layers of
    the model, which goes on to be trained or scored by itself.

    Args:
        model: A `keras_zigzag.UncertaintyModel`.
        threshold: Float or `keras_zigzag.thresholds.Threshold`; with several
            outputs one for all, or a list or dict as of the outputs.
        **kwargs: Arguments of `keras.Model`.

    Raises:
        ValueError: If a threshold is not a number, or there is not one for
            each output.

    Example:

    >>> threshold = keras_zigzag.thresholds.threshold_at_coverage(
    ...     model.predict(x_val)["uncertainty"], coverage=0.5, confidence=None)
    >>> served = model.with_threshold(threshold)
    >>> served.predict(x_test, verbose=0)["accept"].shape
    (8,)
    """

    how_to_change = "Use `with_threshold` of its attribute `model`."

    def __init__(self, model: Any, threshold: Any, **kwargs: Any):
        kwargs.setdefault("name", model.name)
        kwargs.setdefault("dtype", model.dtype_policy)
        super().__init__(autocast=False, **kwargs)
        self.model = model
        self.threshold = _as_numbers(threshold)
        self.built = True
        if keras.tree.is_nested(self.threshold):
            self._check_structure()

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return self.call_with_uncertainty(inputs)

    def call_with_uncertainty(self, inputs: Any) -> dict[str, Any]:
        """Tensors to prediction, uncertainty and whether to accept.

        Args:
            inputs: Tensors as the base model takes them.

        Returns:
            Dictionary of tensors, or of structures of them.
        """
        outputs = self.model.call_with_uncertainty(inputs)
        uncertainty = outputs["uncertainty"]
        limits = _one_for_each(_as_numbers(self.threshold), uncertainty)
        # NaN is not lower than anything.
        accept = keras.tree.map_structure(
            lambda score, limit: ops.less_equal(score, limit),
            uncertainty,
            limits,
        )
        return {**outputs, "accept": accept}

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        check_not_empty(x)
        return super().predict(x, *args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "A model with a threshold is for serving. Received: training of "
            f"{self.name!r}. Compile and train the model that it was made of, "
            "its attribute `model`."
        )

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            "A model with a threshold is for serving. Received: `evaluate` on "
            f"{self.name!r}. Evaluate the model that it was made of, its "
            "attribute `model`."
        )

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        self.compile()

    def train_on_batch(self, *args: Any, **kwargs: Any) -> Any:
        self.compile()

    def test_on_batch(self, *args: Any, **kwargs: Any) -> Any:
        self.evaluate()

    def input_signature(self) -> list[Any]:
        return self.model.input_signature()

    def export(
        self,
        filepath: Any,
        format: str = "tf_saved_model",
        verbose: bool | None = None,
        input_signature: Any = None,
        **kwargs: Any,
    ) -> None:
        """Writes an artifact as `UncertaintyModel.export` does.

        Its outputs are `prediction`, `uncertainty` and `accept`, with the
        suffixes that are explained there if there are several of each.

        Args:
            filepath: String or path. Where to write it.
            format: String, as of `UncertaintyModel.export`.
            verbose: Boolean. Whether to print a message. Defaults to `None`,
                which leaves it to Keras.
            input_signature: List with the structure of `keras.InputSpec`.
                Defaults to the inputs of the base model with a free batch
                size.
            **kwargs: Further arguments of `keras.Model.export`.
        """
        export_serving_model(
            self,
            filepath,
            format=format,
            verbose=verbose,
            input_signature=input_signature,
            **kwargs,
        )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update(
            {
                "model": keras.saving.serialize_keras_object(self.model),
                "threshold": _as_numbers(self.threshold),
            }
        )
        return config

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None
    ) -> "ThresholdedModel":
        return cls(**deserialized(config, custom_objects))

    def _check_structure(self) -> None:
        inputs = keras.tree.map_structure(
            lambda spec: keras.KerasTensor((1, *spec.shape[1:]), spec.dtype),
            self.input_signature()[0],
        )
        _one_for_each(
            _as_numbers(self.threshold), self.model.compute_output_spec(inputs)
        )


def _as_numbers(threshold: Any) -> Any:
    """Plain floats in plain containers, as of the outputs or one for all."""
    if isinstance(threshold, dict):
        return {name: _as_numbers(one) for name, one in threshold.items()}
    # A `Threshold` is a tuple too.
    if isinstance(threshold, (list, tuple)) and not hasattr(
        threshold, "__float__"
    ):
        return [_as_numbers(one) for one in threshold]
    is_number = not isinstance(threshold, (str, bytes, bool))
    try:
        number = float(threshold) if is_number else np.nan
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        raise ValueError(
            "`threshold` must be a number, or one for each output in a list "
            f"or dict. Received: threshold={threshold!r}"
        )
    return number


def _one_for_each(threshold: Any, outputs: Any) -> Any:
    """Thresholds in the structure of the outputs."""
    if not isinstance(threshold, (list, dict)):
        return keras.tree.map_structure(lambda _: threshold, outputs)
    is_tuple = isinstance(outputs, tuple) and isinstance(threshold, list)
    limits = tuple(threshold) if is_tuple else threshold
    try:
        keras.tree.assert_same_structure(limits, outputs)
    except (ValueError, TypeError):
        expected = "a number"
        if isinstance(outputs, dict):
            expected = f"a dict with the keys {list(outputs)}, or a number"
        elif isinstance(outputs, (list, tuple)):
            expected = f"a list of {len(outputs)} numbers, or one number"
        raise ValueError(
            "There must be one threshold for each output, or a single one. "
            f"Expected: {expected}. Received: threshold={threshold!r}"
        ) from None
    return limits
