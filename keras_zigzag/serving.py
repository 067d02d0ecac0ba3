"""What is exported, and by which names its outputs go."""

import contextlib
import functools
import os
from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from keras_zigzag.graphs import sublayers


class ServingModel(keras.Model):
    """Inputs to named outputs.

    A serving signature holds tensors only, so several outputs become
    `prediction_<name>` and `uncertainty_<name>`.

    Args:
        model: An `UncertaintyModel`.

    Attributes:
        output_names: List of strings, sorted. Known once it was called.
    """

    def __init__(self, model: Any):
        # Inputs stay as they are: what half precision rounds, as the number of
        # a word, `predict` does not round either.
        super().__init__(
            name=model.name, dtype=model.dtype_policy, autocast=False
        )
        self.model = model
        self.built = True

    def call(self, inputs: Any) -> Any:
        outputs = flat_outputs(self.model.call_with_uncertainty(inputs))
        self.output_names = sorted(outputs)
        return outputs


class TracedModel(ServingModel):
    """A list of inputs to a tuple of outputs, for tracers that drop names.

    Args:
        model: An `UncertaintyModel`.
        structure: The structure of its inputs.
    """

    def __init__(self, model: Any, structure: Any):
        super().__init__(model)
        self.pack_inputs = functools.partial(
            keras.tree.pack_sequence_as, structure
        )

    def call(self, inputs: Any) -> Any:
        inputs = self.pack_inputs(keras.tree.flatten(inputs))
        outputs = super().call(inputs)
        return tuple(outputs[name] for name in self.output_names)


def export_serving_model(
    model: Any,
    filepath: Any,
    format: str,
    input_signature: list[Any] | None = None,
    **kwargs: Any,
) -> None:
    """Exports a model with its uncertainty.

    Args:
        model: An `UncertaintyModel`.
        filepath: String or path.
        format: String, as of `keras.Model.export`.
        input_signature: List with the structure of `keras.InputSpec`.
            Defaults to that of the model.
        **kwargs: Further arguments of `keras.Model.export`.
    """
    # Keras takes a path for some of the formats only.
    filepath = os.fspath(filepath)
    _check_suffix(filepath, format)
    if input_signature is None:
        input_signature = model.input_signature()
    kwargs.update({"format": format, "input_signature": input_signature})
    with constants_as_arrays(model):
        # From a graph of TensorFlow the converters take names themselves.
        if keras.backend.backend() == "tensorflow" or format not in SET_NAMES:
            _export(ServingModel(model), filepath, kwargs)
            return
        (structure,) = input_signature
        specs = keras.tree.flatten(structure)
        kwargs["input_signature"] = specs if len(specs) == 1 else [specs]
        traced = TracedModel(model, structure)
        _export(traced, filepath, kwargs)
    names = [spec.name for spec in specs]
    SET_NAMES[format](filepath, names, traced.output_names)


def _check_suffix(filepath: str, format: str) -> None:
    """Raises a `ValueError` for a file's name and a format of a folder."""
    suffix = os.path.splitext(filepath)[1]
    if format == "tf_saved_model" and suffix in SUFFIXES:
        raise ValueError(
            "A SavedModel is a folder. Received: "
            f"filepath={filepath!r} and format={format!r}. For a file of this "
            f"kind give `format={SUFFIXES[suffix]!r}`."
        )


def _export(model: ServingModel, filepath: str, kwargs: Any) -> None:
    try:
        model.export(filepath, **kwargs)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error}. The converters come with `keras-zigzag[export]`, but "
            "for `jax2onnx` and `litert-torch`, which are installed by "
            f"themselves. Received: format={kwargs['format']!r} on the "
            f"backend {keras.backend.backend()}.",
            name=error.name,
        ) from error


def flat_outputs(outputs: dict[str, Any]) -> dict[str, Any]:
    """`{"prediction": {"a": …}}` to `{"prediction_a": …}`."""
    flat = {}
    for key, value in outputs.items():
        if isinstance(value, dict):
            flat.update({f"{key}_{name}": one for name, one in value.items()})
        elif isinstance(value, (list, tuple)):
            flat.update(
                {f"{key}_{index}": one for index, one in enumerate(value)}
            )
        else:
            flat[key] = value
    return flat


@contextlib.contextmanager
def constants_as_arrays(model: Any) -> Iterator[None]:
    """Keeps the tensors that layers hold from becoming inputs.

    A `Normalization` holds its mean as a tensor that is no weight, and from
    TensorFlow the ONNX converter takes what a graph captures for an input.
    """
    held = [
        (layer, name, value)
        for layer in sublayers(model)
        for name, value in vars(layer).items()
        if ops.is_tensor(value) and not isinstance(value, keras.Variable)
    ]
    arrays = [_as_constant(value) for _, _, value in held]
    try:
        for (layer, name, _), array in zip(held, arrays, strict=True):
            setattr(layer, name, array)
        yield
    finally:
        for layer, name, value in held:
            setattr(layer, name, value)


def _as_constant(value: Any) -> Any:
    """An array, or `None` of what a layer keeps of a call, without values."""
    try:
        return ops.convert_to_numpy(value)
    except Exception:  # Each backend has its own.
        return None


def set_onnx_names(
    filepath: str, inputs: list[str | None], outputs: list[str]
) -> None:
    import onnx

    artifact = onnx.load(filepath)
    graph = artifact.graph
    # Keras names the inputs. An output gets a node of its own, since its old
    # name may be used inside the graph.
    for output, name in zip(graph.output, outputs, strict=True):
        node = onnx.helper.make_node("Identity", [output.name], [name])
        graph.node.append(node)
        output.name = name
    onnx.save(artifact, filepath)


def set_openvino_names(
    filepath: str, inputs: list[str | None], outputs: list[str]
) -> None:
    import openvino

    core = openvino.Core()
    # The weights are overwritten below while the model is in use.
    core.set_property({"ENABLE_MMAP": False})
    artifact = core.read_model(filepath)
    for ports, names in (
        (artifact.inputs, inputs),
        (artifact.outputs, outputs),
    ):
        for port, name in zip(ports, names, strict=True):
            if name is not None:
                port.tensor.set_names({name})
    openvino.serialize(artifact, filepath)


SUFFIXES = {
    ".onnx": "onnx",
    ".xml": "openvino",
    ".tflite": "litert",
    ".pt2": "torch",
}
SET_NAMES = {"onnx": set_onnx_names, "openvino": set_openvino_names}
