"""Thirteen methods on real digits: which one to trust, and at what cost.

    python examples/compare_methods.py

Networks that know the digits 0-4 meet 5-9. Every method is made of the same
base model and trained on the same samples for as many epochs. `TwoModels` is
for values only, so its network learns the classes as one-hot values. Needs no
download: the 1,797 digits come with scikit-learn.
"""

import argparse
import sys
import time
from statistics import median

import keras
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import keras_zigzag as kz

NUM_CLASSES = 5  # 0-4 are known, 5-9 are out-of-distribution.
TEST_FRACTION = 0.6  # Large, so that every method has mistakes to rank.
VALIDATION_FRACTION = 0.1
EPOCHS = 20
BATCH_SIZE = 32
SEED = 0
NUM_PREDICTIONS = 5  # Timed after one that compiles.
SINGLE = "SingleModel"
VALUES_ONLY = ("TwoModels",)
OWN_LOSS = ("EvidentialModel",)
METRICS = {
    "accuracy": "accuracy",
    "raulc": "rAULC",
    "aurc": "AURC",
    "OOD_roc_auc": "ROC-AUC",
    "OOD_average_precision": "average precision",
}
OUT = "compare_methods.png"
COSTS = ("parameters", "fit time", "predict time")
VERBOSE = 2


def load_data(seed):
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8, 1).astype("float32")
    known = labels < NUM_CLASSES
    options = {"random_state": seed}
    x, x_test, y, y_test = train_test_split(
        images[known],
        labels[known],
        test_size=TEST_FRACTION,
        stratify=labels[known],
        **options,
    )
    x, x_val, y, y_val = train_test_split(
        x, y, test_size=VALIDATION_FRACTION, stratify=y, **options
    )
    return (x, y), (x_val, y_val), (x_test, y_test), images[~known]


def build_base(activation):
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Rescaling(1 / 16),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(NUM_CLASSES, activation=activation),
        ]
    )


def train(name, train_data, val_data, epochs):
    """The trained model of a method, and the seconds that it took."""
    keras.utils.set_random_seed(SEED)
    from_model = kz.methods()[name].model.from_model
    if name in VALUES_ONLY:
        model = from_model(build_base("linear"), task="regression")
        model.compile("adam", "mse")
        train_data, val_data = as_values(train_data), as_values(val_data)
    else:
        model = from_model(build_base("softmax"), task="classification")
        loss = "sparse_categorical_crossentropy"
        model.compile(
            "adam", None if name in OWN_LOSS else loss, metrics=["accuracy"]
        )
    start = time.perf_counter()
    model.fit(
        *train_data,
        validation_data=val_data,
        batch_size=BATCH_SIZE,
        epochs=epochs,
        verbose=VERBOSE if sys.stdout.isatty() else 0,
    )
    return model, time.perf_counter() - start


def as_values(data):
    x, y = data
    return x, keras.utils.to_categorical(y, NUM_CLASSES)


def evaluate(name, model, test_data, x_ood):
    x, y = test_data
    if name not in VALUES_ONLY:
        return kz.evaluate_uncertainty(model, test_data, {"OOD": x_ood})
    out = model.predict(x, verbose=0)
    ood = model.predict(x_ood, verbose=0)["uncertainty"]
    answers = out["prediction"].argmax(-1)
    return kz.evaluate_scores(y, answers, out["uncertainty"], {"OOD": ood})


def time_predict(model, x):
    seconds = []
    for _ in range(1 + NUM_PREDICTIONS):
        start = time.perf_counter()
        model.predict(x, verbose=0)
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:])


def format_table(reports, costs):
    """Metrics, and costs as ratios to the single model."""
    header = ["method", *METRICS.values(), *COSTS]
    rows = [header, ["---", *["---:"] * (len(header) - 1)]]
    for name, report in reports.items():
        metrics = [f"{report[key]:.4f}" for key in METRICS]
        ratios = [
            f"{cost / single:.2f}"
            for cost, single in zip(costs[name], costs[SINGLE], strict=True)
        ]
        rows.append([name, *metrics, *ratios])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def save_figure(path, reports, costs):
    """One row for each method, from the best detector down."""
    names = sorted(reports, key=lambda name: reports[name]["OOD_roc_auc"])
    *_, single = costs[SINGLE]
    panels = {
        # What is worse than chance has no bar, and says so by its number.
        "OOD ROC-AUC": ([reports[name]["OOD_roc_auc"] for name in names], 0.5),
        "rAULC": ([reports[name]["raulc"] for name in names], 0.0),
        "predict time / single model": (
            [costs[name][-1] / single for name in names],
            0.0,
        ),
    }
    figure = Figure(figsize=(9, 4.2), dpi=120, layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True)
    for ax, (title, (values, start)) in zip(axes, panels.items(), strict=True):
        bars = ax.barh(names, [max(v - start, 0) for v in values], left=start)
        ax.bar_label(bars, [f"{v:.2f}" for v in values], padding=3, fontsize=8)
        ax.set_title(title, fontsize=10)
        ax.margins(x=0.18)
        ax.set_xlim(left=start)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--methods", nargs="+", choices=list(kz.methods()))
    parser.add_argument("--out", default=OUT, help="the picture's path")
    args = parser.parse_args()

    train_data, val_data, test_data, x_ood = load_data(SEED)
    names = list(kz.methods())
    if args.methods:
        names = [SINGLE, *(name for name in args.methods if name != SINGLE)]
    reports, costs = {}, {}
    for name in names:
        print(f"{name}: training", flush=True)
        model, fit_time = train(name, train_data, val_data, args.epochs)
        reports[name] = evaluate(name, model, test_data, x_ood)
        predict_time = time_predict(model, test_data[0])
        costs[name] = model.count_params(), fit_time, predict_time
    save_figure(args.out, reports, costs)
    print(
        f"\n{args.epochs} epochs on {len(train_data[0])} digits 0-4; "
        f"{len(test_data[0])} test digits 0-4, {len(x_ood)} digits 5-9; costs "
        f"relative to {SINGLE}:\n"
    )
    print(format_table(reports, costs))
    prevalence = reports[SINGLE]["OOD_prevalence"]
    print(
        "\nA random score has rAULC 0, ROC-AUC 0.5 and average precision "
        f"{prevalence:.3f}. One seed: differences of a few hundredths say "
        "little."
    )
    print(f"The picture is in {args.out}.")


if __name__ == "__main__":
    main()
