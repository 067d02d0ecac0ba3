"""Car bodies from nine numbers: rings along the car, and two poles.

The construction was inferred from data whose numbers, vertices and frontal
areas are known. It gives their vertices to 0.1 mm, but for the first ring:
that of some was folded in by up to 3 cm, which these are not. Their frontal
areas and pressures are those of a body with more rings, about 90.
"""

from typing import NamedTuple

import numpy as np

LENGTH = 4.2  # metres, of every car


class Detail(NamedTuple):
    """How finely a body is divided."""

    num_rings: int
    ring_size: int


# What a network sees, and what the flow is computed around. The upper side's
# corners are rounded over a number of rings, so the second one's are sharper.
COARSE, FINE = Detail(40, 40), Detail(90, 80)
# The smallest and largest value of each number.
BOUNDS = {
    "hood_height": (0.36, 0.55),  # above the ground, in `HEIGHT`
    "roof_height": (0.75, 1.05),
    "hood": (0.20, 0.32),  # in lengths of the car
    "windscreen": (0.10, 0.24),
    "roof": (0.18, 0.40),
    "tail_height": (0.45, 0.75),
    "rear_window": (0.08, 0.25),
    "clearance": (0.14, 0.24),  # in metres
    "half_width": (0.38, 0.46),  # in `WIDTH`
}
HEIGHT = 1.45  # metres
WIDTH = HEIGHT / 0.7  # metres
CORNER = 0.14  # metres, the largest radius of a ring's corners
SMOOTHED = 9  # rings, over which the upper side's corners are rounded
NOSE, TAIL = 0.06, 0.06  # lengths of the car over which it closes
NARROWS_FROM = 0.7  # lengths of the car


class Rings(NamedTuple):
    """The stations along a car, in metres; one entry for each ring."""

    x: np.ndarray
    half_width: np.ndarray
    bottom: np.ndarray
    top: np.ndarray


def car_rings(parameters, detail=COARSE):
    """Position and size of each ring.

    Args:
        parameters: Array of shape `(9,)`, in the order of `BOUNDS`.
        detail: A `Detail`. Defaults to `COARSE`.

    Raises:
        ValueError: If a number is missing, or is not finite and positive.
    """
    parameters = np.asarray(parameters, float)
    if parameters.shape != (len(BOUNDS),) or not (parameters > 0).all():
        raise ValueError(
            f"A car needs {len(BOUNDS)} positive numbers: {', '.join(BOUNDS)}. "
            f"Received: parameters={parameters}"
        )
    clearance, half_width = parameters[7:]
    even = np.linspace(0, 1, detail.num_rings)
    x = (even + (1 - np.cos(np.pi * even)) / 2) / 2
    closing = np.minimum(1, np.sqrt(x / NOSE))
    closing *= 1 - 0.25 * np.clip((x - 1 + TAIL) / TAIL, 0, 1)
    narrowing = np.clip((x - NARROWS_FROM) / (1 - NARROWS_FROM), 0, 1)
    width = WIDTH * half_width * (1 - 0.15 * narrowing)
    above = _upper_side(x, parameters) - clearance
    sides = np.stack(
        [
            clearance + 0.1 * (1 - closing),
            clearance + above * (0.35 + 0.65 * closing),
        ]
    )
    # A low hood would put the top of the nose below its bottom.
    bottom, top = np.sort(sides, axis=0)
    return Rings(LENGTH * x, width * (0.25 + 0.75 * closing), bottom, top)


def car_vertices(parameters, detail=COARSE):
    """The vertices of a car, in metres.

    Args:
        parameters: Array of shape `(9,)`, in the order of `BOUNDS`.
        detail: A `Detail`. Defaults to `COARSE`.

    Returns:
        Array of shape `(1602, 3)` if coarse: along, across and up; the rings
        from the nose on, each from its side over the top, then the two poles.
    """
    rings = car_rings(parameters, detail)
    points = []
    for x, half_width, bottom, top in zip(*rings, strict=True):
        half_height = (top - bottom) / 2
        across, up = ring_points(half_width, half_height, detail.ring_size)
        up = up + (top + bottom) / 2
        points.append(np.stack([np.full_like(up, x), across, up], axis=1))
    poles = [ring.mean(axis=0) for ring in (points[0], points[-1])]
    return np.concatenate([*points, poles])


