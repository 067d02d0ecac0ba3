"""A noisy cubic: does the uncertainty grow where there was no data?

    python examples/toy_regression.py

The toy regression of ZigZag's paper: six linear blocks with ELU, batch
normalisation and skips learn a cubic from x in [-1, 3], and the picture shows
[-4, 6]. ZigZag is compared with a single model of the same size, whose head
predicts a mean and a variance, since a plain regression has no uncertainty of
its own; and the blank of -100 of the authors' toy notebook with the default.
"""

import argparse
from functools import partial

import keras
import numpy as np
from keras import ops
from matplotlib.figure import Figure

import keras_zigzag as kz

NUM_SAMPLES = 100
SEEN, SHOWN = (-1.0, 3.0), (-4.0, 6.0)
NOISE = 0.2
NUM_BLOCKS = 6
WIDTH = 32
EPOCHS = 4000
LEARNING_RATE = 1e-2
BACKEND = keras.backend.backend()
PASSES_PER_EPOCH = 100  # over the data, in one epoch of `fit`
QUICK = 200  # epochs of a quick run
OUT = "toy_regression.png"


def truth(x):
    return (1.5 * x**3 - 5.0 * x**2 + x + 3.5) / 15.0 - 0.2


def load_data(seed):
    generator = np.random.default_rng(seed)
    x = generator.uniform(*SEEN, (NUM_SAMPLES, 1))
    noise = generator.normal(0.0, NOISE / 15.0, x.shape)
    return x.astype("float32"), (truth(x) + noise).astype("float32")


def build_base(num_outputs=1):
    inputs = keras.Input((1,))
    x = keras.layers.Dense(WIDTH)(inputs)
    for _ in range(NUM_BLOCKS - 1):
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.Activation("elu")(x)
        x = keras.layers.add([x, keras.layers.Dense(WIDTH)(x)])
    x = keras.layers.Activation("elu")(x)
    return keras.Model(inputs, keras.layers.Dense(num_outputs)(x))


def gaussian_nll(y, output):
    mean, log_variance = ops.split(output, 2, axis=-1)
    log_variance = ops.clip(log_variance, -15.0, 15.0)
    return (log_variance + (y - mean) ** 2 * ops.exp(-log_variance)) / 2.0


def train(model, data, epochs, loss="mse"):
    # One batch is all of the data; many of them in one call save overhead.
    passes = min(PASSES_PER_EPOCH, epochs)
    model.compile(
        optimizer=keras.optimizers.Adam(LEARNING_RATE),
        loss=loss,
        steps_per_execution=1 if BACKEND == "torch" else passes,
    )
    x, y = (np.tile(part, (passes, 1)) for part in data)
    model.fit(x, y, NUM_SAMPLES, epochs // passes, shuffle=False, verbose=0)


def train_variance_head(data, epochs):
    model = build_base(num_outputs=2)
    train(model, data, epochs, gaussian_nll)

    def predict(x):
        mean, log_variance = model.predict(x, verbose=0).T
        return mean, np.exp(log_variance / 2.0)

    return predict


def train_zigzag(data, epochs, **prior):
    model = kz.ZigZagModel.from_model(
        build_base(), prior=kz.priors.ValuePrior(**prior)
    )
    if not prior:
        model.adapt(data[1])
    train(model, data, epochs)

    def predict(x):
        out = model.predict(x, verbose=0)
        return out["prediction"][:, 0], out["uncertainty"]

    return predict


SETTINGS = {
    "single model, variance head": train_variance_head,
    "ZigZag, blank -100": partial(
        train_zigzag, mean=0.0, variance=1.0, blank=-100.0, presence=False
    ),
    "ZigZag, presence channel": train_zigzag,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default=OUT, help="the picture's path")
    args = parser.parse_args()
    epochs = QUICK if args.quick else args.epochs

    data = load_data(args.seed)
    x = np.linspace(*SHOWN, 401, dtype="float32")
    seen = (SEEN[0] <= x) & (x <= SEEN[1])
    figure = Figure(figsize=(10, 3), dpi=100, layout="constrained")
    columns = ("MAE seen", "u seen", "u unseen", "ROC-AUC", "Spearman")
    print(f"| {'':27} | " + " | ".join(f"{c:>8}" for c in columns) + " |")
    print(f"|{'-' * 29}|" + f"{'-' * 9}:|" * len(columns))
    axes = figure.subplots(1, 3, sharey=True)
    for ax, (name, train_setting) in zip(axes, SETTINGS.items(), strict=True):
        keras.utils.set_random_seed(args.seed)
        mean, u = train_setting(data, epochs)(x[:, np.newaxis])
        error = np.abs(mean - truth(x))
        numbers = (
            error[seen].mean(),
            u[seen].mean(),
            u[~seen].mean(),
            kz.metrics.roc_auc(u[seen], u[~seen]),
            kz.metrics.spearman(error, u),
        )
        row = " | ".join(f"{number:8.3f}" for number in numbers)
        print(f"| {name:27} | {row} |")
        kz.plots.band(x, mean, u, truth=truth(x), points=data, ax=ax)
        ax.set(title=name, ylim=(-2.0, 1.0))
        ax.get_legend().remove()
    handles = ax.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=5)
    figure.savefig(args.out)
    print(f"\nu: mean uncertainty; ROC-AUC: unseen as OOD. See {args.out}.")


if __name__ == "__main__":
    main()
