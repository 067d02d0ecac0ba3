"""What a step of the graph layers takes, beside torch-geometric's.

`KERAS_BACKEND=torch python examples/aero/benchmark_layers.py` measures one
forward and backward pass of each layer, as a ratio to the layer of the same
size of torch-geometric (`pip install torch_geometric`), whose values they
have. With another backend, or with `--among`, the ratio is to our own layer
with edges in any order. TensorFlow and JAX compile the pass with XLA, as
Keras does by default, and PyTorch does not.
"""

import argparse
import importlib.util
import os
import time

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras  # noqa: E402
import numpy as np  # noqa: E402
from graph_batches import pad_graphs  # noqa: E402
from graph_layers import GMMConv, GraphNorm, TransformerConv  # noqa: E402
from layer_steps import (  # noqa: E402
    KERNEL_SIZE,
    NUM_DIMS,
    NUM_FEATURES,
    NUM_HEADS,
    make_step,
)
from meshes import mesh_edges, ring_edges  # noqa: E402

PEER = "torch-geometric"


def main():
    options = parse_arguments()
    has_peer = keras.backend.backend() == "torch" and not options.among
    if has_peer and importlib.util.find_spec("torch_geometric") is None:
        raise SystemExit(
            "The comparison needs torch-geometric: pip install "
            "torch_geometric. Or give --among, to compare our layers."
        )
    print(describe(options))
    print("\n| graphs | layer | ms | ratio |\n|---|---|---|---|")
    for name, graphs in make_graphs(options).items():
        for kind in ("GMMConv", "TransformerConv", "GraphNorm"):
            steps = make_steps(kind, graphs, has_peer)
            for row in measure(steps, options.repeats):
                print(f"| {name} | {kind}, {row} |", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--rings", type=int, default=16, help="in a batch")
    parser.add_argument("--meshes", type=int, default=2, help="in a batch")
    parser.add_argument("--among", action="store_true", help="no comparison")
    options = parser.parse_args()
    if min(options.repeats, options.rings, options.meshes) < 1:
        parser.error("all numbers must be positive")
    return options


def describe(options):
    return (
        f"{keras.backend.backend()} {version()}, Keras {keras.__version__}, "
        f"{os.cpu_count()} cores; one forward and backward pass in float32, "
        f"{NUM_FEATURES} features in and out, {KERNEL_SIZE} Gaussians, "
        f"{NUM_HEADS} heads; {options.rings} rings of 160 nodes, "
        f"{options.meshes} grids of 1,600; medians with quartiles of "
        f"{options.repeats} interleaved runs, ratios within each."
    )


def version():
    return importlib.import_module(keras.backend.backend()).__version__


def make_graphs(options):
    """Graphs, as many as are in a batch, and what most nodes have of edges."""
    ring, grid = (160, ring_edges(160)), (1600, mesh_edges(grid_faces(40)))
    return {
        "rings": ([ring] * options.rings, 2),
        "grids": ([grid] * options.meshes, 6),
    }


def grid_faces(size):
    """Triangles between `size` times `size` points."""
    points = np.arange(size * size).reshape(size, size)
    corners = [points[:-1, :-1], points[:-1, 1:], points[1:, :-1]]
    first, right, below = (one.ravel() for one in corners)
    across = points[1:, 1:].ravel()
    upper = np.stack([first, right, across], axis=1)
    return np.concatenate([upper, np.stack([first, across, below], axis=1)])


def make_steps(kind, graphs, has_peer):
    """The contestants; the first is what the others are compared with."""
    graphs, degree = graphs
    generator = np.random.default_rng(0)
    sizes, edges = zip(*graphs, strict=True)
    nodes = [generator.normal(size=(size, NUM_FEATURES)) for size in sizes]
    steps = {}
    if has_peer:
        from torch_geometric_steps import peer_step

        steps[PEER] = peer_step(kind, nodes, edges)
    for name, rows in (("any order", None), ("in blocks", degree)):
        if kind == "GraphNorm" and rows:
            continue
        layer = make_layer(kind, rows)
        batch = pad_graphs(nodes, edges, degree=rows)
        shape = (*batch["edges"].shape[:2], NUM_DIMS)
        pseudo = generator.normal(size=shape).astype("float32")
        inputs = [batch["features"], batch["edges"], pseudo]
        steps[name] = make_step(layer, inputs[: num_inputs(kind)])
    return steps


def make_layer(kind, degree):
    if kind == "GMMConv":
        return GMMConv(NUM_FEATURES, KERNEL_SIZE, degree=degree)
    if kind == "TransformerConv":
        return TransformerConv(
            NUM_FEATURES // NUM_HEADS, NUM_HEADS, degree=degree
        )
    return GraphNorm()


def num_inputs(kind):
    return {"GMMConv": 3, "TransformerConv": 2, "GraphNorm": 1}[kind]


def measure(steps, repeats):
    """Rows of the table, of runs that take turns."""
    times = {name: [] for name in steps}
    for repeat in range(repeats + 2):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if repeat >= 2:  # Two runs to warm up.
                times[name].append(1e3 * (time.perf_counter() - start))
    first = np.array(next(iter(times.values())))
    for name, taken in times.items():
        yield f"{name} | {spread(taken)} | {spread(taken / first)}"


def spread(values):
    low, middle, high = np.percentile(values, [25, 50, 75])
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
