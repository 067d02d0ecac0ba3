"""Makes the examples' own modules importable, as they are for a script."""

import sys

from tests.examples.scripts import EXAMPLES

sys.path.insert(0, str(EXAMPLES))
