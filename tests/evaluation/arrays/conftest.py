import keras
import pytest


def pytest_collection_modifyitems(items):
    # NumPy alone: one backend is as good as three.
    if keras.backend.backend() != "tensorflow":
        reason = "Reports on arrays know no backend; tested on TensorFlow"
        for item in items:
            if "arrays" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def fresh_keras():
    """Nothing here makes a Keras object that a session would have to clear."""
