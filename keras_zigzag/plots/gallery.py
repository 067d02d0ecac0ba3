from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag.metrics.inputs import Array, as_numbers
from keras_zigzag.plots.axes import WIDTH, add_note, axes_for, small
from keras_zigzag.plots.images import as_images, checked_images
from keras_zigzag.plots.inputs import check_any_finite, check_length, left_out
from keras_zigzag.plots.palette import BLACK, BLUE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.15  # between two images, of an image's width
TEXT = 0.3  # height of a line of text, of an image's width


def gallery(
    images: Any,
    uncertainty: Any,
    captions: Any = None,
    is_ood: Any = None,
    num_images: int = 6,
    color_map: str = "gray",
    ax: "Axes | None" = None,
) -> "Axes":
    """Shows the most and the least uncertain images, two rows.

    Below each stand its caption and its uncertainty. Samples with an
    uncertainty of NaN are neither: a note says how many there are.

    Args:
        images: Array of shape `(num_samples, height, width)`, or with a last
            axis of 1, 3 or 4 channels. Bytes, or floats; floats that leave
            the range from 0 to 1 are scaled to it, all images alike.
        uncertainty: Array of shape `(num_samples,)`.
        captions: List of strings or numbers, one per sample, for example the
            predicted classes. Defaults to `None`.
        is_ood: Array of Booleans of shape `(num_samples,)`: the text below
            these is vermillion and below the others blue. Defaults to `None`.
        num_images: Integer. Number of images in a row. Defaults to `6`.
        color_map: String. Matplotlib's name of a colour map for images of one
            channel. Defaults to `"gray"`.
        ax: Matplotlib axes. Defaults to `None`: new ones, in a figure of
            their own.

    Returns:
        The axes, with one picture per image in `ax.images`.

    Example:

    >>> ax = keras_zigzag.plots.gallery(
    ...     images=np.zeros((9, 8, 8)), uncertainty=np.arange(9.0))
    >>> len(ax.images)
    12
    """
    images = checked_images(images)
    score = as_numbers(uncertainty, "uncertainty").astype("float64")
    if score.ndim != 1:
        raise ValueError(
            "`uncertainty` must have one value per image. "
            f"Received: an array of shape {score.shape}."
        )
    for name, values in (
        ("images", images),
        ("captions", captions),
        ("is_ood", is_ood),
    ):
        if values is not None:
            check_length(name, len(values), "uncertainty", len(score))
    if num_images < 1:
        raise ValueError(
            "`num_images` must be at least 1. "
            f"Received: num_images={num_images!r}"
        )
    is_nan = np.isnan(score)
    check_any_finite(~is_nan, "uncertainty")
    num_nan = int(is_nan.sum())
    order = np.argsort(score, kind="stable")[: len(score) - num_nan]
    rows = {
        "most\nuncertain": order[::-1][:num_images],
        "least\nuncertain": order[:num_images],
    }
    chosen = np.unique(np.concatenate(list(rows.values())))
    shown = as_images(images[chosen])
    return _draw(
        ax,
        dict(zip(chosen, shown, strict=True)),
        rows,
        _texts(score, captions),
        _colors(is_ood, len(score)),
        color_map,
        left_out(num_nan, len(score)) if num_nan else "",
    )


def _draw(
    ax: "Axes | None",
    images: dict[int, Array],
    rows: dict[str, Array],
    texts: list[str],
    colors: list[str],
    color_map: str,
    note: str,
) -> "Axes":
    num_pixels = next(iter(images.values())).shape
    aspect = num_pixels[0] / num_pixels[1]
    num_lines = max(text.count("\n") + 1 for text in texts)
    row_height = aspect + TEXT * num_lines + GAP
    num_columns = max(map(len, rows.values()))
    # Of a new figure; axes of the caller are as high as they are.
    height = WIDTH * len(rows) * row_height / (num_columns * (1 + GAP) + 0.6)
    ax = axes_for(ax, height=height + 0.1)
    ax.set_axis_off()
    for row, (title, chosen) in enumerate(rows.items()):
        bottom = -row * row_height
        ax.text(
            -GAP,
            bottom + aspect / 2,
            title,
            fontsize=small(ax),
            ha="right",
            va="center",
            rotation="vertical",
            multialignment="center",
        )
        for column, index in enumerate(chosen):
            left = column * (1 + GAP)
            ax.imshow(
                images[index],
                cmap=color_map,
                vmin=0.0,
                vmax=1.0,
                extent=(left, left + 1, bottom, bottom + aspect),
            )
            ax.text(
                left + 0.5,
                bottom - 0.04,
                texts[index],
                fontsize=small(ax),
                color=colors[index],
                ha="center",
                va="top",
            )
    ax.set_xlim(-GAP, num_columns * (1 + GAP))
    ax.set_ylim(bottom - TEXT * num_lines, aspect + 0.02)
    if note:
        add_note(ax, note)
    return ax


def _texts(score: Array, captions: Any) -> list[str]:
    numbers = [f"{value:.2g}" for value in score]
    if captions is None:
        return numbers
    return [
        f"{caption}\n{number}"
        for caption, number in zip(captions, numbers, strict=True)
    ]


def _colors(is_ood: Any, size: int) -> list[str]:
    if is_ood is None:
        return [BLACK] * size
    return [VERMILLION if flag else BLUE for flag in np.asarray(is_ood)]
