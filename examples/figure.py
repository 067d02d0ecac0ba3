"""The picture at the end of the image examples."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

NUM_IMAGES = 8


def save_figure(path, images, predictions, uncertainty, is_ood, names):
    """Draw the least and the most uncertain images and both histograms.

    Args:
        path: Where to write the PNG.
        images: `(N, height, width)` array, ID and OOD together.
        predictions: `(N,)` predicted classes.
        uncertainty: `(N,)` uncertainties.
        is_ood: `(N,)` Booleans.
        names: What to call the ID and the OOD samples.
    """
    figure = plt.figure(figsize=(10, 6.5), layout="constrained")
    gallery, histogram = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    order = np.argsort(uncertainty, kind="stable")
    rows = {
        "least uncertain": order[:NUM_IMAGES],
        "most uncertain": order[::-1][:NUM_IMAGES],
    }
    axes = gallery.subplots(len(rows), NUM_IMAGES)
    for row, (title, chosen) in zip(axes, rows.items(), strict=True):
        for axis, i in zip(row, chosen, strict=True):
            axis.imshow(images[i], cmap="gray_r")
            axis.set(xticks=[], yticks=[])
            axis.set_title(
                f"read as {predictions[i]}\n{uncertainty[i]:.2g}",
                fontsize=9,
                color="tab:red" if is_ood[i] else "tab:blue",
            )
        row[0].set_ylabel(title)

    axis = histogram.subplots()
    bins = np.linspace(0.0, np.max(uncertainty), 41)
    for name, chosen, color in zip(
        names, (~is_ood, is_ood), ("tab:blue", "tab:red"), strict=True
    ):
        axis.hist(
            uncertainty[chosen],
            bins,
            weights=np.full(chosen.sum(), 1.0 / chosen.sum()),
            alpha=0.6,
            color=color,
            label=f"{name} (n = {chosen.sum():,})",
        )
    axis.set(xlabel="uncertainty", ylabel="share of samples", yscale="log")
    axis.margins(x=0)
    axis.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
