"""What passes along the edges of a batch of graphs, without a dense matrix.

The graphs of a batch become one graph without edges between its parts. An
edge reads its source (a gather), and what the edges bring is reduced at their
targets (a segment sum). Where the edges of a target stand in blocks of a few
rows, as `meshes.in_blocks` lays them, a block is reduced by itself and the
segment sum has little left to do, or nothing. Edges in any order are the
default, since all graphs have them. Blocks are faster, as
`benchmark_layers.py` measures: on grids of 1,600 nodes and at most six edges
each, a step of `GMMConv` took 0.3 of the time with PyTorch, 0.5 with JAX, and
about the same with TensorFlow and XLA.
"""

import keras
from keras import ops


class EdgeBlocks:
    """The edges of a batch of graphs, in blocks that share a target.

    Rows with a negative index are padding and go nowhere. An edge that leaves
    its graph, or that stands in the block of another target, brings NaN to
    the target of its block, so that it is noticed there and nowhere else.
    Where the graph has no such target, that is the source of the edge, or of
    one of the block's edges; where it has no such source either, node 0.

    Args:
        edges: Integer tensor of shape `(batch_size, num_edges, 2)`, pairs of
            source and target.
        num_nodes: Integer, or integer tensor where it is not known before
            the data. Nodes of a graph, padding included.
        degree: Integer. Rows of a block: one block for each node in order,
            and then others, each with a target that its rows name. Defaults
            to `None`: edges in any order.

    Raises:
        ValueError: If the edges are no such blocks.
    """

    def __init__(self, edges, num_nodes, degree=None):
        check_blocks(edges.shape[1], num_nodes, degree)
        self.batch_size, self.num_edges = ops.shape(edges)[:2]
        self.num_nodes = num_nodes
        self.any_order = degree is None
        self.degree = degree or 1
        # Blocks of which the target is known, and blocks in all.
        self.num_own = 0 if self.any_order else num_nodes
        self.num_blocks = self.num_edges // self.degree
        self._read(ops.cast(edges, "int32"))

    @property
    def only_own(self):
        """Whether each node has one block, as far as is known."""
        sizes = self.num_own, self.num_blocks
        is_known = all(isinstance(size, int) for size in sizes)
        return not self.any_order and is_known and sizes[0] == sizes[1]

    def from_sources(self, values):
        """What nodes have, `(nodes, ...)`, as `(blocks, degree, ...)`."""
        taken = ops.take(values, self.sources, axis=0)
        return self._as_blocks(taken, values.shape[1:])

    def from_targets(self, values):
        """What nodes have, `(nodes, ...)`, as `(blocks, 1, ...)`."""
        if not self.only_own:
            values = ops.take(values, self.targets, axis=0)
        return ops.expand_dims(values, axis=1)

    def of_edges(self, values):
        """What edges have, `(batch_size, num_edges, ...)`, by blocks."""
        return self._as_blocks(values, values.shape[2:])

    def clear(self, values, filler=None):
        """Values by blocks, with zero, or `filler`, in place of padding."""
        extra = (1,) * (len(values.shape) - 2)
        is_edge = ops.reshape(self.is_edge, (-1, self.degree, *extra))
        if filler is None:
            filler = ops.reshape(self.filler, (-1, self.degree, *extra))
        return ops.where(is_edge, values, ops.cast(filler, values.dtype))

    def sum(self, values):
        """Sums at the targets, `(nodes, ...)`, of values by blocks."""
        return self.sum_of_blocks(ops.sum(values, axis=1))

    def sum_of_blocks(self, values):
        """Sums at the targets of what each block has, `(blocks, ...)`."""
        return self._reduce(values, ops.segment_sum, ops.add)

    def softmax(self, scores):
        """Weights of the edges of each target, `(blocks, degree, ...)`."""
        lowest = -1e30  # Where a target has no edge.
        scores = self.clear(scores, filler=lowest)
        # The weights do not depend on it, so it has no gradient.
        highest = ops.stop_gradient(scores)
        highest = highest[:, 0] if self.any_order else ops.max(highest, axis=1)
        highest = self._reduce(highest, ops.segment_max, ops.maximum)
        # Segments without edges have -inf.
        highest = ops.maximum(highest, lowest)
        weights = self.clear(ops.exp(scores - self.from_targets(highest)))
        total = self.sum(weights)
        total = ops.where(total == 0, ops.ones_like(total), total)
        return weights / self.from_targets(total)

    def counts(self):
        """The number of edges of each target, `(nodes,)`, at least 1."""
        is_edge = ops.reshape(self.is_edge, (-1, self.degree))
        return ops.maximum(self.sum(ops.cast(is_edge, "float32")), 1.0)

    def _read(self, edges):
        source, target = edges[:, :, 0], edges[:, :, 1]
        is_padding = ops.minimum(source, target) < 0
        block_target = self._block_targets(source, target, is_padding)
        is_inside = ops.maximum(source, target) < self.num_nodes
        in_place = target == ops.repeat(block_target, self.degree, axis=1)
        is_edge = ops.logical_not(is_padding) & is_inside & in_place
        is_fault = ops.logical_not(is_padding | is_edge)
        self.is_edge = is_edge
        self.filler = ops.where(is_fault, float("nan"), 0.0)
        self._number(source, block_target)

    def _number(self, source, target):
        """Numbers nodes through the batch; `target` is that of each block."""
        first = ops.arange(self.batch_size, dtype="int32") * self.num_nodes
        first = ops.expand_dims(first, axis=1)
        has_target = target >= 0
        target = ops.where(has_target, target, 0) + first
        # Padding reads its target, so that no other node's NaN gets there.
        own = ops.repeat(target, self.degree, axis=1)
        self.sources = _flat(ops.where(self.is_edge, source + first, own))
        self.targets = _flat(target)
        # What has no target goes to a segment that nobody reads.
        nowhere = self.batch_size * self.num_nodes
        self.segments = _flat(ops.where(has_target, target, nowhere))

    def _block_targets(self, source, target, is_padding):
        """Nodes of the graph, -1 for other blocks without an edge."""
        inside = ops.where(target < self.num_nodes, target, -1)
        named = self._highest(ops.where(is_padding, -1, inside))
        # Of edges that lead out of the graph.
        start = ops.where(source < self.num_nodes, source, 0)
        start = self._highest(ops.where(is_padding, -1, start))
        named = ops.where(named < 0, start, named)
        place = ops.arange(self.num_blocks, dtype="int32")
        return ops.where(place < self.num_own, place, named)

    def _highest(self, nodes):
        """Of the nodes that the rows of a block name, `(batch, blocks)`."""
        if self.any_order:
            return nodes
        shape = (self.batch_size, self.num_blocks, self.degree)
        return ops.max(ops.reshape(nodes, shape), axis=2)

    def _reduce(self, values, segment_reduce, combine):
        """Reduces values of blocks, `(blocks, ...)`, to those of nodes."""
        if self.only_own:
            return values
        num_rows = self.batch_size * self.num_nodes
        if self.any_order:
            segments = segment_reduce(values, self.segments, num_rows + 1)
            return segments[:-1]
        own, values = self._parted(values)
        _, segments = self._parted(self.segments)
        others = segment_reduce(values, segments, num_rows + 1)
        return combine(own, others[:-1])

    def _parted(self, values):
        """Values of the nodes' own blocks, and of the others."""
        shape = values.shape[1:]
        values = ops.reshape(values, (self.batch_size, self.num_blocks, *shape))
        own, others = values[:, : self.num_own], values[:, self.num_own :]
        return ops.reshape(own, (-1, *shape)), ops.reshape(others, (-1, *shape))

    def _as_blocks(self, values, shape):
        return ops.reshape(values, (-1, self.degree, *shape))


def check_blocks(num_edges, num_nodes, degree):
    """Raises a `ValueError` for edges that are no blocks of `degree`."""
    sizes = (num_edges, num_nodes)
    if degree is None or not all(isinstance(size, int) for size in sizes):
        return
    if num_edges % degree or num_edges < num_nodes * degree:
        raise ValueError(
            f"With degree={degree} the edges must come in blocks of {degree} "
            "rows, one for each node at least. Received: "
            f"{num_edges} rows of edges and {num_nodes} nodes. Lay them out "
            "with `meshes.in_blocks` or `pad_graphs(..., degree=...)`, or "
            "give `degree=None`."
        )


def check_edges(edges):
    """Raises a `ValueError` for a shape or type that edges do not have."""
    dtype = keras.backend.standardize_dtype(edges.dtype)
    if len(edges.shape) != 3 or edges.shape[-1] != 2 or "int" not in dtype:
        raise ValueError(
            "Edges must be integers of shape (batch_size, num_edges, 2), "
            "pairs of source and target, with -1 as padding. Received: edges "
            f"of shape {tuple(edges.shape)} and type {dtype}."
        )


def _flat(values):
    return ops.reshape(values, (-1,))
