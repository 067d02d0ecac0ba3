"""Data sets of `tensorflow_datasets`, and how they are split.

    python -m keras_zigzag.benchmark.datasets mnist cifar10 --to arrays

writes them as arrays, for a machine without TensorFlow, on which the folder
`arrays` is the `TFDS_DATA_DIR`.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_zigzag.benchmark.epoch_batches import EpochBatches
from keras_zigzag.number_checks import checked_number, checked_seed

Array = np.ndarray
Pair = tuple[Array, Array]
TFDS_VARIABLE = "TFDS_DATA_DIR"
BUFFERED = 40  # batches, of what is shuffled as it is read
TFDS_DEFAULT = "~/tensorflow_datasets"


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
    folder = tfds_folder(data_dir)
    prepared = folder.glob(f"{name}/**/dataset_info.json")
    return any(prepared) or any(folder.glob(f"{name}-*.npz"))


def load_tfds(
    name: str,
    split: str,
    data_dir: str | Path | None = None,
    download: bool | None = None,
) -> Pair:
    """Inputs and targets of one split of a data set, as arrays.

    What `write_arrays` has left is read without TensorFlow.

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

    ```python
    x, y = load_tfds("mnist", "test")
    x.shape     # (10000, 28, 28, 1)
    ```
    """
    arrays = _arrays_path(tfds_folder(data_dir), name, split)
    if arrays.is_file():
        with np.load(arrays) as file:
            return file["x"], file["y"]
    loaded = _loaded(name, split, data_dir, download, batch_size=-1)
    x, y = import_tfds().as_numpy(loaded)
    return x, y


def as_floats(data: Pair, size: int | None = None) -> Pair:
    """The first samples, all by default, with inputs of float32."""
    x, y = data
    return x[:size].astype("float32"), y[:size]


def write_arrays(
    names: Sequence[str], to: str | Path, data_dir: str | Path | None = None
) -> list[Path]:
    """Writes data sets as arrays, one file for each split that is there.

    Args:
        names: Sequence of strings. See `load_tfds`.
        to: Path of a folder, the `TFDS_DATA_DIR` of another machine.
        data_dir: See `tfds_folder`. Defaults to `None`.

    Returns:
        List of paths.

    Raises:
        ImportError: If `tensorflow_datasets` is not installed.
        FileNotFoundError: If a data set is not there.
    """
    written = []
    for name in names:
        loaded = _loaded(name, None, data_dir, None, batch_size=-1)
        for split, (x, y) in import_tfds().as_numpy(loaded).items():
            path = _arrays_path(Path(to), name, split)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(path, x=x, y=y)
            written.append(path)
    return written


def tfds_batches(
    name: str,
    split: str,
    image_size: int,
    batch_size: int,
    shuffle_seed: int | None = None,
    data_dir: str | Path | None = None,
) -> Any:
    """Batches of images and targets, of a set that does not fit in memory.

    Args:
        name: See `load_tfds`. It is not downloaded.
        split: See `load_tfds`.
        image_size: Integer, height and width. Images keep their aspect ratio
            and are cropped in the middle.
        batch_size: Integer.
        shuffle_seed: Integer, for an order of its own in each epoch, as far
            as a buffer of some batches goes. It depends on this seed and on
            that of `keras.utils.set_random_seed`, which the benchmark sets
            to the seed of the run. Defaults to `None`, for the order of the
            files.
        data_dir: See `tfds_folder`. Defaults to `None`.

    Returns:
        A `tf.data.Dataset`, or `EpochBatches` where these are shuffled, of
        images of floats from 0 to 255.

    Raises:
        ImportError: If `tensorflow_datasets` is not installed.
        FileNotFoundError: If the data set is not there.
    """
    resize = keras.layers.Resizing(
        image_size, image_size, crop_to_aspect_ratio=True
    )

    def batched(loaded: Any) -> Any:
        loaded = loaded.map(lambda image, target: (resize(image), target))
        return loaded.batch(batch_size).prefetch(2)

    seed = checked_seed(shuffle_seed)
    if seed is None:
        return batched(_loaded(name, split, data_dir, False))

    def of_epoch(epoch: int) -> Any:
        drawn = int(np.random.default_rng([seed, epoch]).integers(2**31))
        files = import_tfds().ReadConfig(shuffle_seed=drawn)
        loaded = _loaded(
            name, split, data_dir, False, shuffle_files=True, read_config=files
        )
        return batched(loaded.shuffle(BUFFERED * batch_size, drawn))

    return EpochBatches(of_epoch)


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

    >>> from keras_zigzag.benchmark.datasets import split_validation
    >>> train, validation = split_validation(
    ...     x_train, y_train, fraction=0.25, seed=0)
    >>> [len(x) for x, y in (train, validation)]
    [6, 2]
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


def _loaded(
    name: str,
    split: str | None,
    data_dir: str | Path | None,
    download: bool | None,
    **options: Any,
) -> Any:
    tfds = import_tfds()
    folder = tfds_folder(data_dir)
    if download is None:
        download = not is_prepared(name, folder)
    try:
        return tfds.load(
            name,
            split=split,
            data_dir=folder,
            download=download,
            as_supervised=True,
            **options,
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


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def _arrays_path(folder: Path, name: str, split: str) -> Path:
    return folder / f"{name}-{split}.npz"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m keras_zigzag.benchmark.datasets",
        description="Data sets as arrays, for machines without TensorFlow.",
    )
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--to", type=Path, required=True, help="a folder")
    options = parser.parse_args(arguments)
    for path in write_arrays(options.names, options.to):
        print(path)


if __name__ == "__main__":
    main()
