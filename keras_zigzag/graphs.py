"""Reading the graphs of Keras models."""

import warnings
from collections.abc import Callable
from typing import Any

import keras

from keras_zigzag.of_keras import is_of_keras

# What Keras calls of a model to train and evaluate it.
TRAINING = ("fit", "train_step", "test_step", "compute_loss", "compute_metrics")


def is_graph_model(layer: Any) -> bool:
    """Whether the layer is a model whose graph of layers is known."""
    if isinstance(layer, keras.Sequential):
        has_graph = layer.built and bool(layer.inputs)
    else:
        has_graph = isinstance(layer, keras.Function)
    # A subclass that overrides `call` may do anything besides its graph.
    return has_graph and is_of_keras(type(layer).call)


def functional_view(model: keras.Model) -> keras.Model:
    """The same layers as a Functional model.

    One with a list of one output has that output alone, which is what Keras
    gives when it is called.
    """
    if isinstance(model, keras.Sequential):
        return keras.Model(model.inputs[0], model.outputs[0], name=model.name)
    if isinstance(model.output, (list, tuple)) and len(model.output) == 1:
        return keras.Model(model.input, model.outputs[0], name=model.name)
    return model


def layers_in_order(model: keras.Model) -> list[Any]:
    """All layers and models of a graph, also in inner models."""
    found: list[Any] = []
    for layer in functional_view(model).operations:
        found.append(layer)
        if is_graph_model(layer):
            found += layers_in_order(layer)
    return found


def names_of_outputs(model: keras.Model) -> list[str]:
    """How a user calls each output of a Functional model, as Keras flattens.

    Those of a dictionary may come from one layer, whose name they share.
    """
    if isinstance(model.output, dict):
        return sorted(model.output)
    return list(model.output_names)


def plain_functional(model: keras.Model) -> keras.Model:
    """The same layers as a Functional model of Keras that is not compiled.

    Keras compiles a clone as the model is compiled, which fails where a loss
    or metric of the user's own is not registered; and it gives it the class
    of the model, without which it cannot be loaded.

    Args:
        model: Functional model.
    """
    if is_of_keras(type(model)) and not getattr(model, "compiled", False):
        return model
    return keras.Model(model.input, model.output, name=model.name)


def run_graph(model: keras.Model, inputs: Any, call: Callable[..., Any]) -> Any:
    """Goes through the graph of a Functional model with any values.

    Args:
        model: Functional model.
        inputs: What takes the place of its inputs, in their structure.
        call: Function of `(layer, *args, **kwargs)` that returns what takes
            the place of the layer's outputs.

    Returns:
        What takes the place of its outputs, in their structure.
    """
    # Keras has no public way to go through a graph with one's own values.
    return model._run_through_graph(
        inputs, operation_fn=lambda layer: layer, call_fn=call
    )


def takes_training(layer: Any) -> bool:
    """Whether a layer is called with `training`."""
    # Keras has found out, and tells nobody.
    return bool(getattr(layer, "_call_has_training_arg", False))


def standardized_inputs(model: keras.Model, inputs: Any) -> list[Any]:
    """Tensors as a call of a Functional model makes them, flat."""
    return model._standardize_inputs(inputs)


def input_like(tensor: keras.KerasTensor) -> keras.KerasTensor:
    source = tensor._keras_history.operation
    # Keras takes the product of a tensor and a number for sparse.
    is_input = isinstance(source, keras.layers.InputLayer)
    return keras.Input(
        batch_shape=tensor.shape,
        dtype=tensor.dtype,
        sparse=is_input and tensor.sparse,
        name=tensor.name,
        optional=getattr(source, "optional", False),
    )


def free_name(name: str, model: keras.Model) -> str:
    """The name, or a longer one if a layer of the model has it."""
    taken = {layer.name for layer in model.layers}
    while name in taken:
        name += "_input"
    return name


def keras_tensors(structure: Any) -> list[keras.KerasTensor]:
    """All symbolic tensors among the arguments of a call."""
    return [
        leaf
        for leaf in keras.tree.flatten(structure)
        if isinstance(leaf, keras.KerasTensor)
    ]


def is_float(tensor: Any) -> bool:
    return "float" in keras.backend.standardize_dtype(tensor.dtype)


def sublayers(layer: Any) -> list[Any]:
    """The layer and all layers in it, in an order that its config fixes."""
    # Keras has no public way to the layers inside a layer.
    return layer._flatten_layers()


def check_known_shape(base: Any) -> None:
    """Raises a `ValueError` for no model, or one without an input shape."""
    if not isinstance(base, keras.Model):
        raise ValueError(
            "The base model must be a `keras.Model`. "
            f"Received: base={base!r} of type `{type(base).__name__}`."
        )
    if isinstance(base, keras.Sequential) and not (base.built and base.inputs):
        raise ValueError(
            "The base model has no known input shape. Start it with "
            "`keras.Input(shape)`, or call it on a batch first. "
            f"Received: the unbuilt Sequential model {base.name!r}."
        )
    inputs = getattr(base, "inputs", None) or []
    sparse = [one.name for one in inputs if one.sparse]
    if sparse:
        raise ValueError(
            "Sparse inputs have no rows that could be taken a second time. "
            f"Received: the base model {base.name!r} with the sparse inputs "
            f"{sparse}. Give it dense ones, and make the data dense, as with "
            "`tf.sparse.to_dense` in `map`."
        )


def warn_of_tied_layers(base: keras.Model) -> None:
    """Warns if layers with weights are in two layers of a graph.

    A copy of each is made from its own config, which does not tell of it.
    """
    owners: dict[int, Any] = {}
    for layer in {id(one): one for one in layers_in_order(base)}.values():
        if is_graph_model(layer) or not isinstance(layer, keras.layers.Layer):
            continue
        for inner in sublayers(layer):
            owner = owners.setdefault(id(inner), layer)
            if owner is not layer and inner.weights:
                warnings.warn(
                    f"The layer {inner.name!r} is part of both {owner.name!r} "
                    f"and {layer.name!r}. Their copies start with the same "
                    "weights and then learn apart. Received: the base model "
                    f"{base.name!r}. For weights that stay shared call one "
                    "layer twice in the graph.",
                    stacklevel=4,
                )


def warn_of_own_training(base: keras.Model) -> None:
    """Warns if the class of a base model trains otherwise than Keras."""
    kind = type(base)
    own = [one for one in TRAINING if not is_of_keras(getattr(kind, one))]
    if own:
        warnings.warn(
            "Of a base model the layers are taken; how its class trains is "
            f"not. Received: the base model {base.name!r} of class "
            f"`{kind.__name__}` with {own} of its own. If it has to stay so, "
            "override the same in a subclass of the method, such as `class "
            "MyModel(keras_zigzag.ZigZagModel)`.",
            stacklevel=4,
        )
