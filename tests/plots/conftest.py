import io

import keras
import matplotlib.pyplot as plt
import pytest


def pytest_collection_modifyitems(items):
    # NumPy and Matplotlib alone: one backend is as good as three.
    if keras.backend.backend() != "tensorflow":
        reason = "The plots know no backend; they are tested on TensorFlow"
        for item in items:
            if "plots" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def fresh_keras():
    """Nothing here makes a Keras object that a session would have to clear."""


@pytest.fixture(autouse=True)
def no_global_state():
    """No figure of pyplot is left open, and no setting is changed."""
    before = dict(plt.rcParams)
    yield
    still_open = plt.get_fignums()
    plt.close("all")
    assert still_open == []
    assert dict(plt.rcParams) == before


@pytest.fixture
def rendered():
    """Draws the axes for real, where most mistakes come to light."""

    def render(ax):
        ax.figure.canvas.figure.savefig(io.BytesIO(), format="png")
        return ax

    return render
