import keras
import pytest

from tests.examples.scripts import run_example


@pytest.mark.slow
def test_benchmark():
    sizes = ["--repeats", 1, "--rings", 1, "--meshes", 1]
    output = run_example(
        "aero/benchmark_layers.py", "--among", *sizes, timeout=300
    )
    assert keras.backend.backend() in output
    assert "| rings | GMMConv, in blocks |" in output
    assert "| grids | TransformerConv, any order |" in output
