"""Seeds the global random generators of Python and numpy, so that a grading can be repeated by its seed.

Runs in the candidate process and in the graders. Called before modules of a task are imported and before each case.
Must not import numpy: where numpy has not been imported, nothing can have drawn from it. (torch needs no seed: it
starts with the same state in every process.)

Stdlib only, numpy where it was imported, Python 3.9+.
"""

from __future__ import annotations

import random
import sys


def seed_generators(entropy: int) -> None:
    random.seed(entropy)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(entropy % 2**32)
