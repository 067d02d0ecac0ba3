import pytest


@pytest.fixture(autouse=True)
def fresh_keras():
    """A metric leaves nothing in the session that one would have to clear.

    Clearing it would have JAX compile everything again for the next test.
    """
