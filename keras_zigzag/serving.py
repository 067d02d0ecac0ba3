"""What is exported, and by which names its outputs go."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from keras_zigzag.graphs import sublayers


class ServingModel(keras.Model):
    """Inputs to a flat dictionary of named outputs.

    A serving signature holds tensors only, so several outputs become
    `prediction_<name>` and `uncertainty_<name>`.

    Args:
        model: An `UncertaintyModel`.
        named: Boolean. Whether the outputs are a dictionary, or a tuple in
            the order of `names`. Defaults to `True`.

    Attributes:
        names: List of strings, the names of the outputs, sorted. Known once
            the model was called.
    """

    def __init__(self, model: Any, named: bool = True):
        super().__init__(name=model.name, dtype=model.dtype_policy)
        self.model = model
        self.named = named
        self.names: list[str] = []
        self.built = True

    def call(self, inputs: Any) -> Any:
        outputs = flat_outputs(self.model.call_with_uncertainty(inputs))
        self.names = sorted(outputs)
        if self.named:
            return outputs
        return tuple(outputs[name] for name in self.names)


def export_serving_model(
    model: Any, filepath: Any, format: str, **kwargs: Any
) -> None:
    """Exports a model with its uncertainty.

    Args:
        model: An `UncertaintyModel`.
        filepath: String or path.
        format: String, as of `keras.Model.export`.
        **kwargs: Further arguments of `keras.Model.export`.
    """
    # Keras takes a path for some of the formats only.
    filepath = os.fspath(filepath)
    name_outputs = None
    if keras.backend.backend() != "tensorflow":
        name_outputs = NAME_OUTPUTS.get(format)
    serving = ServingModel(model, named=name_outputs is None)
    with constants_as_arrays(model):
        serving.export(filepath, format=format, **kwargs)
    if name_outputs is not None:
        name_outputs(filepath, serving.names)


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
        if ops.is_tensor(value)
    ]
    try:
        for layer, name, value in held:
            setattr(layer, name, ops.convert_to_numpy(value))
        yield
    finally:
        for layer, name, value in held:
            setattr(layer, name, value)


def name_onnx_outputs(filepath: str, names: list[str]) -> None:
    import onnx

    artifact = onnx.load(filepath)
    graph = artifact.graph
    # A node of its own, since the old name may be used inside the graph.
    for output, name in zip(graph.output, names, strict=True):
        graph.node.append(
            onnx.helper.make_node("Identity", [output.name], [name])
        )
        output.name = name
    onnx.save(artifact, filepath)


def name_openvino_outputs(filepath: str, names: list[str]) -> None:
    import openvino

    core = openvino.Core()
    # The weights are overwritten below while the model is in use.
    core.set_property({"ENABLE_MMAP": False})
    artifact = core.read_model(filepath)
    for output, name in zip(artifact.outputs, names, strict=True):
        output.tensor.set_names({name})
    openvino.serialize(artifact, filepath)


# From a graph of TensorFlow the converters take the names themselves; the
# tracers of the other backends drop them.
NAME_OUTPUTS = {"onnx": name_onnx_outputs, "openvino": name_openvino_outputs}
