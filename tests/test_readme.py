"""The README's example of graphs runs as it stands there."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parents[1] / "README.md"


def test_graphs_and_meshes():
    _, section = README.read_text().split("## Graphs and meshes\n")
    (block, *_) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names = {}
    exec(compile(block, str(README), "exec"), names)
    out, mask = names["out"], names["mask"]
    assert out["prediction"].shape == (64, 50, 1)
    np.testing.assert_array_equal(np.isfinite(out["uncertainty"]), mask)
