"""The aerodynamic experiments, on shapes made by hand."""

import pytest

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


@pytest.mark.slow_but_on("tensorflow", "torch")
@pytest.mark.first_quick_on("tensorflow", "jax", "torch")
@pytest.mark.parametrize("name", NAMES)
def test_quick_run(name, made_shapes):
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
def test_all_methods_can_be_made(name, made_shapes):
    (protocol,) = load_file(name).protocols(quick=True)
    assert_all_methods(protocol)


def test_settings_of_the_appendix(made_shapes):
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
