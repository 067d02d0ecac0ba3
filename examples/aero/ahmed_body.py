"""A body whose drag has been measured often: a check of the whole chain.

Reference: Ahmed, Ramm and Faltin, Some salient features of the time-averaged
ground vehicle wake, SAE 840300, 1984.
"""

import numpy as np

# Metres: the body is 1.044 long, here enlarged to a car's length.
SCALE = 4.0
LENGTH, HALF_WIDTH, HEIGHT, CLEARANCE = 1.044, 0.389 / 2, 0.288, 0.05
NOSE_RADIUS, SLANT = 0.1, 0.222
NUM_NOSE = 11  # stations in the rounded nose


def ahmed_body(degrees=25.0):
    """The body without its legs, its vertical edges sharp behind the nose.

    Args:
        degrees: Float. The angle of the slanted back. Defaults to `25.0`.

    Returns:
        Vertices of shape `(num, 3)` and triangles of shape `(num, 3)`.
    """
    angle = np.linspace(0, np.pi / 2, NUM_NOSE)
    inset = NOSE_RADIUS * (1 - np.sin(angle))
    x = NOSE_RADIUS * (1 - np.cos(angle))
    slant = np.radians(degrees)
    x = np.concatenate([x, [LENGTH - SLANT * np.cos(slant), LENGTH]])
    inset = np.concatenate([inset, [0, 0]])
    top = CLEARANCE + HEIGHT - inset
    top[-1] -= SLANT * np.sin(slant)
    side, bottom = HALF_WIDTH - inset, CLEARANCE + inset
    corners = [(side, bottom), (side, top), (-side, top), (-side, bottom)]
    rings = [np.stack([x, *corner], axis=1) for corner in corners]
    return SCALE * np.stack(rings, axis=1).reshape(-1, 3), _faces(len(x))


def ahmed_frontal_area():
    """In square metres."""
    return 2 * HALF_WIDTH * HEIGHT * SCALE**2


def _faces(num_rings):
    faces = []
    for first in range(0, 4 * (num_rings - 1), 4):
        for corner in range(4):
            here, after = first + corner, first + (corner + 1) % 4
            faces += [(here, after, after + 4), (here, after + 4, here + 4)]
    last = 4 * (num_rings - 1)
    faces += [(0, 2, 1), (0, 3, 2)]
    faces += [(last, last + 1, last + 2), (last, last + 2, last + 3)]
    return np.array(faces)
