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
    assert len(METHODS) == 13


def test_each_says_what_it_is():
    for name, method in kz.methods().items():
        assert method.model.__name__ == name
        assert all(method), name
        parameters = list(inspect.signature(method.model.from_model).parameters)
        assert parameters[:2] == ["base", "task"]
        # Its documentation names the paper.
        year = method.reference[-4:]
        assert year in inspect.getdoc(method.model), name
