"""Smaller experiments, made of the training and validation samples of others.

For choosing settings: what an experiment tests on, and what it counts as
out-of-distribution, is not looked at. What is unknown is of the same kind as
there, and taken from samples that the experiment trains and validates with.
"""

import dataclasses
from functools import partial
from pathlib import Path

import keras
import numpy as np
from uci import OOD_FRACTION, chosen_feature, is_upper

from keras_zigzag.benchmark import Data
from keras_zigzag.benchmark.datasets import split_validation
from keras_zigzag.benchmark.protocol_files import load_file

FOLDER = Path(__file__).parent
# Of files with several experiments; and those that take days in full.
CHOSEN = ("mnist-notebook", "mnist_split-notebook", "cifar10", "airfoils")
QUICK_ONLY = ("cifar10", "airfoils")

MAX_UNKNOWN = 2_000  # samples of the class that is held out
TEST_FRACTION = 0.2  # of the samples of a regression that are known


def bases(files, quick):
    """Pairs of a file and an experiment that smaller ones are made of."""
    for file in files:
        protocols = load_file(FOLDER / f"{file}.py")
        for base in protocols(quick or file in QUICK_ONLY):
            if base.name in CHOSEN or base.group == "uci":
                yield file, base


def smaller(base, kind, load, **changes):
    """The experiment on a part of the samples of another one.

    Args:
        base: `Protocol`.
        kind: String. What it is about; its name begins with it.
        load: Function of a seed and the `load` of `base`.
        **changes: Other arguments of `Protocol`.

    Returns:
        `Protocol`. Layers of its network have names, see `numbered`.
    """
    is_regression = base.task == "regression"
    unknown = {"test_fraction": TEST_FRACTION, "ood_fraction": OOD_FRACTION}
    if not is_regression:
        unknown = {"held_out": "class seed mod num_classes"}
    return dataclasses.replace(
        base,
        name=f"{kind}-{base.name.removesuffix('-notebook')}",
        title=f"{kind.capitalize()}: {base.title.split(' → ')[0]}",
        load=partial(load, load=base.load),
        build=partial(numbered, base.build, 0 if is_regression else 1),
        settings={**base.settings, "of": base.name, **unknown},
        group=base.group and f"{kind}-{base.group}",
        paper="",
        **changes,
    )


def numbered(build, num_fewer):
    """A base model of so many outputs fewer, with names that are known."""
    base = build()
    kinds = (keras.layers.Dense, keras.layers.Conv2D)
    mixing = [layer for layer in base.layers if isinstance(layer, kinds)]

    def copy(layer):
        config = layer.get_config()
        if layer in mixing:
            config["name"] = f"mixing_{mixing.index(layer) + 1}"
        if layer is mixing[-1]:
            config["units"] -= num_fewer
        return type(layer).from_config(config)

    return keras.models.clone_model(base, clone_function=copy)


def without_a_class(seed, load):
    """A classification in which one class is unknown, by the seed.

    The test is on the validation samples of the other classes. Nothing is
    trained with the unknown ones, so that all of them are of use.
    """
    data = load(seed)
    (x, y), (x_val, y_val) = data.train, data.validation
    held_out = seed % len(np.unique(y))
    test = known_classes(x_val, y_val, held_out)
    unknown = np.concatenate([x_val[y_val == held_out], x[y == held_out]])
    return Data(
        train=known_classes(x, y, held_out),
        validation=test,
        test=test,
        ood={"held_out": unknown[:MAX_UNKNOWN]},
    )


def known_classes(x, y, held_out):
    """The other classes, numbered without a gap."""
    known = y != held_out
    return x[known], y[known] - (y[known] > held_out)


def without_upper_part(seed, load):
    """A regression in which the upper part of one feature is unknown.

    With that of `uci` taken away already it is the part next to it, of the
    feature that the same rule chooses. The sets are small, so that training
    and validation samples are split anew, with a larger part for the test.
    """
    data = load(seed)
    both = zip(data.train, data.validation, strict=True)
    x, y = map(np.concatenate, both)
    upper = is_upper(x[:, chosen_feature(x)], OOD_FRACTION)
    return divided(x, y, upper, seed)


def without_upper_targets(seed, load):
    """A regression in which the upper part of the targets is unknown.

    For inputs of which no feature can be chosen, such as shapes.
    """
    data = load(seed)
    both = zip(data.train, data.validation, strict=True)
    x, y = map(np.concatenate, both)
    return divided(x, y, is_upper(y[:, 0], OOD_FRACTION), seed)


def divided(x, y, upper, seed):
    """What is known, split anew, and beside it what is not."""
    known = x[~upper], y[~upper]
    train, test = split_validation(*known, TEST_FRACTION, seed)
    return Data(train, validation=test, test=test, ood={"next": x[upper]})
