"""Confidence intervals of shares, and of the difference of two shares. Paired differences and their test are in `paired`.

Pure functions of the stdlib. All intervals are 95 %.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence

Interval = tuple[float, float]
"""Low and high end, 95 %."""

Sums = tuple[float, float]
"""What one cluster adds to a share: to its numerator, to its denominator. 0 <= numerator <= denominator, denominator > 0."""

Z95 = 1.959963984540054
"""The normal distribution's 97.5 % quantile."""


def wilson(k: float, n: float, z: float = Z95) -> Interval:
    """Score interval of a share k of n, as shares (Wilson 1927, JASA 22:209). n = 0 gives no information: (0, 1)."""
    if n == 0:
        return 0.0, 1.0
    p = k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At 0 and 1 the end is the share itself, which rounding must not move past
    return min(p, max(0.0, centre - half)), max(p, min(1.0, centre + half))


def of_share(clusters: Iterable[Sums], *, tasks: float, attempts: int) -> Interval:
    """Of sum of numerators / sum of denominators, where what lies in one cluster hangs together: attempts at a task, snippets of a paper.

    Wilson's interval with the effective sample size p (1 - p) / V, and with Student's t of one degree of freedom less than
    there are clusters (Korn and Graubard 1998; Dean and Pagano 2015); V is the linearised variance of a ratio between
    clusters. The effective size is `attempts` at most. Plain Wilson where each cluster is one outcome; of `tasks`, as if those
    were independent, where all or none were solved, since no spread between clusters can be seen; and of `attempts` in one cluster,
    which tells nothing of others.
    """
    found = list(clusters)
    total = sum(weight for _, weight in found)
    if not total:
        return 0.0, 1.0
    share = sum(value for value, _ in found) / total
    if all(weight == 1 and value in (0, 1) for value, weight in found) or len(found) < 2:
        return wilson(share * attempts, attempts)
    if share in (0, 1):
        return wilson(share * tasks, tasks)
    spread = sum((value - share * weight) ** 2 for value, weight in found)
    variance = len(found) / (len(found) - 1) * spread / total**2
    size = min(attempts, share * (1 - share) / variance) if variance > 0 else attempts
    return wilson(share * size, size, student(len(found) - 1))


def of_difference(first: tuple[float, Interval], second: tuple[float, Interval]) -> Interval:
    """Of `second` less `first`, independent shares with their intervals: recovers their variances from the ends
    (MOVER: Newcombe 1998, method 10; Zou and Donner 2008)."""
    (one, (one_low, one_high)), (other, (other_low, other_high)) = first, second
    difference = other - one
    return (
        max(-1.0, difference - math.hypot(other - other_low, one_high - one)),
        min(1.0, difference + math.hypot(other_high - other, one - one_low)),
    )


@functools.cache
def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t with that many degrees of freedom, to 1e-9; above 1000 the normal distribution's."""
    if freedom > 1000:
        return Z95
    low, high = Z95, 13.0  # 12.706 with one degree
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (low, middle) if _within(middle, freedom) > 0.95 else (middle, high)
    return high


def _within(t: float, freedom: int) -> float:
    """P(|T| <= t), by the finite series for whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def holm(values: Sequence[float]) -> list[float]:
    """p values of several tests, adjusted so that the chance of any false finding among them stays below the level
    (Holm 1979), in the order in which they came."""
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    highest = 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - place) * values[index]))
        adjusted[index] = highest
    return adjusted


def pass_at_k(n: int, c: int, k: int) -> float:
    """That one of k attempts, drawn from n of which c passed, passes: 1 - C(n-c, k) / C(n, k), unbiased
    (Chen et al. 2021, arXiv 2107.03374, equation 1). `ValueError` for k > n."""
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} needs at least {k} attempts, not {n}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)
