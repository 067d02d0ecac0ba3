"""What each method costs, as ratios to a single model of the same run.

`python -m keras_zigzag.benchmark.cost --methods all`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import keras

import keras_zigzag as kz
from keras_zigzag.benchmark.cost_cases import NUM_CLASSES, Case, make_data
from keras_zigzag.benchmark.cost_measure import Run, time_interleaved
from keras_zigzag.benchmark.cost_table import Spread, format_ratio, join_cells
from keras_zigzag.benchmark.protocol import OF_SAMPLES, SINGLE, Variant

# Where the other methods of samples are by default: what comes before is
# computed once.
LAST_LAYER = "BatchEnsemble-last-layer"
HIGHEST_OF_SAMPLES = 5.2
PREDICT_TARGETS = dict.fromkeys(
    [*OF_SAMPLES, LAST_LAYER], HIGHEST_OF_SAMPLES
) | {
    # One, and what a median may be off by chance.
    "TemperatureScaling": 1.05
}
COLUMNS = (
    "model",
    "method",
    "parameters",
    "fit step (quartiles)",
    "predict (quartiles)",
    "target of predict",
    "reached",
)


@dataclass(frozen=True)
class MethodRow:
    """The ratios of one method to the single model.

    Args:
        model: String. Title of the case.
        method: String. Name of the class.
        parameters: Float.
        fit: `Spread`.
        predict: `Spread`.
    """

    model: str
    method: str
    parameters: float
    fit: Spread
    predict: Spread

    @property
    def target(self) -> float | None:
        return PREDICT_TARGETS.get(self.method)

    @property
    def reached(self) -> bool | None:
        if self.target is None:
            return None
        return self.predict.median <= self.target


def variants() -> dict[str, Variant]:
    """What is compared with the single model, by the name of its row."""
    found = {}
    for name in kz.methods():
        options = OF_SAMPLES.get(name, {})
        found[name] = Variant(name, options)
        if name == "BatchEnsemble":
            found[LAST_LAYER] = Variant(name, {**options, "layers": 1})
    return found


def method_names() -> list[str]:
    """The rows beside that of the single model."""
    return [name for name in variants() if name != SINGLE]


def measure_methods(
    case: Case, names: Sequence[str], repeats: int, clock: str
) -> Iterator[MethodRow]:
    """Yields a row for each method.

    Each is measured in turn with the single model, and no more than these
    two are in memory.
    """
    single = build_method(case, SINGLE)
    for name in names:
        models = {SINGLE: single, name: build_method(case, name)}
        fit = time_interleaved(
            {key: fit_of(case, model) for key, model in models.items()},
            repeats,
            clock,
        )
        predict = time_interleaved(
            {key: predict_of(case, model) for key, model in models.items()},
            repeats,
            clock,
        )
        yield MethodRow(
            case.title,
            name,
            models[name].count_params() / single.count_params(),
            ratio(fit, name),
            ratio(predict, name),
        )


def build_method(case: Case, name: str) -> keras.Model:
    """Returns the compiled model of a method.

    What is defined for values only gets the classes as one-hot values.
    """
    variant = variants()[name]
    method, options = kz.methods()[variant.method].model, variant.options
    base = case.build()
    base.compile("adam", "sparse_categorical_crossentropy")
    if takes_values(variant.method):
        base.layers[-1].activation = keras.activations.linear
        model = method.from_model(base, task="regression", **options)
        model.compile("adam", "mse", jit_compile=base.jit_compile)
        return model
    model = method.from_model(base, task="classification", **options)
    has_own_loss = getattr(model, "has_own_loss", False)
    loss = None if has_own_loss else "sparse_categorical_crossentropy"
    model.compile("adam", loss, jit_compile=base.jit_compile)
    return model


def takes_values(name: str) -> bool:
    return "classification" not in kz.methods()[name].tasks


def fit_of(case: Case, model: keras.Model) -> Run:
    x, y = make_data(case, case.num_steps * case.batch_size)
    if takes_values(type(model).__name__):
        y = keras.utils.to_categorical(y, NUM_CLASSES)
    return lambda: model.fit(
        x, y, batch_size=case.batch_size, shuffle=False, verbose=0
    )


def predict_of(case: Case, model: keras.Model) -> Run:
    x, _ = make_data(case, case.num_steps * case.batch_size)
    return lambda: model.predict(x, batch_size=case.batch_size, verbose=0)


def ratio(seconds: dict[str, list[float]], name: str) -> Spread:
    """Taken within each repeat, where both met the same machine."""
    pairs = zip(seconds[name], seconds[SINGLE], strict=True)
    return Spread.of([ours / single for ours, single in pairs])


def format_methods(rows: Sequence[MethodRow]) -> str:
    """Returns the rows as a Markdown table."""
    lines = [join_cells(COLUMNS), join_cells(["---"] * len(COLUMNS))]
    return "\n".join(lines + [format_method(row) for row in rows])


def format_method(row: MethodRow) -> str:
    cells = [
        row.model,
        row.method,
        f"{row.parameters:.3f}",
        format_ratio(row.fit),
        format_ratio(row.predict),
        "–" if row.target is None else f"≤ {row.target:.2f}",
        {True: "yes", False: "no", None: "–"}[row.reached],
    ]
    return join_cells(cells)
