"""The examples of graphs and of heads in the READMEs run as they stand."""

import re
import sys
from pathlib import Path

import keras
import numpy as np

import keras_zigzag as kz
from tests.baselines import toys

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def run_example(title, names, path=README):
    """Runs the first example of a section, and returns its names."""
    _, section = path.read_text().split(f"## {title}\n")
    (block, *_) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(block, str(path), "exec"), names)
    return names


def test_graphs_and_meshes():
    names = run_example("Graphs and meshes", {})
    out, mask = names["out"], names["mask"]
    assert out["prediction"].shape == (64, 50, 1)
    np.testing.assert_array_equal(np.isfinite(out["uncertainty"]), mask)


def test_layers_of_the_aerodynamic_examples(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.path", [*sys.path])
    path = ROOT / "examples" / "aero" / "README.md"
    out = run_example("Layers", {}, path)["out"]
    assert out["prediction"].shape == (64, 1)
    assert np.isfinite(out["uncertainty"]).all()
    assert np.ptp(out["uncertainty"]) > 0


def test_several_heads():
    x = toys.features()
    given = {"kz": kz, "keras": keras, "base": toys.mlp(), "x_test": x}
    given |= {"x_train": x, "y_train": toys.labels()}
    out = run_example("Several heads", given)["out"]
    assert out["prediction"].shape == (24, 3)
    assert np.ptp(out["uncertainty"]) > 0
