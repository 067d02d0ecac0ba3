"""The layers of torch-geometric, for comparison."""

import numpy as np
import torch
from layer_steps import (
    KERNEL_SIZE,
    NUM_DIMS,
    NUM_FEATURES,
    NUM_HEADS,
    torch_step,
)
from torch_geometric import nn


def peer_step(kind, nodes, edges):
    """A pass over graphs of which each has its own arrays."""
    generator = np.random.default_rng(0)
    starts = np.cumsum([0, *map(len, nodes)])[:-1]
    pairs = [one + start for one, start in zip(edges, starts, strict=True)]
    index = torch.tensor(np.concatenate(pairs).T.astype("int64"))
    pseudo = generator.normal(size=(index.shape[1], NUM_DIMS))
    pseudo = torch.tensor(pseudo.astype("float32"))
    batch = torch.tensor(np.repeat(np.arange(len(nodes)), len(nodes[0])))
    features = torch.tensor(np.concatenate(nodes).astype("float32"))
    layer = make_peer(kind)
    calls = {
        "GMMConv": lambda first: layer(first, index, pseudo),
        "TransformerConv": lambda first: layer(first, index),
        "GraphNorm": lambda first: layer(first, batch, len(nodes)),
    }
    return torch_step(layer.parameters(), features, calls[kind])


def make_peer(kind):
    if kind == "GMMConv":
        return nn.GMMConv(NUM_FEATURES, NUM_FEATURES, NUM_DIMS, KERNEL_SIZE)
    if kind == "TransformerConv":
        width = NUM_FEATURES // NUM_HEADS
        return nn.TransformerConv(NUM_FEATURES, width, NUM_HEADS)
    return nn.GraphNorm(NUM_FEATURES)
