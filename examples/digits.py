"""Real handwritten digits: a network that knows 0-4 meets 5-9.

    python examples/digits.py

Needs no download: the 1,797 digits come with scikit-learn. ZigZag is compared
with the entropy of the same base model trained alone, and with the entropy
of its own first pass.
"""

import argparse
import sys

import keras
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import keras_zigzag as kz

NUM_CLASSES = 5  # 0-4 are known, 5-9 are out-of-distribution.
TEST_FRACTION = 0.7  # Large, so that every seed has mistakes to rank.
EPOCHS = 30
BATCH_SIZE = 32
NUM_SEEDS = 3
NAMES = ("single model, entropy", "ZigZag, distance", "ZigZag, entropy of y0")
COLUMNS = {
    "accuracy": "accuracy",
    "raulc": "rAULC",
    "OOD_roc_auc": "OOD ROC-AUC",
    "OOD_average_precision": "OOD average precision",
}
KNOWN, UNKNOWN = "0-4, known", "5-9, unknown"
OUT = "digits.png"
VERBOSE = "auto" if sys.stdout.isatty() else 2


def load_data(seed):
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8, 1).astype("float32")
    known = labels < NUM_CLASSES
    x_train, x_test, y_train, y_test = train_test_split(
        images[known],
        labels[known],
        test_size=TEST_FRACTION,
        stratify=labels[known],
        random_state=seed,
    )
    return (x_train, y_train), (x_test, y_test), images[~known]


def build_base():
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Rescaling(1 / 16),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(NUM_CLASSES, activation="softmax"),
        ]
    )


def train(model, data, epochs, callbacks=()):
    model.compile(
        optimizer="adam",
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    model.fit(
        *data,
        batch_size=BATCH_SIZE,
        epochs=epochs,
        verbose=VERBOSE,
        callbacks=list(callbacks),
    )
    return model


def save_figure(path, model, known, unknown):
    x = np.concatenate([known, unknown])
    is_ood = np.arange(len(x)) >= len(known)
    out = model.predict(x, verbose=0)
    u = out["uncertainty"]
    answers = [f"read as {k}" for k in out["prediction"].argmax(axis=-1)]
    figure = Figure(figsize=(7, 4.8), dpi=120, layout="constrained")
    top, bottom = figure.subplots(2, 1)
    kz.plots.gallery(x, u, answers, is_ood, num_images=8, ax=top)
    kz.plots.histograms({KNOWN: u[~is_ood]}, {UNKNOWN: u[is_ood]}, ax=bottom)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--out", default=OUT, help="the picture's path")
    args = parser.parse_args()

    reports = {name: [] for name in NAMES}
    for seed in range(args.seeds):
        train_data, (x, y), x_ood = load_data(seed)
        sets = (x, y), {"OOD": x_ood}

        print(f"\nSeed {seed}: single model")
        keras.utils.set_random_seed(seed)
        single = train(build_base(), train_data, args.epochs)
        reports[NAMES[0]].append(kz.evaluate_uncertainty(single, *sets))

        print(f"\nSeed {seed}: ZigZag")
        keras.utils.set_random_seed(seed)
        watch = kz.callbacks.UncertaintyEvaluation(
            *sets, frequency=10, metrics=["raulc", "OOD_roc_auc"]
        )
        zigzag = train(
            kz.ZigZagModel.from_model(build_base(), task="classification"),
            train_data,
            args.epochs,
            [watch],
        )
        report = kz.evaluate_uncertainty(zigzag, *sets, name="ZigZag")
        reports[NAMES[1]].append(report)
        reports[NAMES[2]].append(report.entropy)

    print(f"\nThe last seed in full:\n\n{report.bootstrap()}")
    save_figure(args.out, zigzag, x, x_ood)
    print(
        f"\nMean ± standard deviation over {args.seeds} seed(s), "
        f"{len(x)} test digits 0-4, {len(x_ood)} digits 5-9:\n"
    )
    print(kz.compare(reports, COLUMNS).to_markdown(mark_best=False))
    print(
        "\nA random score has rAULC 0, ROC-AUC 0.5 and average precision "
        f"{report['OOD_prevalence']:.3f}."
    )
    print(f"The last seed's picture is in {args.out}.")


if __name__ == "__main__":
    main()
