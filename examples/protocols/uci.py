"""Nine regression sets of UCI: samples beyond what a network has seen.

    KERAS_ZIGZAG_UCI_DIR=path/to/csv python examples/protocols/uci.py --quick

Each set comes twice. `uci-<set>`: the samples in the upper 15 % of one feature
are out-of-distribution. It is the first of those with the most distinct
values, a rule that looks at inputs only; the cut is the one nearest to 15 %.
`uci-<set>-random`: a random split, and nothing is out-of-distribution.
"""

import sys
from functools import partial
from typing import NamedTuple

import keras
import numpy as np

from keras_zigzag.benchmark import Data, Protocol, Training, noise_before
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.csv_table import load_csv
from keras_zigzag.benchmark.datasets import split_validation


class Table(NamedTuple):
    """The file of a set, how many features it has, and how it is learnt."""

    file: str
    num_features: int
    epochs: int
    batch_size: int


TABLES = {
    "boston": Table("bostonHousing", 13, 100, 32),
    "concrete": Table("concrete", 8, 60, 32),
    "energy": Table("energy", 8, 60, 32),
    "kin8nm": Table("kin8nm", 8, 20, 64),
    "naval": Table("naval-propulsion-plant", 16, 20, 64),
    "power": Table("power-plant", 4, 20, 64),
    "protein": Table("protein-tertiary-structure", 9, 20, 64),
    "wine": Table("wine-quality-red", 11, 60, 32),
    "yacht": Table("yacht", 6, 100, 32),
}
MAX_ROWS = 12_000  # More are left out at random: of protein's 45,730 only.
OOD_FRACTION = 0.15
TEST_FRACTION = {"shifted": 0.2, "random": 0.1}
VALIDATION_FRACTION = 0.1  # of what is not for the test
WIDTHS = (64, 64, 64)
LEARNING_RATE = 1e-3
QUICK_EPOCHS = 10
QUICK_ROWS = 1_000
ROUNDING = 1e-6  # Relative to the mean, a smaller spread is none.
# Of a set and a split: without its upper part a test set is another one.
PAPER = {("boston", "random"): "boston-notebook"}
OPTIONS = noise_before(layers=2)


def chosen_feature(x):
    """The feature with the most distinct values."""
    return int(np.argmax([len(np.unique(column)) for column in x.T]))


def is_upper(values, fraction):
    """Whether a value is in the upper part, equal ones all or none."""
    distinct = np.unique(values)[1:]
    shares = [np.mean(values >= cut) for cut in distinct]
    nearest = np.argmin(np.abs(np.array(shares) - fraction))
    return values >= distinct[nearest]


def capped(x, y, seed, max_rows):
    rows = np.random.default_rng(seed).permutation(len(x))[:max_rows]
    return x[rows], y[rows]


def standardised(sets, ood):
    """Everything by the statistics of the training set, the first one."""
    (mean_x, scale_x), (mean_y, scale_y) = map(statistics, sets[0])
    pairs = [((x - mean_x) / scale_x, (y - mean_y) / scale_y) for x, y in sets]
    return Data(
        *pairs, ood={name: (x - mean_x) / scale_x for name, x in ood.items()}
    )


def statistics(columns):
    mean, std = columns.mean(axis=0), columns.std(axis=0)
    return mean, np.where(std > ROUNDING * np.abs(mean), std, 1.0)


def load(seed, file, kind, max_rows):
    x, y = load_csv(file)
    feature = chosen_feature(x)
    x, y = capped(x, y, seed, max_rows)
    ood = {}
    if kind == "shifted":
        upper = is_upper(x[:, feature], OOD_FRACTION)
        ood = {"shifted": x[upper]}
        x, y = x[~upper], y[~upper]
    rest, test = split_validation(x, y, TEST_FRACTION[kind], seed)
    train, validation = split_validation(*rest, VALIDATION_FRACTION, seed)
    return standardised([train, validation, test], ood)


def build_base(num_features):
    hidden = [keras.layers.Dense(width, "relu") for width in WIDTHS]
    inputs = keras.Input((num_features,))
    return keras.Sequential([inputs, *hidden, keras.layers.Dense(1)])


def make(name, kind, quick):
    table = TABLES[name]
    max_rows = QUICK_ROWS if quick else MAX_ROWS
    suffix = "" if kind == "shifted" else f"-{kind}"
    return Protocol(
        name=f"uci-{name}{suffix}",
        title=f"UCI {name}{suffix}",
        task="regression",
        load=partial(load, file=table.file, kind=kind, max_rows=max_rows),
        build=partial(build_base, table.num_features),
        training=Training(
            epochs=QUICK_EPOCHS if quick else table.epochs,
            batch_size=table.batch_size,
            optimizer=partial(keras.optimizers.Adam, LEARNING_RATE),
            loss="mse",
        ),
        options=OPTIONS,
        settings={
            "quick": quick,
            "max_rows": max_rows,
            "ood_fraction": OOD_FRACTION if kind == "shifted" else None,
            "test_fraction": TEST_FRACTION[kind],
            "validation_fraction": VALIDATION_FRACTION,
            "widths": WIDTHS,
        },
        group=f"uci{suffix}",
        paper=PAPER.get((name, kind), ""),
        units="standard deviations of the training targets",
    )


def protocols(quick):
    return [make(n, kind, quick) for kind in TEST_FRACTION for n in TABLES]


if __name__ == "__main__":
    sys.exit(main(protocols))
