"""What a method costs in an experiment, relative to the single model."""

from __future__ import annotations

import itertools
import time
import warnings
from typing import Any

import keras
import numpy as np

from keras_zigzag.benchmark.cost_measure import Run, time_interleaved
from keras_zigzag.benchmark.cost_methods import ratio
from keras_zigzag.benchmark.protocol import (
    SINGLE,
    Data,
    Protocol,
    Variant,
)
from keras_zigzag.benchmark.recipes import Recipe
from keras_zigzag.evaluation.data import Batches

# Enough that what Keras does once per call does not count, and no more: it is
# done many times, by methods that take many times as long.
MIN_BATCHES, MAX_BATCHES, MAX_SAMPLES = 8, 40, 8_000
SECONDS = 1.0  # of the single model's `fit`
REPEATS = 5
# What two layers may differ in and still be the same.
NAMES = ("name", "dtype", "trainable", "seed", "batch_shape", "build_config")


def costs_of(
    protocol: Protocol, variant: Variant, data: Data
) -> dict[str, Any]:
    """Size, times and changes, as the tables of the paper have them.

    New models are built for it, and timed in turn on the same few batches.

    Args:
        protocol: `Protocol`.
        variant: `Variant`.
        data: `Data`.

    Returns:
        Dictionary. `"size"`: the number of parameters over that of the single
        model; `"inference_time"` and `"training_time"`: median, lower and
        upper quartile of the ratios; `"changed_layers"`: see
        `share_of_changed_layers`; `"parameters"`.
    """
    single = Recipe(protocol, Variant(SINGLE))
    recipe = Recipe(protocol, variant)
    models = {
        SINGLE: (single, single.trainee(data)),
        "method": (recipe, recipe.trainee(data)),
    }
    methods = {
        name: each.unfinished(trainee)
        for name, (each, trainee) in models.items()
    }
    size = protocol.training.batch_size
    x, y = enough(models[SINGLE][1], *first_batches(data.train, size), size)
    with warnings.catch_warnings():
        # Certificates that are random take as long as trained ones.
        warnings.simplefilter("ignore")
        training = time_interleaved(
            {name: _fit(one, x, y, size) for name, (_, one) in models.items()},
            REPEATS,
        )
        inference = time_interleaved(
            {name: _predict(one, x, size) for name, one in methods.items()},
            REPEATS,
        )
    parameters = methods["method"].count_params()
    return {
        "size": parameters / methods[SINGLE].count_params(),
        "inference_time": _ratio(inference),
        "training_time": _ratio(training),
        "changed_layers": share_of_changed_layers(
            protocol.build(), methods["method"]
        ),
        "parameters": parameters,
    }


def share_of_changed_layers(base: keras.Model, model: keras.Model) -> float:
    """How much of a network is new, from the two models.

    Of the layers of the method's model the share that is not in the base
    model, of the same class, settings and sizes. The copies of an ensemble
    change nothing.

    Args:
        base: Base model.
        model: `UncertaintyModel` that was made of it.

    Returns:
        Float from 0, if no layer was touched or added, to 1.
    """
    with warnings.catch_warnings():
        # Nothing is saved, so it does not matter what could be loaded.
        warnings.simplefilter("ignore")
        known = {_fingerprint(layer) for layer in leaf_layers(base)}
        found = [_fingerprint(layer) for layer in leaf_layers(model)]
    return sum(one not in known for one in found) / len(found)


def leaf_layers(model: Any) -> list[Any]:
    """All layers that hold no others, each of them once."""
    found: dict[int, Any] = {}
    for layer in model.layers:
        inner = getattr(layer, "layers", None)
        if inner:
            found.update({id(one): one for one in leaf_layers(layer)})
        elif not isinstance(layer, keras.layers.InputLayer):
            found[id(layer)] = layer
    return list(found.values())


def first_batches(data: Any, batch_size: int) -> tuple[Any, Any]:
    """Arrays of the first samples of `(x, y)` or of a data set."""
    batches = Batches(data, "`train`", batch_size)
    number = min(MAX_BATCHES, max(2, MAX_SAMPLES // batch_size))
    some = list(itertools.islice(iter(batches), number))
    x, y = (
        keras.tree.map_structure(
            lambda *leaves: np.concatenate([np.asarray(x) for x in leaves]),
            *parts,
        )
        for parts in zip(*((x, y) for x, y, _ in some), strict=True)
    )
    return x, y


def enough(single: keras.Model, x: Any, y: Any, size: int) -> tuple[Any, Any]:
    """As many batches as the single model trains on in a second or so."""

    def first(count: int) -> tuple[Any, Any]:
        return keras.tree.map_structure(
            lambda leaf: leaf[: count * size], (x, y)
        )

    fit = _fit(single, *first(2), size)
    fit()
    start = time.perf_counter()
    fit()
    number = 2 * SECONDS / (time.perf_counter() - start)
    return first(int(np.clip(number, MIN_BATCHES, MAX_BATCHES)))


def _fingerprint(layer: Any) -> str:
    config = {
        key: value
        for key, value in layer.get_config().items()
        if key not in NAMES
    }
    shapes = [tuple(weight.shape) for weight in layer.weights]
    return f"{type(layer).__name__} {sorted(map(str, config.items()))} {shapes}"


def _fit(model: keras.Model, x: Any, y: Any, size: int) -> Run:
    return lambda: model.fit(x, y, batch_size=size, verbose=0)


def _predict(model: keras.Model, x: Any, size: int) -> Run:
    return lambda: model.predict(x, batch_size=size, verbose=0)


def _ratio(seconds: dict[str, list[float]]) -> list[float]:
    spread = ratio(seconds, "method")
    return [spread.median, spread.low, spread.high]
