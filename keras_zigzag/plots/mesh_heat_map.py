from typing import TYPE_CHECKING, Any

import numpy as np

from keras_zigzag.metrics.inputs import Array, as_finite, as_numbers
from keras_zigzag.plots.axes import (
    add_color_bar,
    add_note,
    axes_for,
    uncertainty_map,
)
from keras_zigzag.plots.inputs import check_any_finite, left_out
from keras_zigzag.plots.palette import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def mesh_heat_map(
    vertices: Any,
    triangles: Any,
    uncertainty: Any,
    label: str = "uncertainty",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws one value per vertex on a mesh, in the plane or in space.

    Triangles with a vertex whose value is not finite are grey, and a note
    says how many vertices there are. On meshes in space a triangle has the
    mean of its vertices.

    Args:
        vertices: Array of shape `(num_vertices, 2)` or `(num_vertices, 3)`.
        triangles: Array of integers of shape `(num_triangles, 3)`, indices
            of vertices.
        uncertainty: Array of shape `(num_vertices,)`.
        label: String, what the values are. Defaults to `"uncertainty"`.
        ax: Matplotlib axes, of projection `"3d"` for a mesh in space.
            Defaults to `None`: new ones, in a figure of their own.

    Returns:
        The axes.

    Example:

    >>> ax = keras_zigzag.plots.mesh_heat_map(
    ...     vertices=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
    ...     triangles=[[0, 1, 2]],
    ...     uncertainty=[0.1, 0.2, 0.3],
    ... )
    """
    vertices = as_finite(vertices, "vertices")
    if vertices.ndim != 2 or vertices.shape[-1] not in (2, 3):
        raise ValueError(
            "`vertices` must be of shape `(num_vertices, 2)` or "
            f"`(num_vertices, 3)`. Received: shape {vertices.shape}."
        )
    triangles = _triangles(triangles, len(vertices))
    score = as_numbers(uncertainty, "uncertainty").astype("float64")
    if score.shape != (len(vertices),):
        raise ValueError(
            "`uncertainty` must have one value per vertex, of which there "
            f"are {len(vertices)}. Received: shape {score.shape}."
        )
    is_3d = vertices.shape[-1] == 3
    if ax is not None and is_3d != hasattr(ax, "get_zlim"):
        raise ValueError(
            "A mesh in space needs axes of `projection='3d'`, a mesh in the "
            f"plane ordinary ones. Received: ax={ax!r}"
        )
    is_finite = np.isfinite(score)
    check_any_finite(is_finite, "uncertainty")

    ax = axes_for(ax, is_3d=is_3d)
    draw = _draw_in_space if is_3d else _draw_in_plane
    add_color_bar(ax, draw(ax, vertices, triangles, score), label)
    ax.set_axis_off()
    num_bad = len(score) - int(is_finite.sum())
    if num_bad:
        add_note(ax, f"grey: {left_out(num_bad, len(score))}")
    return ax


def _draw_in_plane(
    ax: "Axes", vertices: Array, triangles: Array, score: Array
) -> Any:
    is_bad = ~np.isfinite(score[triangles]).all(axis=-1)
    if is_bad.any():
        from matplotlib.collections import PolyCollection

        grey = PolyCollection(vertices[triangles[is_bad]], facecolors=MISSING)
        ax.add_collection(grey)
    ax.set_aspect("equal")
    if is_bad.all():
        ax.autoscale_view()
        return _colors(score)
    return ax.tripcolor(
        *vertices.T,
        triangles[~is_bad],
        np.where(np.isfinite(score), score, 0.0),
        shading="gouraud",
        cmap=uncertainty_map(),
        rasterized=True,
        **_limits(score),
    )


def _draw_in_space(
    ax: Any, vertices: Array, triangles: Array, score: Array
) -> Any:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    value = np.where(np.isfinite(score), score, np.nan)[triangles].mean(axis=-1)
    colors = _colors(score)
    rgba = colors.to_rgba(np.ma.masked_invalid(value))
    faces = Poly3DCollection(
        vertices[triangles],
        facecolors=rgba,
        # Thin edges close the gaps that antialiasing leaves.
        edgecolors=rgba,
        linewidths=0.2,
        rasterized=True,
    )
    ax.add_collection3d(faces)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    # A flat mesh has no size along one of the axes.
    size = np.maximum(high - low, 1e-3 * (high - low).max())
    middle = (low + high) / 2
    limits = np.stack([middle - size / 2, middle + size / 2], axis=-1)
    ax.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
    ax.set_box_aspect(size)
    return colors


def _colors(score: Array) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(**_limits(score)), uncertainty_map())


def _limits(score: Array) -> dict[str, Any]:
    finite = score[np.isfinite(score)]
    return {"vmin": float(finite.min()), "vmax": float(finite.max())}


def _triangles(values: Any, num_vertices: int) -> Array:
    triangles = as_numbers(values, "triangles")
    if triangles.ndim != 2 or triangles.shape[-1] != 3:
        raise ValueError(
            "`triangles` must be of shape `(num_triangles, 3)`. "
            f"Received: shape {triangles.shape}."
        )
    if triangles.dtype.kind not in "iu" or not (
        0 <= triangles.min() and triangles.max() < num_vertices
    ):
        raise ValueError(
            f"`triangles` must be indices of the {num_vertices} vertices. "
            f"Received: {triangles.dtype} from {triangles.min()} to "
            f"{triangles.max()}."
        )
    return triangles
