"""Profiles of NACA's four-digit family, with real-valued parameters."""

import numpy as np

# Half of the thickness over the chord, for a thickness of 0.2 of the chord.
THICKNESS = (0.2969, -0.126, -0.3516, 0.2843, -0.1015)


def naca_outline(camber, position, thickness, num_stations=81):
    """The outline of a profile, in chords.

    Reference: Jacobs, Ward and Pinkerton, NACA Report 460, 1933.

    Args:
        camber: Float in `[0, 1)`. The largest height of the mean line.
        position: Float in `(0, 1)`. Where it is.
        thickness: Float in `(0, 1)`. The largest thickness.
        num_stations: Integer. Stations along the chord, close together at
            both ends. Defaults to `81`.

    Returns:
        Array of shape `(2 * num_stations - 1, 2)`, from the upper trailing
        edge round the nose to the lower one.

    Raises:
        ValueError: If a parameter is outside its range, or NaN.

    Example:

    >>> naca_outline(0.02, 0.4, 0.12).shape
    (161, 2)
    """
    camber, position, thickness = map(float, (camber, position, thickness))
    _check(camber, position, thickness)
    x = (1 - np.cos(np.linspace(0, np.pi, num_stations))) / 2
    half = 5 * thickness * _half_thickness(x)
    height, slope = _mean_line(x, camber, position)
    angle = np.arctan(slope)
    aside, above = half * np.sin(angle), half * np.cos(angle)
    upper = np.stack([x - aside, height + above], axis=1)
    lower = np.stack([x + aside, height - above], axis=1)
    return np.concatenate([upper[::-1], lower[1:]])


def _check(camber, position, thickness):
    if not 0 <= camber < 1 or not 0 < position < 1 or not 0 < thickness < 1:
        raise ValueError(
            "A profile needs a camber in [0, 1), and a position of the camber "
            "and a thickness in (0, 1), all in chords. Received: "
            f"camber={camber}, position={position}, thickness={thickness}"
        )


def _half_thickness(x):
    root, *rest = THICKNESS
    powers = sum(
        factor * x**power for power, factor in enumerate(rest, start=1)
    )
    return root * np.sqrt(x) + powers


def _mean_line(x, camber, position):
    """Two parabolas that meet at the largest camber; height and slope."""
    before = camber / position**2
    behind = camber / (1 - position) ** 2
    height = np.where(
        x < position,
        before * (2 * position * x - x**2),
        behind * (1 - 2 * position + 2 * position * x - x**2),
    )
    slope = 2 * np.where(x < position, before, behind) * (position - x)
    return height, slope
