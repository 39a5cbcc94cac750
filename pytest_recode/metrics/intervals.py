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
"""The contribution of one cluster to numerator and denominator of a share. 0 <= numerator <= denominator, denominator > 0."""

Z95 = 1.959963984540054
"""The normal distribution's 97.5 % quantile."""


def wilson(k: float, n: float, z: float = Z95) -> Interval:
    """Score interval of a share k of n, as shares (Wilson 1927, JASA 22:209). n = 0 gives no information: (0, 1)."""
    if n == 0:
        return 0.0, 1.0
    p = k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At 0 and 1, the end is the share itself; rounding must not move it beyond
    return min(p, max(0.0, centre - half)), max(p, min(1.0, centre + half))


def of_share(clusters: Iterable[Sums], *, tasks: float, attempts: int) -> Interval:
    """Interval of sum of numerators / sum of denominators, for clusters of dependent observations (attempts at a task, snippets of a paper).

    Wilson's interval with the effective sample size p (1 - p) / V, and with Student's t with one degree of freedom less than
    the number of clusters (Korn and Graubard 1998; Dean and Pagano 2015). V is the linearised variance of a ratio between
    clusters. The effective size is at most `attempts`.

    Special cases: plain Wilson if each cluster is one outcome of one attempt; Wilson of `tasks` if all or none were solved, because no spread
    between clusters can be estimated; Wilson of `attempts` if there is one cluster, for which the interval then applies.
    """
    sums = list(clusters)
    total = sum(weight for _, weight in sums)
    if not total:
        return 0.0, 1.0
    share = sum(value for value, _ in sums) / total
    one_each = len(sums) == attempts and all(weight == 1 and value in (0, 1) for value, weight in sums)
    if one_each or len(sums) < 2:
        return wilson(share * attempts, attempts)
    if share in (0, 1):
        return wilson(share * tasks, tasks)
    spread = sum((value - share * weight) ** 2 for value, weight in sums)
    variance = len(sums) / (len(sums) - 1) * spread / total**2
    size = min(attempts, share * (1 - share) / variance) if variance > 0 else attempts
    return wilson(share * size, size, student(len(sums) - 1))


def of_difference(first: tuple[float, Interval], second: tuple[float, Interval]) -> Interval:
    """Interval of `second` minus `first`, two independent shares with their intervals, whose ends give the variances
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
    """Adjust the p values of several tests so that the probability of any false finding stays below the level (Holm 1979).
    The order is kept."""
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    highest = 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - place) * values[index]))
        adjusted[index] = highest
    return adjusted


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that one of k attempts passes, drawn from n of which c passed: 1 - C(n-c, k) / C(n, k), unbiased
    (Chen et al. 2021, arXiv 2107.03374, equation 1). Raises `ValueError` for k > n."""
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} needs at least {k} attempts, not {n}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_all_k(n: int, c: int, k: int) -> float:
    """Probability that all of k attempts pass, drawn from n of which c passed: C(c, k) / C(n, k), unbiased (pass^k of Yao et al. 2024,
    arXiv 2406.12045). Raises `ValueError` for k > n."""
    if not 1 <= k <= n:
        raise ValueError(f"pass^{k} needs at least {k} attempts, not {n}")
    return math.comb(c, k) / math.comb(n, k)
