"""MNIST, with FashionMNIST as what the network has never seen.

    TFDS_DATA_DIR=path/to/tfds python examples/mnist.py

`tensorflow_datasets` downloads what is not in `TFDS_DATA_DIR` yet. Network and
training are those of the MNIST notebook of ZigZag's authors; the settings
compared are a single model, the notebook's ZigZag and this package's default.
"""

import argparse
import sys
import time

import evaluation
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


SETTINGS = {
    "single model": build_base,
    "ZigZag, notebook": build_notebook_zigzag,
    "ZigZag, default": build_default_zigzag,
}


def train(model, data, epochs):
    model.compile(
        optimizer=keras.optimizers.Adam(LEARNING_RATE),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    model.fit(*data, batch_size=BATCH_SIZE, epochs=epochs, verbose=VERBOSE)
    return model


def predict(model, images):
    """Probabilities and every uncertainty there is, by name."""
    out = model.predict(images, batch_size=1000, verbose=0)
    if not isinstance(out, dict):
        return out, {"entropy": evaluation.entropy(out)}
    return out["prediction"], {
        "distance": out["uncertainty"],
        "entropy of y0": evaluation.entropy(out["prediction"]),
    }


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
    parser.add_argument("--quick", action="store_true", help="less of it all")
    parser.add_argument("--out", default=OUT, help="the picture's path")
    args = parser.parse_args()
    size = QUICK if args.quick else None
    seeds, epochs = (1, 1) if args.quick else (args.seeds, args.epochs)

    train_data, (x, y) = load_data("mnist", size)
    _, (x_ood, _) = load_data("fashion_mnist", size)
    rows = {}
    for seed in range(seeds):
        for setting, build in SETTINGS.items():
            print(f"\nSeed {seed}: {setting}")
            start = time.perf_counter()
            keras.utils.set_random_seed(seed)
            model = train(build(), train_data, epochs)
            p, u = predict(model, x)
            p_ood, u_ood = predict(model, x_ood)
            for name in u:
                rows.setdefault(f"{setting}, {name}", []).append(
                    evaluation.scores(y, p, u[name], u_ood[name])
                )
            print(f"{time.perf_counter() - start:.0f} s")

    u, u_ood = u["distance"], u_ood["distance"]
    save_figure(args.out, (x, p, u), (x_ood, p_ood, u_ood))
    print(f"\nMean ± standard deviation over {seeds} seed(s):\n")
    print(evaluation.table(rows))
    print(f"\nThe picture of the default setting is in {args.out}.")


if __name__ == "__main__":
    main()
