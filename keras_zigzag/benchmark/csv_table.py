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
    if table.shape[1:] != (len(header),) or not table.size:
        raise ValueError(
            f"{path} must have a number for each of its {len(header)} columns "
            f"in each row. Received: a table of shape {table.shape}."
        )
    with np.errstate(over="ignore"):
        table = table.astype("float32")
    if not np.isfinite(table).all():
        raise ValueError(
            f"There are values in {path} that are not finite, or too large "
            "for float32."
        )
    columns = [header.index(feature) for feature in features]
    return table[:, columns], table[:, [header.index("y")]]
