"""Loads the protocols of the examples, and makes models of all methods."""

import importlib.util
import sys

import keras_zigzag as kz
from tests.examples.scripts import EXAMPLES

FOLDER = EXAMPLES / "protocols"


def load_file(name):
    """The module of a protocol, which may share its name with an example."""
    if str(FOLDER) not in sys.path:
        # Last, since examples of the same name come first.
        sys.path.append(str(FOLDER))
    spec = importlib.util.spec_from_file_location(
        f"protocols_{name}", FOLDER / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_all_methods(protocol):
    """Checks that each method of the task can be made of the base model."""
    variants = protocol.all_variants()
    assert len(variants) >= 10
    for label, variant in variants.items():
        method = kz.methods()[variant.method]
        model = method.model.from_model(
            protocol.build(), task=protocol.task, **variant.options
        )
        assert isinstance(model, kz.UncertaintyModel), label
