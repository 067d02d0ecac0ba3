"""Images in folders, read batch by batch."""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_zigzag.number_checks import checked_count, checked_seed

Array = np.ndarray
SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
NUM_THREADS = min(16, os.cpu_count() or 1)


class ImageBatches(keras.utils.PyDataset):
    """Batches of images, read and resized as they are needed.

    The order of an epoch depends on the seed and the epoch alone: training
    that goes on in another process goes on in the same order, if a callback
    calls `begin_epoch`.

    Args:
        paths: Sequence of paths.
        targets: Array with as many targets. Defaults to `None`, for none.
        image_size: Integer, height and width. Images keep their aspect ratio
            and are cropped in the middle.
        batch_size: Integer.
        shuffle_seed: Integer, for an order of its own in each epoch. Defaults
            to `None`, for the order of the paths.

    Raises:
        ValueError: If there are no images, or as many targets as images.

    Example:

    ```python
    x, y = ImageBatches(paths, ages, image_size=64, batch_size=32)[0]
    x.shape     # (32, 64, 64, 3)
    ```
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        targets: Array | None = None,
        *,
        image_size: int,
        batch_size: int,
        shuffle_seed: int | None = None,
    ):
        super().__init__()
        self.paths = np.array(paths, dtype=object)
        self.targets = targets
        self.image_size = checked_count("image_size", image_size)
        self.batch_size = checked_count("batch_size", batch_size)
        self.shuffle_seed = checked_seed(shuffle_seed)
        num_targets = len(paths) if targets is None else len(targets)
        if not len(paths) or len(paths) != num_targets:
            raise ValueError(
                "There must be images, and as many targets. Received: "
                f"{len(paths)} images and {num_targets} targets."
            )
        self._pool = ThreadPoolExecutor(NUM_THREADS)
        self.begin_epoch(0)

    def __len__(self) -> int:
        return math.ceil(len(self.paths) / self.batch_size)

    def __getitem__(self, index: int) -> tuple[Array, ...]:
        start = index * self.batch_size
        rows = self._order[start : start + self.batch_size]
        images = list(self._pool.map(self._read, self.paths[rows]))
        x = np.stack(images)
        return (x,) if self.targets is None else (x, self.targets[rows])

    def begin_epoch(self, epoch: int) -> None:
        """Puts the images into the order of an epoch."""
        self._epoch = epoch
        self._order = np.arange(len(self.paths))
        if self.shuffle_seed is not None:
            generator = np.random.default_rng([self.shuffle_seed, epoch])
            generator.shuffle(self._order)

    def on_epoch_end(self) -> None:
        self.begin_epoch(self._epoch + 1)

    def _read(self, path: Any) -> Array:
        image = keras.utils.load_img(
            path,
            target_size=(self.image_size, self.image_size),
            interpolation="bilinear",
            keep_aspect_ratio=True,
        )
        return np.asarray(image, "float32")


def image_paths(folder: str | Path, variable: str) -> list[Path]:
    """All images in a folder and the folders in it, by name.

    Args:
        folder: Path.
        variable: String. The environment variable that says where it is.

    Raises:
        FileNotFoundError: If there is no such folder, or no image in it.
    """
    found = sorted(
        path
        for path in Path(folder).rglob("*")
        if path.suffix.lower() in SUFFIXES
    )
    if not found:
        raise FileNotFoundError(
            f"There are no images in {folder}. Get the data set from its "
            f"authors, and set {variable} to the folder that holds "
            f"{Path(folder).name!r}. Looked for: {', '.join(SUFFIXES)}"
        )
    return found


def class_folders(
    folder: str | Path, num_classes: int, variable: str
) -> tuple[list[Path], Array]:
    """Images in one folder for each class, and the numbers of the classes.

    Args:
        folder: Path.
        num_classes: Integer. How many folders there have to be. They are
            numbered by their names.
        variable: See `image_paths`.

    Raises:
        FileNotFoundError: As of `image_paths`.
        ValueError: If there are more folders, or fewer.
    """
    paths = image_paths(folder, variable)
    classes = sorted({path.relative_to(folder).parts[0] for path in paths})
    if len(classes) != num_classes:
        raise ValueError(
            f"There must be one folder with images for each of {num_classes} "
            f"classes. Received: {len(classes)} in {folder}"
        )
    number = {name: index for index, name in enumerate(classes)}
    labels = [number[path.relative_to(folder).parts[0]] for path in paths]
    return paths, np.array(labels)


def folder_of(variable: str, parts: Sequence[str]) -> Path:
    """The folder of an environment variable.

    Args:
        variable: String.
        parts: Sequence of strings, what is to be in it.

    Raises:
        FileNotFoundError: If the variable is not set.
    """
    folder = os.environ.get(variable)
    if not folder:
        raise FileNotFoundError(
            f"Set {variable} to a folder that holds {', '.join(parts)}. "
            f"Received: {variable}={folder!r}"
        )
    return Path(folder)
