"""Two moons: where does a network know that it does not know?

    python examples/toy_classification.py

The toy classification of ZigZag's paper: ten linear layers with ELU and skips
learn two moons, and the picture shows the uncertainty over [-2, 3] x [-2, 2].

A softmax saturates far from the data: its entropy is small there, and its two
answers agree. So the labels are also learnt as values, with the presence
channel and against the blank of -100 of the authors' toy notebook.
"""

import argparse
from functools import partial

import keras
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist
from scipy.special import entr
from sklearn.datasets import make_moons

import keras_zigzag as kz

NUM_SAMPLES = 500
NOISE = 0.1
X_RANGE, Y_RANGE = (-2.0, 3.0), (-2.0, 2.0)
FAR = 0.5  # from all training samples: what counts as out-of-distribution
NUM_LAYERS = 10
WIDTH = 32
EPOCHS = 300
LEARNING_RATE = 1e-2
BACKEND = keras.backend.backend()
PASSES_PER_EPOCH = 20  # over the data, in one epoch of `fit`
QUICK = 40  # epochs of a quick run
OUT = "toy_classification.png"


def build_base(num_outputs, activation):
    inputs = keras.Input((2,))
    x = keras.layers.Dense(WIDTH, activation="elu")(inputs)
    for _ in range(NUM_LAYERS - 2):
        x = keras.layers.add([x, keras.layers.Dense(WIDTH, "elu")(x)])
    outputs = keras.layers.Dense(num_outputs, activation=activation)(x)
    return keras.Model(inputs, outputs)


def train(model, x, y, epochs, loss):
    # One batch is all of the data; many of them in one call save overhead.
    passes = min(PASSES_PER_EPOCH, epochs)
    model.compile(
        optimizer=keras.optimizers.Adam(LEARNING_RATE),
        loss=loss,
        steps_per_execution=1 if BACKEND == "torch" else passes,
    )
    x, y, size = np.tile(x, (passes, 1)), np.tile(y, passes), len(x)
    model.fit(x, y, size, epochs // passes, shuffle=False, verbose=0)


def entropy(p):
    return entr(p.astype("float64")).sum(axis=-1)


def train_single(x, y, epochs):
    model = build_base(2, "softmax")
    train(model, x, y, epochs, "sparse_categorical_crossentropy")

    def predict(places):
        p = model.predict(places, batch_size=4096, verbose=0)
        return p, {"entropy": entropy(p)}

    return predict


def train_zigzag(x, y, epochs):
    base = build_base(2, "softmax")
    model = kz.ZigZagModel.from_model(base, task="classification")
    train(model, x, y, epochs, "sparse_categorical_crossentropy")

    def predict(places):
        out = model.predict(places, batch_size=4096, verbose=0)
        p = out["prediction"]
        return p, {"distance": out["uncertainty"], "entropy of y0": entropy(p)}

    return predict


def train_zigzag_on_values(x, y, epochs, **prior):
    prior = kz.priors.ValuePrior(mean=0.0, variance=1.0, **prior)
    model = kz.ZigZagModel.from_model(build_base(1, None), prior=prior)
    train(model, x, y.astype("float32"), epochs, "mse")

    def predict(places):
        out = model.predict(places, batch_size=4096, verbose=0)
        return out["prediction"][:, 0], {"distance": out["uncertainty"]}

    return predict


SETTINGS = {
    "single model": train_single,
    "ZigZag": train_zigzag,
    "ZigZag on values": train_zigzag_on_values,
    "ZigZag on values, blank -100": partial(
        train_zigzag_on_values, blank=-100.0, presence=False
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default=OUT, help="the picture's path")
    args = parser.parse_args()
    epochs = QUICK if args.quick else args.epochs

    x, y = make_moons(NUM_SAMPLES, noise=NOISE, random_state=args.seed)
    test = make_moons(NUM_SAMPLES, noise=NOISE, random_state=args.seed + 1000)
    axes = np.linspace(*X_RANGE, 101), np.linspace(*Y_RANGE, 81)
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    far = cdist(grid, x).min(axis=-1) > FAR

    figure = Figure(figsize=(7.2, 5.4), dpi=100, layout="constrained")
    print(f"| {'':38} | accuracy | OOD ROC-AUC |")
    print(f"|{'-' * 40}|---------:|------------:|")
    for ax, (setting, train_setting) in zip(
        figure.subplots(2, 2).flat, SETTINGS.items(), strict=True
    ):
        keras.utils.set_random_seed(args.seed)
        predict = train_setting(x, y, epochs)
        (p, scores), (p_test, test_scores) = predict(grid), predict(test[0])
        label = p_test.argmax(axis=-1) if p.ndim == 2 else p_test > 0.5
        accuracy = np.mean(label == test[1])
        for name, u in scores.items():
            area = kz.metrics.roc_auc(test_scores[name], u[far])
            row = f"{setting}, {name}"
            print(f"| {row:38} | {accuracy:8.3f} | {area:11.3f} |")
        name, u = next(iter(scores.items()))
        kz.plots.decision_map(*axes, u, p, points=x, labels=y, ax=ax)
        ax.set_title(f"{setting}: {name}", fontsize="medium")
    figure.savefig(args.out)
    print(f"\nOOD: the {far.sum():,} places {FAR} or more from all samples.")
    print(f"The picture is in {args.out}.")


if __name__ == "__main__":
    main()
