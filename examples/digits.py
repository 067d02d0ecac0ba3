"""Real handwritten digits: a network that knows 0-4 meets 5-9.

    python examples/digits.py

Needs no download: the 1,797 digits come with scikit-learn. ZigZag is compared
with the entropy of the same base model trained alone, and with the entropy
of its own first pass.
"""

import argparse
import sys

import evaluation
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


def train(model, data, epochs):
    model.compile(
        optimizer="adam",
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    model.fit(*data, batch_size=BATCH_SIZE, epochs=epochs, verbose=VERBOSE)
    return model


def save_figure(path, known, unknown):
    figure = Figure(figsize=(7, 4.8), dpi=120, layout="constrained")
    top, bottom = figure.subplots(2, 1)
    x, p, u = map(np.concatenate, zip(known, unknown, strict=True))
    answers = [f"read as {k}" for k in p.argmax(axis=-1)]
    is_ood = np.arange(len(u)) >= len(known[0])
    kz.plots.gallery(x, u, answers, is_ood, num_images=8, ax=top)
    kz.plots.histograms({KNOWN: known[2]}, {UNKNOWN: unknown[2]}, ax=bottom)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--out", default=OUT, help="the picture's path")
    args = parser.parse_args()

    rows = {
        "single model, entropy": [],
        "ZigZag, distance": [],
        "ZigZag, entropy of y0": [],
    }
    for seed in range(args.seeds):
        train_data, (x, y), x_ood = load_data(seed)

        print(f"\nSeed {seed}: single model")
        keras.utils.set_random_seed(seed)
        single = train(build_base(), train_data, args.epochs)
        p, p_ood = (single.predict(d, verbose=0) for d in (x, x_ood))
        rows["single model, entropy"].append(
            evaluation.scores(
                y, p, evaluation.entropy(p), evaluation.entropy(p_ood)
            )
        )

        print(f"\nSeed {seed}: ZigZag")
        keras.utils.set_random_seed(seed)
        zigzag = train(
            kz.ZigZagModel.from_model(build_base(), task="classification"),
            train_data,
            args.epochs,
        )
        out, out_ood = (zigzag.predict(d, verbose=0) for d in (x, x_ood))
        p, p_ood = out["prediction"], out_ood["prediction"]
        u, u_ood = out["uncertainty"], out_ood["uncertainty"]
        rows["ZigZag, distance"].append(evaluation.scores(y, p, u, u_ood))
        rows["ZigZag, entropy of y0"].append(
            evaluation.scores(
                y, p, evaluation.entropy(p), evaluation.entropy(p_ood)
            )
        )

    save_figure(args.out, (x, p, u), (x_ood, p_ood, u_ood))
    print(
        f"\nMean ± standard deviation over {args.seeds} seed(s), "
        f"{len(x)} test digits 0-4, {len(x_ood)} digits 5-9:\n"
    )
    print(evaluation.table(rows))
    print(
        "\nA random score has rAULC 0, ROC-AUC 0.5 and PR-AUC "
        f"{len(x_ood) / (len(x) + len(x_ood)):.3f}."
    )
    print(f"The last seed's picture is in {args.out}.")


if __name__ == "__main__":
    main()
