"""Strong composition, to compare with."""

import numpy as np


def strong_composition(epsilon, delta, steps, slack):
    """(epsilon, delta) of so many mechanisms that are each (epsilon, delta)-private."""
    total = epsilon * np.sqrt(2.0 * steps * np.log(1.0 / slack)) + steps * epsilon * np.expm1(epsilon)
    return float(total), steps * delta + slack


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
