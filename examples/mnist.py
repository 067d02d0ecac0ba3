"""MNIST, with FashionMNIST as what the network has never seen.

    TFDS_DATA_DIR=path/to/tfds python examples/mnist.py

`tensorflow_datasets` downloads what is not in `TFDS_DATA_DIR` yet. Network and
training are those of the MNIST notebook of ZigZag's authors; the settings
compared are a single model, the notebook's ZigZag and this package's default.
"""

import argparse
import sys

import keras
import numpy as np
import tensorflow_datasets as tfds
from matplotlib.figure import Figure

import keras_zigzag as kz

MEAN, STD = 0.1307, 0.3081  # of MNIST's pixels, on a scale of 0 to 1
EPOCHS = 5
BATCH_SIZE = 64
LEARNING_RATE = 1e-3
NUM_SEEDS = 3
QUICK = 10_000  # training and test images of a quick run
KNOWN, UNKNOWN = "MNIST, known", "FashionMNIST, unknown"
OUT = "mnist.png"
VERBOSE = "auto" if sys.stdout.isatty() else 2


def load_data(name, size=None):
    splits = tfds.load(
        name, split=["train", "test"], as_supervised=True, batch_size=-1
    )
    return [(x[:size], y[:size]) for x, y in tfds.as_numpy(splits)]


def build_base():
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            keras.layers.Rescaling(1 / (255 * STD), offset=-MEAN / STD),
            keras.layers.Conv2D(10, 5),
            keras.layers.MaxPooling2D(),
            keras.layers.LeakyReLU(0.01),
            keras.layers.Conv2D(20, 5),
            keras.layers.MaxPooling2D(),
            keras.layers.LeakyReLU(0.01),
            keras.layers.Flatten(),
            keras.layers.Dense(50),
            keras.layers.LeakyReLU(0.01),
            keras.layers.Dense(50),
            keras.layers.LeakyReLU(0.01),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


def build_notebook_zigzag():
    return kz.ZigZagModel.from_model(
        build_base(),
        task="classification",
        prior=kz.priors.IndexPrior(blank=-20.0),
        passes="sampled",
        distance="mean_absolute",
    )


def build_default_zigzag():
    return kz.ZigZagModel.from_model(build_base(), task="classification")


COLUMNS = {
    "accuracy": "accuracy",
    "raulc": "rAULC",
    "OOD_roc_auc": "OOD ROC-AUC",
    "OOD_average_precision": "OOD average precision",
}
SETTINGS = {
    "single model": build_base,
    "ZigZag, notebook": build_notebook_zigzag,
    "ZigZag, default": build_default_zigzag,
}


def train(model, data, epochs, sets):
    model.compile(
        optimizer=keras.optimizers.Adam(LEARNING_RATE),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    watch = kz.callbacks.UncertaintyEvaluation(
        *sets, frequency=epochs, metrics=["raulc", "OOD_roc_auc"]
    )
    model.fit(
        *data,
        batch_size=BATCH_SIZE,
        epochs=epochs,
        verbose=VERBOSE,
        callbacks=[watch],
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
    parser.add_argument("--quick", action="store_true", help="less of it all")
    parser.add_argument("--out", default=OUT, help="the picture's path")
    args = parser.parse_args()
    size = QUICK if args.quick else None
    seeds, epochs = (1, 1) if args.quick else (args.seeds, args.epochs)

    train_data, (x, y) = load_data("mnist", size)
    _, (x_ood, _) = load_data("fashion_mnist", size)
    sets = (x, y), {"OOD": x_ood}
    reports = {}
    for seed in range(seeds):
        for setting, build in SETTINGS.items():
            print(f"\nSeed {seed}: {setting}")
            keras.utils.set_random_seed(seed)
            model = train(build(), train_data, epochs, sets)
            report = kz.evaluate_uncertainty(model, *sets, batch_size=1000)
            by_score = {"entropy": report}
            if report.entropy is not None:
                by_score = {"distance": report, "entropy of y0": report.entropy}
            for score, report in by_score.items():
                reports.setdefault(f"{setting}, {score}", []).append(report)

    save_figure(args.out, model, x, x_ood)
    print(f"\nMean ± standard deviation over {seeds} seed(s):\n")
    print(kz.compare(reports, COLUMNS).to_markdown(mark_best=False))
    print(f"\nThe picture of the default setting is in {args.out}.")


if __name__ == "__main__":
    main()
