import pytest


@pytest.fixture(autouse=True)
def fresh_keras():
    """Nothing here makes a Keras object that a session would have to clear."""
