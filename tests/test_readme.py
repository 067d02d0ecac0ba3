"""The README's examples of graphs and of heads run as they stand there."""

import re
from pathlib import Path

import keras
import numpy as np

import keras_zigzag as kz
from tests.baselines import toys

README = Path(__file__).parents[1] / "README.md"


def run_example(title, names):
    """Runs the first example of a section, and returns its names."""
    _, section = README.read_text().split(f"## {title}\n")
    (block, *_) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(block, str(README), "exec"), names)
    return names


def test_graphs_and_meshes():
    names = run_example("Graphs and meshes", {})
    out, mask = names["out"], names["mask"]
    assert out["prediction"].shape == (64, 50, 1)
    np.testing.assert_array_equal(np.isfinite(out["uncertainty"]), mask)


def test_several_heads():
    x = toys.features()
    given = {"kz": kz, "keras": keras, "base": toys.mlp(), "x_test": x}
    given |= {"x_train": x, "y_train": toys.labels()}
    out = run_example("Several heads", given)["out"]
    assert out["prediction"].shape == (24, 3)
    assert np.ptp(out["uncertainty"]) > 0
