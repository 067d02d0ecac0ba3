"""The measurements of one case, each as rows of the cost table."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import keras
import numpy as np

from keras_zigzag.benchmark import cost_memory
from keras_zigzag.benchmark.cost_cases import (
    CONTESTANTS,
    OF_HEADS,
    Case,
    build_contestant,
    make_data,
)
from keras_zigzag.benchmark.cost_table import Row, compare

Models = dict[str, keras.Model]
Run = Callable[[], object]

# CPU time, of all threads together, does not see what else the machine does.
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def measure_case(
    name: str, case: Case, repeats: int, memory_repeats: int, clock: str
) -> Iterator[Row]:
    """Yields the rows of one case, each as soon as it is measured."""
    if case.heads_from is not None:
        yield from measure_heads(case, repeats, clock)
        return
    models = {key: build_contestant(case, key) for key in CONTESTANTS}
    yield compare_parameters(case, models)
    yield from compare_fit(case, models, repeats, clock)
    yield compare_predict(case, models, repeats, clock)
    yield compare_export(case, models, repeats, clock)
    yield from compare_memory(name, case, memory_repeats)


def time_interleaved(
    runs: dict[str, Run], repeats: int, clock: str = "wall"
) -> dict[str, list[float]]:
    """Returns the seconds of each run, taken in turn in alternating order.

    Everything runs twice before the first measurement, so that tracing,
    compiling and the first allocations are not in it.
    """
    now = CLOCKS[clock]
    for run in [*runs.values()] * 2:
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for repeat in range(repeats):
        names = list(runs) if repeat % 2 == 0 else list(reversed(runs))
        for name in names:
            start = now()
            runs[name]()
            seconds[name].append(now() - start)
    return seconds


def compare_parameters(case: Case, models: Models) -> Row:
    base, zigzag = (models[key].count_params() for key in ("base", "both"))
    return to_row(case, "parameters", [base], [zigzag], "parameters")


def compare_fit(
    case: Case, models: Models, repeats: int, clock: str
) -> Iterator[Row]:
    seconds = time_fit(case, models, repeats, clock)
    for passes in ("both", "sampled"):
        yield to_row(
            case,
            f"fit step, {passes}",
            seconds["base"],
            seconds[passes],
        )


def compare_predict(
    case: Case, models: Models, repeats: int, clock: str
) -> Row:
    both = {key: models[key] for key in ("base", "both")}
    seconds = time_predict(case, both, repeats, clock)
    return to_row(case, "predict", seconds["base"], seconds["both"])


def measure_heads(case: Case, repeats: int, clock: str) -> Iterator[Row]:
    """Yields the rows of several heads.

    They are compared with a ZigZag model of one head, where the table has the
    base model, and with the prior at the heads with the base model.
    """
    names = ("base", "both", *OF_HEADS)
    models = {key: build_contestant(case, key) for key in names}
    sizes = {key: [model.count_params()] for key, model in models.items()}
    quantity = "parameters, five heads to one"
    yield to_row(case, quantity, sizes["both"], sizes["heads"], "parameters")
    for name, time_of in (("fit step", time_fit), ("predict", time_predict)):
        seconds = time_of(case, models, repeats, clock)
        quantity = f"{name}, five heads to one"
        yield to_row(case, quantity, seconds["both"], seconds["heads"])
        quantity = f"{name}, prior at five heads"
        yield to_row(case, quantity, seconds["base"], seconds["prior at heads"])


def time_fit(
    case: Case, models: Models, repeats: int, clock: str
) -> dict[str, np.ndarray]:
    """Returns the seconds of a step of `fit`, for each model and repeat."""
    x, y = make_data(case, case.num_steps * case.batch_size)

    def fit_of(model: keras.Model) -> Run:
        return lambda: model.fit(
            x, y, batch_size=case.batch_size, shuffle=False, verbose=0
        )

    runs = {key: fit_of(model) for key, model in models.items()}
    return per_step(case, time_interleaved(runs, repeats, clock))


def time_predict(
    case: Case, models: Models, repeats: int, clock: str
) -> dict[str, np.ndarray]:
    """Returns the seconds of a step of `predict`, likewise."""
    x, _ = make_data(case, case.num_steps * case.batch_size)

    def predict_of(model: keras.Model) -> Run:
        return lambda: model.predict(x, batch_size=case.batch_size, verbose=0)

    runs = {key: predict_of(model) for key, model in models.items()}
    return per_step(case, time_interleaved(runs, repeats, clock))


def per_step(
    case: Case, seconds: dict[str, list[float]]
) -> dict[str, np.ndarray]:
    return {
        key: np.divide(series, case.num_steps)
        for key, series in seconds.items()
    }


def compare_export(case: Case, models: Models, repeats: int, clock: str) -> Row:
    quantity = "exported SavedModel"
    if keras.backend.backend() != "tensorflow":
        reason = "skipped: needs the TensorFlow backend"
        return Row(case.title, quantity, "s", skipped=reason)
    x, _ = make_data(case, case.batch_size)
    with tempfile.TemporaryDirectory() as directory:
        runs = {
            key: load_exported(models[key], Path(directory) / key, x)
            for key in ("base", "both")
        }
        seconds = time_interleaved(runs, case.num_steps * repeats, clock)
    return to_row(case, quantity, seconds["base"], seconds["both"])


def load_exported(model: keras.Model, path: Path, x: np.ndarray) -> Run:
    """Returns a call of the model's SavedModel, as a server would load it."""
    # A SavedModel is TensorFlow's own format: nothing else can call it.
    import tensorflow as tf

    model.export(str(path), verbose=False)
    loaded = tf.saved_model.load(str(path))
    signature = loaded.signatures["serving_default"]
    (argument,) = signature.structured_input_signature[1]
    inputs = {argument: tf.constant(x)}

    # The signature does not keep alive the variables of what it came from.
    def call(owner: object = loaded) -> object:
        return [output.numpy() for output in signature(**inputs).values()]

    return call


def compare_memory(name: str, case: Case, repeats: int) -> Iterator[Row]:
    methods = [("fit", "both"), ("fit", "sampled"), ("predict", "both")]
    for method, contestant in methods:
        passes = f", {contestant}" if method == "fit" else ""
        quantity = f"peak memory of {method}{passes}"
        if reason := cost_memory.why_unavailable():
            yield Row(case.title, quantity, "bytes", skipped=reason)
            continue
        base, zigzag = (
            [
                cost_memory.peak_growth(name, key, method, case.batch_size)
                for _ in range(repeats)
            ]
            for key in ("base", contestant)
        )
        yield to_row(case, quantity, base, zigzag, "bytes")


def to_row(
    case: Case,
    quantity: str,
    base: Sequence[float] | np.ndarray,
    zigzag: Sequence[float] | np.ndarray,
    unit: str = "s",
) -> Row:
    target = case.target(quantity)
    return compare(case.title, quantity, unit, base, zigzag, target)
