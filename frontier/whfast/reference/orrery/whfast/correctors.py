"""Coefficients of symplectic correctors."""

import math

import numpy as np

ALPHA = math.sqrt(7.0 / 40.0)
TAYLOR = (1.0 / 24.0, -7.0 / 5760.0, 31.0 / 967680.0, -127.0 / 154828800.0, 73.0 / 3503554560.0)
"""Of (1 - x / sinh x) / z with x = z / 2: coefficients of z, z^3, ..., z^9."""
PAIRS = {0: 0, 3: 1, 5: 2, 7: 3, 11: 5}


def stages(order: int) -> tuple[tuple[float, float], ...]:
    """The pairs (a_i, b_i) of a corrector."""
    if order not in PAIRS:
        raise ValueError(f"no corrector of order {order}; choose one of {sorted(PAIRS)}")
    count = PAIRS[order]
    a = ALPHA * np.arange(1, count + 1)
    odd = 2 * np.arange(count) + 1
    right = [0.5 * math.factorial(power) * value for power, value in zip(odd, TAYLOR, strict=False)]
    b = np.linalg.solve(a ** odd[:, None], right) if count else a
    return tuple(zip(a.tolist(), b.tolist(), strict=True))


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
