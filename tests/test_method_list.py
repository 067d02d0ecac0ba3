import inspect

import keras_zigzag as kz
from tests.baselines.methods import METHODS


def test_all_methods_are_listed():
    classes = {
        name
        for name, one in inspect.getmembers(kz.baselines, inspect.isclass)
        if issubclass(one, kz.UncertaintyModel)
    }
    assert set(kz.methods()) == classes | {"ZigZagModel"}
    assert len(kz.methods()) == 13
    # ZigZag twice, with one head and with several.
    assert len(METHODS) == 14


def test_each_says_what_it_is():
    for name, method in kz.methods().items():
        assert method.model.__name__ == name
        assert all(method), name
        parameters = list(inspect.signature(method.model.from_model).parameters)
        assert parameters[:2] == ["base", "task"]
        # Its documentation names the paper.
        year = method.reference[-4:]
        assert year in inspect.getdoc(method.model), name


def test_it_prints_as_a_table():
    header, rule, *rows = repr(kz.methods()).splitlines()
    assert header.startswith("| method | tasks | needs | returns |")
    assert len({line.count("|") for line in (header, rule, *rows)}) == 1
    assert [row.split(" | ")[0][2:] for row in rows] == list(kz.methods())
