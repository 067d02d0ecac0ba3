"""Every example in a public docstring runs and prints what it says."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import sys

import keras
import numpy as np
import pytest

import keras_zigzag


def _modules():
    names = [
        module.name
        for module in pkgutil.walk_packages(
            keras_zigzag.__path__, "keras_zigzag."
        )
    ]
    return [importlib.import_module(name) for name in names]


def _examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [
        test
        for module in _modules()
        for test in finder.find(module, globs={})
        if test.examples
    ]


class Numbers(doctest.OutputChecker):
    """Compares numbers as numbers, whatever the backend prints."""

    def check_output(self, want, got, optionflags):
        if not want or want == got:
            return True
        try:
            expected, given = ast.literal_eval(want), ast.literal_eval(got)
        except (SyntaxError, ValueError):
            return super().check_output(want, got, optionflags)
        expected, given = map(keras.tree.flatten, (expected, given))
        return len(expected) == len(given) and np.allclose(
            expected, given, atol=1e-5
        )


def _show(value):
    if value is None:
        return
    if keras.ops.is_tensor(value):
        value = keras.ops.convert_to_numpy(value)
    print(value.tolist() if isinstance(value, np.ndarray) else repr(value))


def _base():
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )


def _data():
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    return x, np.arange(8) % 3


@pytest.fixture(scope="module")
def trained():
    model = keras_zigzag.ZigZagModel.from_model(_base(), task="classification")
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(*_data(), verbose=0)
    return model


@pytest.fixture
def namespace(trained):
    """What the examples take as given."""
    x, labels = _data()
    return {
        "keras": keras,
        "keras_zigzag": keras_zigzag,
        "np": np,
        "base": _base(),
        "model": trained,
        "x_train": x,
        "y_train": labels,
        "x_val": x,
        "x_test": x,
        "y_test": labels,
    }


def test_there_are_examples():
    names = {test.name.rsplit(".", 1)[-1] for test in _examples()}
    assert {"widen_model", "ZigZagModel", "OneHotPrior", "norm"} <= names


@pytest.mark.parametrize("example", _examples(), ids=lambda test: test.name)
def test_example(example, namespace, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "__displayhook__", _show)
    example.globs.update(namespace)
    runner = doctest.DocTestRunner(Numbers(), optionflags=doctest.ELLIPSIS)
    report = []
    runner.run(example, out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize(
    "module", _modules(), ids=lambda module: module.__name__
)
def test_public_classes_and_functions_have_docstrings(module):
    for name, member in vars(module).items():
        if name.startswith("_") or getattr(member, "__module__", "") != (
            module.__name__
        ):
            continue
        if inspect.isclass(member):
            assert member.__doc__, f"{module.__name__}.{name}"
