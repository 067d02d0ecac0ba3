"""Networks that answer several times in one call, on a tiled batch."""

from typing import Any

import keras
from keras import ops

from keras_zigzag.graphs import (
    functional_view,
    input_like,
    is_graph_model,
    keras_tensors,
)
from keras_zigzag.rewriting import Rewriting, call_again

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_zigzag")
class TileBatch(keras.layers.Layer):
    """Puts a batch once for each sample behind one another, mask included.

    Args:
        num_samples: Integer.
        in_training: Boolean. Whether it does so in training too, where else
            it passes the batch on. Defaults to `False`.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(
        self, num_samples: int, in_training: bool = False, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.num_samples = num_samples
        self.in_training = in_training
        self.supports_masking = True
        self.autocast = False

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if training and not self.in_training:
            # Keras leaves a tensor the mask that it has, and does not ask
            # `compute_mask`.
            return inputs
        return ops.concatenate([inputs] * self.num_samples, axis=0)

    def compute_mask(self, inputs: Tensor, mask: Any = None) -> Any:
        if mask is None:
            return None
        return ops.concatenate([mask] * self.num_samples, axis=0)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return (None, *input_shape[1:])

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update(
            {"num_samples": self.num_samples, "in_training": self.in_training}
        )
        return config


class Tiling(Rewriting):
    """Tiles the batch where the first layer needs it; abstract.

    What comes before that layer is computed once. What joins it there from
    another branch is tiled as well, and so are outputs that no such layer
    reaches. A subclass says which layers need it and how they are called.

    Args:
        num_samples: Integer.
        in_training: Boolean. Whether the batch is tiled in training too.
            Defaults to `False`.
    """

    def __init__(self, num_samples: int, in_training: bool = False):
        super().__init__()
        self.num_samples = num_samples
        self.in_training = in_training
        # They hold the tensors, so that no id is given to another.
        self._tiled: dict[int, Any] = {}
        self._tiles: dict[int, Any] = {}
        self._num_tiles = 0
        self._ends: list[Any] = []
        self._batch_sizes: set[int | None] = {None}

    def is_sampled(self, layer: Any) -> bool:
        """Whether a layer answers differently for each sample."""
        raise NotImplementedError

    def sampled(self, layer: Any, copy: Any, args: tuple, kwargs: dict) -> Any:
        """As `called`, with arguments that are tiled where need be."""
        return copy(*args, **kwargs)

    def rewritten(
        self, model: keras.Model, arguments: Any = None
    ) -> keras.Model:
        view = functional_view(model)
        inputs = keras.tree.map_structure(input_like, view.input)
        if self._is_any_tiled(arguments):
            self._mark(inputs)
        self._batch_sizes |= {one.shape[0] for one in keras_tensors(inputs)}
        if not self._samples_in(model):
            return call_again(view, self._call, inputs)
        self._ends += [
            tensor._keras_history.operation for tensor in view.outputs
        ]
        network = call_again(view, self._call, inputs)
        # Those that are inputs.
        outputs = keras.tree.map_structure(self._tile, network.output)
        return keras.Model(network.input, outputs, name=model.name)

    def arguments(self, layer: Any, args: tuple, kwargs: dict) -> Any:
        if not self._is_tiled_before(layer, (args, kwargs)):
            return args, kwargs
        return keras.tree.map_structure(self._tile, (args, kwargs))

    def called(self, layer: Any, copy: Any, args: tuple, kwargs: dict) -> Any:
        outputs = self.sampled(layer, copy, args, kwargs)
        if self._is_any_tiled((args, kwargs)) or self._samples_in(layer):
            self._mark(outputs)
        return outputs

    def _is_tiled_before(self, layer: Any, arguments: Any) -> bool:
        if self.is_sampled(layer) or self._is_any_tiled(arguments):
            return True
        if self._samples_in(layer):
            # It has one graph, which must do for all calls.
            return len(layer._inbound_nodes) > 1
        return any(layer is end for end in self._ends)

    def _samples_in(self, model: Any) -> bool:
        return is_graph_model(model) and any(
            self.is_sampled(layer) or self._samples_in(layer)
            for layer in functional_view(model).operations
        )

    def _mark(self, tensors: Any) -> None:
        self._tiled.update({id(one): one for one in keras_tensors(tensors)})

    def _is_any_tiled(self, structure: Any) -> bool:
        return any(id(one) in self._tiled for one in keras_tensors(structure))

    def _tile(self, leaf: Any) -> Any:
        if not self._is_untiled_batch(leaf):
            return leaf
        if id(leaf) not in self._tiles:
            tile = TileBatch(
                self.num_samples,
                self.in_training,
                name=f"tile_{self._num_tiles}",
            )
            self._num_tiles += 1
            self._tiles[id(leaf)] = leaf, tile(leaf)
        tiled = self._tiles[id(leaf)][1]
        self._mark(tiled)
        return tiled

    def _is_untiled_batch(self, leaf: Any) -> bool:
        """Other tensors, without samples on their first axis, serve all."""
        return (
            isinstance(leaf, keras.KerasTensor)
            and id(leaf) not in self._tiled
            and len(leaf.shape) > 0
            and leaf.shape[0] in self._batch_sizes
        )
