"""All methods side by side, on the two toy problems of the paper.

    python examples/protocols/toy_pictures.py --quick

Each panel of the first picture is the uncertainty of one method over the
plane, on a scale of its own; each of the second is a prediction with its
uncertainty, which is scaled so that the widest band is as wide everywhere.
"""

import argparse
import math
import tempfile
from pathlib import Path

import keras
import numpy as np
from matplotlib.figure import Figure

import keras_zigzag as kz
from keras_zigzag.benchmark.protocol_files import load_file
from keras_zigzag.benchmark.recipes import Recipe
from keras_zigzag.benchmark.training import EpochBackup, train

FOLDER = Path(__file__).parent
PLANE = (np.linspace(-2.0, 3.0, 101), np.linspace(-2.0, 2.0, 81))
LINE = np.linspace(-4.0, 6.0, 401, dtype="float32")[:, np.newaxis]
HEIGHTS = (-2.0, 1.0)  # of the regression, as shown
WIDEST = 0.5  # on each side of a prediction
NUM_COLUMNS = 4
PANEL = (3.0, 2.4)  # inches
SEED = 0


def trained(protocol, names, seed):
    """The data, and one trained model after the other by its name."""
    data = protocol.load(seed)

    def models():
        for name, variant in protocol.chosen(names).items():
            keras.utils.set_random_seed(seed)
            recipe = Recipe(protocol, variant)
            model = recipe.trainee(data)
            with tempfile.TemporaryDirectory() as folder:
                backup = EpochBackup(Path(folder) / "backup.npz", name)
                train(model, data.train, protocol.training, seed, backup)
            print(f"{protocol.name}: {name} is trained.", flush=True)
            yield name, recipe.finished(model, data)

    return data, models()


def draw_classification(protocol, names, seed=SEED):
    """The uncertainty of each method over the plane, as a figure."""
    data, models = trained(protocol, names, seed)
    x, y = once(protocol, data.train)
    grid = np.stack(np.meshgrid(*PLANE), axis=-1).reshape(-1, 2)
    figure, axes = panels(len(protocol.chosen(names)))
    for ax, (name, model) in zip(axes, models, strict=True):
        out = model.predict(grid.astype("float32"), verbose=0)
        kz.plots.decision_map(
            *PLANE,
            out["uncertainty"],
            out["prediction"],
            points=x,
            labels=y,
            ax=ax,
        )
        ax.set_title(name, fontsize="medium")
    return figure


def draw_regression(protocol, names, seed=SEED):
    """The prediction and uncertainty of each method over x, as a figure."""
    data, models = trained(protocol, names, seed)
    points = once(protocol, data.train)
    figure, axes = panels(len(protocol.chosen(names)))
    for ax, (name, model) in zip(axes, models, strict=True):
        out = model.predict(LINE, verbose=0)
        u = out["uncertainty"]
        scale = WIDEST / max(float(np.nanmax(u)), 1e-12)
        kz.plots.band(
            LINE, out["prediction"], u, points=points, scale=scale, ax=ax
        )
        ax.set(ylim=HEIGHTS)
        ax.set_title(name, fontsize="medium")
        ax.get_legend().remove()
    return figure


def once(protocol, data):
    """The samples of an epoch that goes over them many times."""
    return tuple(part[: protocol.training.batch_size] for part in data)


def panels(count):
    """A figure, and axes for so many methods."""
    num_rows = math.ceil(count / NUM_COLUMNS)
    size = (PANEL[0] * NUM_COLUMNS, PANEL[1] * num_rows)
    figure = Figure(figsize=size, dpi=100, layout="constrained")
    axes = figure.subplots(num_rows, NUM_COLUMNS, squeeze=False).flatten()
    for ax in axes[count:]:
        ax.remove()
    return figure, axes[:count]


PICTURES = {
    "toy_classification": draw_classification,
    "toy_regression": draw_regression,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer epochs")
    parser.add_argument("--methods", nargs="+", default=["all"])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, default=Path("."), help="folder")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (protocol,) = load_file(FOLDER / f"{name}.py")(args.quick)
        path = args.out / f"{name}_methods.png"
        draw(protocol, args.methods, args.seed).savefig(path)
        print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
