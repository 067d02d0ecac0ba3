"""The colours of all pictures, told apart by colour-blind readers too.

Reference: Okabe & Ito (2008), Color Universal Design; the map is cividis of
[Nuñez et al., 2018](https://doi.org/10.1371/journal.pone.0199239).
"""

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
BLACK = "#000000"
# Okabe and Ito's yellow is too light for a line on white.
LINES = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK]

ID = BLUE
# The ID colour comes last, so that an OOD set looks alike in all pictures.
OOD = LINES[1:] + LINES[:1]
REFERENCE = "#737373"
MISSING = "#BFBFBF"
SHADE = "#E6E6E6"
UNCERTAINTY_MAP = "cividis"


def class_colors(num_classes: int) -> list[tuple[float, ...]]:
    """A colour per class: those of the lines, then lighter, then darker."""
    base = [
        tuple(int(color[start : start + 2], 16) / 255.0 for start in (1, 3, 5))
        for color in LINES[:-1]
    ]
    lighter = [tuple(0.5 + 0.5 * part for part in color) for color in base]
    darker = [tuple(0.5 * part for part in color) for color in base]
    known = base + lighter + darker + [(0.0, 0.0, 0.0)]
    return [known[index % len(known)] for index in range(num_classes)]
