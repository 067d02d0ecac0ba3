"""What hypothesis draws for the tests of the metrics."""

import numpy as np
from hypothesis import strategies as st

# Few values, so that most samples tie.
TIED = st.integers(0, 3).map(float)
UNTIED = st.floats(-1e6, 1e6, width=32)


@st.composite
def ranked(draw, values, max_size=7, scores=TIED):
    """Values and scores, two arrays of the same length."""
    size = draw(st.integers(1, max_size))
    value = draw(st.lists(values, min_size=size, max_size=size))
    score = draw(st.lists(scores, min_size=size, max_size=size))
    return np.array(value), np.array(score)


def losses(max_size=7, scores=TIED):
    return ranked(st.integers(0, 20).map(lambda n: n / 8), max_size, scores)


def errors(max_size=7, scores=TIED):
    return ranked(st.integers(1, 40).map(lambda n: n / 8), max_size, scores)


def corrects(max_size=7, scores=TIED):
    return ranked(st.booleans(), max_size, scores)


# All of whose orders can be tried.
FEW_OF_BOTH = st.deferred(
    lambda: two_sets().filter(lambda sets: sum(map(len, sets)) <= 7)
)


def two_sets(max_size=4, scores=TIED):
    """Scores of ID and of OOD samples."""
    side = st.lists(scores, min_size=1, max_size=max_size).map(np.array)
    return st.tuples(side, side)