def car_faces(detail=COARSE):
    """The triangles of every car, their corners anticlockwise from outside.

    Args:
        detail: A `Detail`. Defaults to `COARSE`.

    Returns:
        Array of shape `(3200, 3)` if coarse, of vertex indices.
    """
    num_rings, size = detail
    ring = np.arange(size)
    after = (ring + 1) % size
    first = size * np.arange(num_rings - 1)[:, None]
    second = first + size
    nose, tail = num_rings * size, num_rings * size + 1
    last = nose - size
    parts = [
        _triangles(first + ring, first + after, second + after),
        _triangles(first + ring, second + after, second + ring),
        _triangles(nose, after, ring),
        _triangles(tail, last + ring, last + after),
    ]
    return np.concatenate(parts).astype("int32")


def ring_points(half_width, half_height, num):
    """Points at equal distances on a rectangle with round corners.

    Returns:
        Arrays of shape `(num,)`: across and up, from one side over the top.
    """
    radius = min(CORNER, 0.98 * half_width, 0.98 * half_height)
    angle = np.linspace(0, np.pi / 2, 200)
    across = half_width - radius * (1 - np.cos(angle))
    up = half_height - radius * (1 - np.sin(angle))
    across = np.concatenate([[half_width], across, [0]])
    up = np.concatenate([[0], up, [half_height]])
    across = np.concatenate([across, -across[::-1]])
    up = np.concatenate([up, up[::-1]])
    across = np.concatenate([across, across[::-1]])
    up = np.concatenate([up, -up[::-1]])
    length = np.hypot(np.diff(across), np.diff(up)).cumsum()
    length = np.concatenate([[0], length])
    stations = length[-1] * np.arange(num) / num
    return np.interp(stations, length, across), np.interp(stations, length, up)


def frontal_area(rings):
    """The area of a car's shadow along the flow, in square metres."""
    height = np.linspace(rings.bottom.min(), rings.top.max(), 4001)
    widest = np.zeros_like(height)
    for _, half_width, bottom, top in zip(*rings, strict=True):
        half_height = (top - bottom) / 2
        radius = min(CORNER, half_width, half_height)
        from_middle = np.abs(height - (top + bottom) / 2)
        corner = np.clip(from_middle - half_height + radius, 0, None)
        inside = from_middle <= half_height
        missing = radius - np.sqrt(np.clip(radius**2 - corner**2, 0, None))
        width = np.where(inside, half_width - missing, 0)
        widest = np.maximum(widest, width)
    return 2 * float(np.trapezoid(widest, height))


def _upper_side(x, parameters):
    """Hood, windscreen, roof and rear window, straight, then rounded."""
    hood_height, roof_height, hood, windscreen, roof, tail_height = parameters[
        :6
    ]
    ends = np.cumsum([hood, windscreen, roof, parameters[6]])
    ends[-1] = min(ends[-1], 0.97)
    heights = [0.72 * hood_height, 0.9 * hood_height, hood_height]
    heights += [roof_height, 0.99 * roof_height]
    heights += [tail_height, 0.92 * tail_height]
    straight = np.interp(x, [0, 0.03, *ends, 1], heights)
    padded = np.pad(straight, SMOOTHED // 2, mode="edge")
    kernel = np.full(SMOOTHED, 1 / SMOOTHED)
    return HEIGHT * np.convolve(padded, kernel, mode="valid")


def _triangles(*corners):
    corners = [corner.ravel() for corner in np.broadcast_arrays(*corners)]
    return np.stack(corners, axis=1)
