import numpy as np
import pytest

from keras_zigzag import plots
from keras_zigzag.plots.axes import axes_for
from tests.plots.cases import labels, line

X = np.array([-2.0, 0.0, 2.0, 4.0])
MEAN = np.array([[1.0], [0.0], [1.0], [2.0]])
SCORE = np.array([0.3, 0.1, 0.1, 0.4])
POINTS = ([-1.0, 0.5, 2.5], [[0.4], [0.1], [1.2]])


def edges(ax):
    """Where the band begins and ends, by place."""
    vertices = ax.collections[0].get_paths()[0].vertices
    return {
        x: (
            vertices[vertices[:, 0] == x, 1].min(),
            vertices[vertices[:, 0] == x, 1].max(),
        )
        for x in X
    }


def test_values():
    ax = plots.band(X, MEAN, SCORE, truth=X**2, scale=2.0)
    np.testing.assert_array_equal(line(ax, "prediction"), [X, MEAN[:, 0]])
    np.testing.assert_array_equal(line(ax, "truth"), [X, X**2])
    for x, mean, score in zip(X, MEAN[:, 0], SCORE, strict=True):
        assert edges(ax)[x] == (mean - 2 * score, mean + 2 * score)
    assert labels(ax) == ["± 2 × uncertainty", "prediction", "truth"]


def test_order_does_not_matter():
    order = [2, 0, 3, 1]
    ax = plots.band(X[order], MEAN[order], SCORE[order])
    np.testing.assert_array_equal(line(ax, "prediction"), [X, MEAN[:, 0]])


def test_points_and_where_there_are_none(rendered):
    ax = rendered(plots.band(X, MEAN, points=POINTS))
    spans = [
        (patch.get_x(), patch.get_x() + patch.get_width())
        for patch in ax.patches
    ]
    assert spans == [(-2.0, -1.0), (2.5, 4.0)]
    np.testing.assert_array_equal(
        ax.collections[0].get_offsets(),
        [[-1.0, 0.4], [0.5, 0.1], [2.5, 1.2]],
    )
    assert labels(ax) == ["no training data", "training data", "prediction"]


def test_every_point_and_what_was_there_is_in_sight():
    line = [-1.0, 1.0], [0.0, 1.0]
    ax = plots.band(*line, points=([-4.0, 0.0, 4.0], [1.0, 2.0, 3.0]))
    assert ax.get_xlim() == (-4.0, 4.0)
    plots.band(*line, ax=ax)
    assert ax.get_xlim() == (-4.0, 4.0)
    plots.band([2.0, 5.0], line[1], ax=ax)
    assert ax.get_xlim() == (-4.0, 5.0)


def test_a_line_without_ends_is_no_data(rendered):
    ax = axes_for(None)
    ax.axhline(0.0)
    rendered(plots.band([100.0, 200.0], [0.0, 1.0], ax=ax))
    assert ax.get_xlim() == (100.0, 200.0)


def test_says_what_is_left_out(rendered):
    score = np.where(X == 0.0, np.nan, SCORE)
    points = ([0.0, np.nan], [1.0, 1.0])
    ax = rendered(plots.band(X, MEAN, score, points=points))
    assert "± uncertainty (1 of 4 not finite, left out)" in labels(ax)
    assert ax.get_title(loc="right") == "1 of 2 not finite, left out"


def test_gaps_of_the_prediction_are_counted(rendered):
    mean = np.where(X == 0.0, np.nan, X)
    ax = rendered(plots.band(X, mean, truth=X))
    assert labels(ax) == ["prediction (1 of 4 not finite, left out)", "truth"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"prediction": MEAN[:3]}, "`prediction` of shape \\(3,\\)"),
        ({"uncertainty": SCORE[:3]}, "`uncertainty` of shape \\(3,\\)"),
        ({"truth": X[:3]}, "`truth` of shape \\(3,\\)"),
        ({"x": []}, "at least one sample"),
        ({"x": [0.0, 1.0, 2.0, np.nan]}, "`x` must not hold NaN"),
        ({"prediction": np.full(4, np.nan)}, "none of them finite"),
        ({"points": X}, "pair of arrays"),
        ({"points": (X, X[:2])}, "`targets` of shape \\(2,\\)"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        plots.band(**{"x": X, "prediction": MEAN} | change)
