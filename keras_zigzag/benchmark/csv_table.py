"""Tables of numbers in a folder."""

import os
from pathlib import Path

import numpy as np

from keras_zigzag.benchmark.datasets import Pair, tfds_folder

UCI_VARIABLE = "KERAS_ZIGZAG_UCI_DIR"


def uci_folder(folder: str | Path | None = None) -> Path:
    """Where the tables of the UCI regression sets are.

    Args:
        folder: Path. Defaults to `None`: the environment variable
            `KERAS_ZIGZAG_UCI_DIR`, else `uci` beside the folder of
            `tensorflow_datasets`.
    """
    given = folder or os.environ.get(UCI_VARIABLE)
    return Path(given) if given else tfds_folder().parent / "uci"


def load_csv(name: str, folder: str | Path | None = None) -> Pair:
    """Features and targets of a table.

    Args:
        name: String. The file is `<name>.csv`, with the columns `x0`, `x1`,
            … and `y`, in any order.
        folder: See `uci_folder`. Defaults to `None`.

    Returns:
        Arrays of float32, `(num_rows, num_features)` and `(num_rows, 1)`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the columns are others, or some values are not finite.
    """
    path = uci_folder(folder) / f"{name}.csv"
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no table {path}. It has the columns x0, x1, … of "
            f"features and y. Set {UCI_VARIABLE} to the folder that has it. "
            f"Received: name={name!r}"
        )
    with path.open(encoding="utf-8") as lines:
        header = lines.readline().strip().split(",")
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    features = [f"x{index}" for index in range(len(header) - 1)]
    if sorted(header) != sorted([*features, "y"]) or not features:
        raise ValueError(
            f"The columns of {path} must be x0, x1, … and y. Received: {header}"
        )
    if not np.isfinite(table).all():
        raise ValueError(f"There are values in {path} that are not finite.")
    columns = [header.index(feature) for feature in features]
    y = table[:, [header.index("y")]]
    return table[:, columns].astype("float32"), y.astype("float32")
