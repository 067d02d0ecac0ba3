"""Arrays of prepared data sets, and of tables in a folder."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from keras_zigzag.number_checks import checked_number, checked_seed

Array = np.ndarray
Pair = tuple[Array, Array]
TFDS_VARIABLE = "TFDS_DATA_DIR"
TFDS_DEFAULT = "~/tensorflow_datasets"
UCI_VARIABLE = "KERAS_ZIGZAG_UCI_DIR"


def tfds_folder(data_dir: str | Path | None = None) -> Path:
    """Where `tensorflow_datasets` keeps its data sets.

    Args:
        data_dir: Path. Defaults to `None`: the environment variable
            `TFDS_DATA_DIR`, else `~/tensorflow_datasets`.
    """
    given = data_dir or os.environ.get(TFDS_VARIABLE) or TFDS_DEFAULT
    return Path(given).expanduser()


def is_prepared(name: str, data_dir: str | Path | None = None) -> bool:
    """Whether a data set of `tensorflow_datasets` needs no download.

    Args:
        name: String, such as `"svhn_cropped"`.
        data_dir: See `tfds_folder`. Defaults to `None`.
    """
    folder = tfds_folder(data_dir) / name
    return any(folder.glob("**/dataset_info.json"))


def load_tfds(
    name: str,
    split: str,
    data_dir: str | Path | None = None,
    download: bool | None = None,
) -> Pair:
    """Inputs and targets of one split of a data set, as arrays.

    Args:
        name: String. Name of the data set in `tensorflow_datasets`.
        split: String, such as `"train"` or `"test[:1000]"`.
        data_dir: See `tfds_folder`. Defaults to `None`.
        download: Boolean. Whether it may be downloaded. Defaults to `None`:
            only where there is no prepared folder of that name.

    Returns:
        Pair of arrays, as the data set has them: images are integers from 0
        to 255.

    Raises:
        ImportError: If `tensorflow_datasets` is not installed.
        FileNotFoundError: If the data set is not there, and could not or
            must not be downloaded.

    Example:

    >>> x, y = load_tfds("mnist", "test")
    >>> x.shape
    (10000, 28, 28, 1)
    """
    tfds = import_tfds()
    folder = tfds_folder(data_dir)
    if download is None:
        download = not is_prepared(name, folder)
    try:
        loaded = tfds.load(
            name,
            split=split,
            data_dir=folder,
            download=download,
            as_supervised=True,
            batch_size=-1,
        )
    except Exception as error:
        # They are of many kinds, from the network's to the registry's.
        if is_prepared(name, folder):
            raise
        raise FileNotFoundError(
            f"Could not load the data set {name!r}. Looked for "
            f"{folder / name}. Set {TFDS_VARIABLE} to a folder that has it, "
            "or run `tensorflow_datasets.load` with that name on a machine "
            "with a network and copy the folder. "
            f"Received: download={download!r}; {_first_line(error)}"
        ) from error
    x, y = tfds.as_numpy(loaded)
    return x, y


def import_tfds() -> Any:
    """The package `tensorflow_datasets`.

    Raises:
        ImportError: If it is not installed, with what to do.
    """
    try:
        import tensorflow_datasets
    except ImportError as error:
        raise ImportError(
            "This data set is read by `tensorflow_datasets`. Install it with "
            '`pip install "keras-zigzag[examples]"`.'
        ) from error
    return tensorflow_datasets


def split_validation(
    x: Array, y: Array, fraction: float, seed: int
) -> tuple[Pair, Pair]:
    """Splits samples at random into two parts.

    Args:
        x: Array of shape `(num_samples, ...)`.
        y: Array of as many targets.
        fraction: Float between 0 and 1. How much of it goes into the second
            part, to the nearest sample.
        seed: Integer. The same seed makes the same parts.

    Returns:
        Two pairs of arrays: the larger part, and the one of `fraction`.

    Raises:
        ValueError: If the lengths differ, or a part would be empty.

    Example:

    >>> train, validation = split_validation(x, y, fraction=0.1, seed=0)
    """
    if len(x) != len(y):
        raise ValueError(
            "`x` and `y` must have as many samples as each other. "
            f"Received: {len(x)} inputs and {len(y)} targets."
        )
    fraction = checked_number(
        "fraction", fraction, lambda one: 0 < one < 1, "lie between 0 and 1"
    )
    count = round(len(x) * fraction)
    if not 0 < count < len(x):
        raise ValueError(
            "Both parts must have samples. Give another fraction. "
            f"Received: fraction={fraction!r} of {len(x)} samples."
        )
    order = np.random.default_rng(checked_seed(seed)).permutation(len(x))
    first, second = order[count:], order[:count]
    return (x[first], y[first]), (x[second], y[second])


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


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
