"""What stands between the inputs of a graph network and its layers."""

import keras
from edge_blocks import EdgeBlocks, check_edges
from graph_layer import PACKAGE, num_nodes_of, rows_of
from graph_shapes import EDGES, check_shapes, shapes_of
from keras import ops

from keras_zigzag.number_checks import checked_number

AXES = {"coordinates": ("batch_size", "num_nodes", "num_dims")} | EDGES


@keras.saving.register_keras_serializable(package=PACKAGE)
class RelativeCoordinates(keras.layers.Layer):
    """Pseudo-coordinates of edges: where the source lies from the target.

    Args:
        scale: Float. Length by which they are divided, such as the typical
            one of an edge (`meshes.edge_length`). Defaults to `1.0`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Inputs: list of the coordinates, `(batch_size, num_nodes, num_dims)`, and
    the edges.

    Output: `(batch_size, num_edges, num_dims)` in float32, zero at padding.

    Raises:
        ValueError: If `scale` is no positive number, or the inputs are no
            such list.
    """

    def __init__(self, scale=1.0, **kwargs):
        super().__init__(**kwargs)
        self.scale = checked_number(
            "scale", scale, lambda number: number > 0, "be a positive number"
        )
        self.supports_masking = True
        # Differences of close numbers have no digits in half precision.
        self.autocast = False

    def call(self, inputs):
        coordinates, edges = checked(self, inputs)
        blocks = EdgeBlocks(edges, num_nodes_of(coordinates))
        nodes = rows_of(ops.cast(coordinates, "float32"))
        difference = blocks.from_sources(nodes) - blocks.from_targets(nodes)
        relative = blocks.clear(difference) / self.scale
        shape = (blocks.batch_size, blocks.num_edges, coordinates.shape[-1])
        return ops.reshape(relative, shape)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_spec(self, inputs):
        coordinates, edges = checked(self, inputs)
        shape = (*edges.shape[:2], coordinates.shape[-1])
        return keras.KerasTensor(shape, "float32")

    def get_config(self):
        return super().get_config() | {"scale": self.scale}


def checked(layer, inputs):
    """Coordinates and edges, once they are known to be that."""
    check_shapes(layer, shapes_of(inputs), AXES)
    check_edges(inputs[1])
    return inputs
