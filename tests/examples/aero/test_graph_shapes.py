"""What is no batch of graphs is said to be none, on every backend."""

import keras
import numpy as np
import pytest
from graph_layers import (
    GlobalMaxPooling,
    GlobalMeanPooling,
    GMMConv,
    GraphNorm,
    RelativeCoordinates,
    TransformerConv,
)

FEATURES, EDGES, VALUES = (2, 4, 3), (2, 6, 2), (2, 6, 5)
CONVOLUTIONS = [GMMConv, TransformerConv]
BAD_SHAPES = [
    [(2, 4), EDGES, VALUES],
    [(2, 4, 3, 1), EDGES, VALUES],
    [FEATURES, (6, 2), VALUES],
    [FEATURES, (2, 6, 3), VALUES],
    [FEATURES, EDGES, (6, 5)],
    [FEATURES, EDGES, (2, 6)],
    [FEATURES, EDGES, (2, 5, 5)],
    [FEATURES, EDGES, (1, 6, 5)],
    [FEATURES, (1, 6, 2), (1, 6, 5)],
]


def arrays(shapes):
    """Edges, which are the second, are integers."""
    types = ["float32", "int32", "float32"]
    return [np.zeros(*one) for one in zip(shapes, types, strict=False)]


@pytest.mark.parametrize("make", CONVOLUTIONS)
@pytest.mark.parametrize("shapes", BAD_SHAPES)
def test_convolutions(make, shapes):
    with pytest.raises(ValueError, match="takes a list of .*Received: "):
        make(4)(arrays(shapes))
    built = make(4)
    built.build([FEATURES, EDGES, VALUES])
    with pytest.raises(ValueError, match="takes a list of .*Received: "):
        built(arrays(shapes))


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_what_is_not_known_before_the_data(make):
    def inputs(num_edges):
        return [
            keras.Input((None, 3)),
            keras.Input((None, 2), dtype="int32"),
            keras.Input((num_edges, 5)),
        ]

    layer = make(4)
    assert layer(inputs(6)).shape == (None, None, 4)
    with pytest.raises(ValueError, match="Received: "):
        layer(inputs(6)[:2] + [keras.Input((5,))])


def test_what_may_be_missing():
    inputs = arrays([FEATURES, EDGES])
    assert TransformerConv(4)(inputs).shape == (2, 4, 4)
    with pytest.raises(ValueError, match="pseudo-coordinates of shape"):
        GMMConv(4)(inputs)
    with pytest.raises(ValueError, match="if there are any, edge features"):
        TransformerConv(4)(inputs[:1])


@pytest.mark.parametrize(
    "make", [GraphNorm, GlobalMaxPooling, GlobalMeanPooling]
)
@pytest.mark.parametrize("shape", [(2, 3), (2, 4, 3, 1), (2,)])
def test_layers_of_nodes(make, shape):
    expected = r"takes features of shape .*Received: .*pad_graphs"
    with pytest.raises(ValueError, match=expected):
        make()(np.zeros(shape))
    with pytest.raises(ValueError, match=expected):
        make()(keras.Input(shape[1:]))
    built = make()
    built.build(FEATURES)
    with pytest.raises(ValueError, match=expected):
        built(np.zeros(shape))


@pytest.mark.parametrize(
    "shapes", [[FEATURES], [(2, 4), EDGES], [FEATURES, (1, 6, 2)]]
)
def test_relative_coordinates(shapes):
    with pytest.raises(ValueError, match="takes a list of coordinates"):
        RelativeCoordinates()(arrays(shapes))
    symbolic = [
        keras.KerasTensor(one.shape, one.dtype) for one in arrays(shapes)
    ]
    with pytest.raises(ValueError, match="takes a list of coordinates"):
        RelativeCoordinates()(symbolic)
