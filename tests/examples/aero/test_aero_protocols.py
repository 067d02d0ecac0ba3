"""The aerodynamic experiments, on shapes made by hand."""

import numpy as np
import pytest
from meshes import ring_edges

from keras_zigzag.benchmark.recipes import Recipe
from tests.examples.protocol_files import assert_all_methods, load_file

NAMES = ("airfoils", "cars_drag", "cars_pressure")
REQUIRED = (
    "ZigZagModel",
    "SingleModel",
    "MCDropout",
    "DeepEnsemble",
    "TwoModels",
)
NUM_SHAPES, NUM_NODES = 40, 12


@pytest.fixture
def aero(tmp_path, monkeypatch):
    """A ring for each airfoil, and a double pyramid for each car."""
    monkeypatch.setenv("KERAS_ZIGZAG_AERO_DIR", str(tmp_path))
    generator = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 160, endpoint=False)
    thickness = generator.uniform(0.1, 0.2, NUM_SHAPES)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    nodes = np.stack([ring * [1.0, size] for size in thickness])
    np.savez(
        tmp_path / "airfoils.npz",
        nodes=nodes.astype("float32"),
        lift_to_drag=(300 * thickness).astype("float32"),
    )
    vertices, faces = pyramids(thickness)
    np.savez(
        tmp_path / "cars.npz",
        vertices=vertices,
        faces=faces,
        drag_coefficient=thickness.astype("float32"),
        pressure_coefficient=vertices[..., 0],
    )


def pyramids(heights):
    """A ring of vertices, and a tip above and below it."""
    angle = np.linspace(0, 2 * np.pi, NUM_NODES - 2, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    tips = np.array([[0, 0, 1.0], [0, 0, -1.0]])
    body = np.concatenate([ring, tips])
    vertices = np.stack([body * [1, 1, height] for height in heights])
    pairs = [(a, b) for a, b in ring_edges(NUM_NODES - 2) if a < b]
    upper = [(a, b, NUM_NODES - 2) for a, b in pairs]
    lower = [(b, a, NUM_NODES - 1) for a, b in pairs]
    return vertices.astype("float32"), np.array(upper + lower, "int32")


@pytest.mark.parametrize("name", NAMES)
def test_quick_run(name, aero):
    (protocol,) = load_file(name).protocols(quick=True)
    data = protocol.load(0)
    variant = protocol.chosen("ZigZagModel")["ZigZagModel"]
    model = Recipe(protocol, variant).trainee(data)
    model.fit(*data.train, batch_size=8, epochs=1, verbose=0)
    out = model.predict(data.ood["upper"], verbose=0)
    # One for each shape, also where each vertex has a pressure.
    assert out["uncertainty"].shape == (len(data.ood["upper"]),)
    assert out["prediction"].shape[1:] == data.train[1].shape[1:]
    assert "graph layers" in protocol.settings["size"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_all_methods_can_be_made(name, aero):
    (protocol,) = load_file(name).protocols(quick=True)
    assert_all_methods(protocol)


def test_settings_of_the_appendix(aero):
    airfoils, drag, pressure = (
        load_file(name).protocols(quick=False)[0] for name in NAMES
    )
    epochs = [one.training.epochs for one in (airfoils, drag, pressure)]
    assert epochs == [10, 100, 1500]
    for protocol, start in (
        (airfoils, "25 graph layers"),
        (drag, "35 graph layers"),
        (pressure, "70 graph layers"),
    ):
        assert protocol.settings["size"].startswith(start)
        assert set(REQUIRED) <= set(protocol.all_variants())
