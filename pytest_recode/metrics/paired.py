"""The paired difference of two rows: an exact test by flipping signs, and the interval of the same test.

Pure functions of the stdlib. Random draws use a fixed seed, so that a report is reproducible.
"""

from __future__ import annotations

import functools
import math
import operator
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_recode.metrics.intervals import Interval

DRAWS = 20_000
SEED = 20250602
LEVEL = Fraction(1, 20)
_MOST_STATES = 150_000
_MOST_BITS = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A group of dependent observations whose sign is flipped as one: a task with its attempts, a paper with its snippets.

    It adds `change` to the numerator of the difference (in -weight … weight), and `weight` (> 0) to its denominator.
    """

    change: Fraction
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """First minus second, as a share; `p` < 0.05 exactly if `interval` (95 %) excludes 0."""

    value: float
    interval: Interval
    p: float


def paired(units: Sequence[Unit], *, item: Fraction | None = None) -> PairedDifference:
    """Sum of changes / sum of weights, with a two-sided p value of the null hypothesis of no difference, and an interval.

    p: under the null hypothesis, each unit's change could equally well have the opposite sign. p is the share of all 2^n choices
    of signs whose sum is at least as far from 0 as the observed one (Fisher 1935; Pitman 1937). It is exact; with one attempt at
    each task it is McNemar's exact test. With more than some hundred thousand possible sums, it is estimated from 20,000 draws.

    interval: the differences that this test does not reject, at 2.5 % on each side, with one additional item that changes each
    way. Without these, six tasks that all change would give an interval of width zero (Bonett and Price 2012 do the same). Each
    end lies on the side of 0 that p implies. `item` is the weight of each additional item; None: 1.
    """
    if not units:
        raise ValueError("no pair to compare")
    total = sum(unit.weight for unit in units)
    value = sum((unit.change for unit in units), Fraction()) / total
    p = _p([unit.change for unit in units])
    weight = Fraction(1) if item is None else item
    ratios = _ratios([(unit.change, Fraction(unit.weight)) for unit in units] + [(weight, weight), (-weight, weight)])
    low, high = _end(ratios), -_end([(-ratio, share) for ratio, share in reversed(ratios)])
    if p >= LEVEL:
        low, high = min(low, 0.0), max(high, 0.0)
    elif value > 0:
        low = max(low, min(ratio for ratio, _ in ratios if ratio > 0))
    else:
        high = min(high, max(ratio for ratio, _ in ratios if ratio < 0))
    found = float(value)
    return PairedDifference(value=found, interval=(min(low, found), max(high, found)), p=float(p))


def _p(changes: Sequence[Fraction]) -> Fraction:
    whole = _whole(changes)
    return sign_flip_p([abs(number) for number in whole if number], abs(sum(whole)))


def sign_flip_p(sizes: Sequence[int], reached: int) -> Fraction:
    """The p value of `paired`, from the absolute values of the changes that are not 0, and the absolute value of their sum.

    Both as whole numbers in any common unit, such as solved attempts.
    """
    whole = sum(sizes)
    if reached == 0:
        return Fraction(1)
    if (whole + 1) * (len(sizes) + 1) > _MOST_BITS and len(set(sizes)) > 1:
        hits = sum(abs(whole - 2 * chosen) >= reached for chosen in _sums(sizes))
        return Fraction(hits + 1, DRAWS + 1)
    # With signs flipped in a subset of sum s, the total is whole - 2 s
    return min(Fraction(1), 2 * _share_up_to(sizes, (whole - reached) // 2))


def _share_up_to(sizes: Sequence[int], limit: int) -> Fraction:
    """The share of all subsets of `sizes` (each > 0) whose sum is at most `limit`."""
    if limit < 0:
        return Fraction(0)
    if len(set(sizes)) == 1:
        return Fraction(_choices_up_to(len(sizes), limit // sizes[0]), 1 << len(sizes))
    # The product of all 1 + x^size as one integer; its coefficients are bit fields, each wide enough for 2^n
    field = len(sizes) + 1
    mask = (1 << (limit + 1) * field) - 1  # the fields up to `limit`
    counts = 1
    for size in sizes:
        counts = (counts + (counts << (size * field))) & mask
    return Fraction(counts % ((1 << field) - 1), 1 << len(sizes))  # the sum of the fields


def _choices_up_to(n: int, most: int) -> int:
    """The number of subsets of n elements with at most `most` of them."""
    total = number = 1
    for size in range(1, min(n, most) + 1):
        number = number * (n - size + 1) // size
        total += number
    return total


def p_value(units: Sequence[Unit]) -> float:
    """The p value of `paired`, without its interval."""
    return float(_p([unit.change for unit in units]))


def interval_within(units: Sequence[Unit], item: Fraction | None, bound: Fraction) -> bool:
    """Whether the interval of `paired` lies in -bound … bound (bound > 0). Exact for every number of units, and faster than the interval."""
    value = sum((unit.change for unit in units), Fraction()) / sum(unit.weight for unit in units)
    weight = Fraction(1) if item is None else item
    pairs = [(unit.change, Fraction(unit.weight)) for unit in units] + [(weight, weight), (-weight, weight)]
    return abs(value) <= bound and all(
        _share_beyond([(sign * change, size) for change, size in pairs], bound) < LEVEL / 2 for sign in (1, -1)
    )


def _share_beyond(pairs: Sequence[tuple[Fraction, Fraction]], bound: Fraction) -> Fraction:
    """The share of all subsets of (change, weight) that are empty, or whose difference is below -bound."""
    shifted = [number for number in _whole([change + bound * weight for change, weight in pairs]) if number]
    # A sum is below 0 if the positive numbers in the subset and the negative ones outside of it stay below the sum of all negative ones
    negative = -sum(number for number in shifted if number < 0)
    return Fraction(1, 1 << len(pairs)) + _share_up_to([abs(number) for number in shifted], negative - 1)


_Ratios = list[tuple[float, float]]
"""Pairs of a difference and the share of all subsets of units with it, ascending. The empty subset has no difference."""


def _ratios(units: Sequence[tuple[Fraction, Fraction]]) -> _Ratios:
    """The differences of all subsets of (change, weight).

    A shifted difference is rejected on the upper side if too few subsets have a smaller one: flipping a subset's signs leaves the
    sum as large exactly if the subset's own difference is below the shift.
    """
    changes = _whole([change for change, _ in units])
    scale = _scale([change for change, _ in units])
    weights, unit = _whole([weight for _, weight in units]), _scale([weight for _, weight in units])
    span, rows = sum(map(abs, changes)) + 1, sum(weights) + 1
    if span * rows <= _MOST_STATES:
        shares = _exactly(changes, weights, span, rows)
    else:
        # Both sums in one: no sum of weights reaches `rows`
        drawn = Counter(_sums([change * rows + weight for change, weight in zip(changes, weights, strict=True)]))
        shares = {divmod(both, rows): count / DRAWS for both, count in drawn.items()}
    factor = unit / scale
    merged: dict[float, float] = {}
    for (change, weight), share in shares.items():
        if weight:
            ratio = float(Fraction(change, weight) * factor)
            merged[ratio] = merged.get(ratio, 0.0) + share
    return sorted(merged.items())


def _exactly(changes: Sequence[int], weights: Sequence[int], span: int, rows: int) -> dict[tuple[int, int], float]:
    """(sum of changes, sum of weights) -> share of all subsets, by a polynomial in two variables that is one integer."""
    width = len(changes) // 8 + 1
    bits = 8 * width
    offset = -sum(change for change in changes if change < 0)
    counts = 1
    for change, weight in zip(changes, weights, strict=True):
        # Exclude or include the unit; negative changes are counted from their lowest sum, so that no exponent is negative
        taken, left = (weight * span + change, 0) if change >= 0 else (weight * span, -change)
        counts = (counts << taken * bits) + (counts << left * bits)
    data = counts.to_bytes(span * rows * width, "little")
    everything = 1 << len(changes)
    shares = {}
    for place in range(span * rows):
        count = int.from_bytes(data[place * width : (place + 1) * width], "little")
        if count:
            weight, change = divmod(place, span)
            shares[change - offset, weight] = count / everything
    return shares


def _end(ratios: _Ratios) -> float:
    """The lowest difference that is not rejected. The empty subset, whose flip changes nothing, counts as well."""
    reached = 1.0 - sum(share for _, share in ratios)
    for ratio, share in ratios:
        reached += share
        if reached >= LEVEL / 2:
            return ratio
    return ratios[-1][0]


def _whole(values: Sequence[Fraction]) -> list[int]:
    scale = _scale(values)
    return [int(value * scale) for value in values]


def _scale(values: Sequence[Fraction]) -> int:
    return math.lcm(*(value.denominator for value in values))


def _sums(values: Sequence[int]) -> Iterator[int]:
    """The sums of DRAWS random subsets of the values."""
    tables = [_subset_sums(values[start : start + 8]) for start in range(0, len(values), 8)]
    # A byte of a subset's mask selects one of the sums of eight values
    return (sum(map(operator.getitem, tables, mask)) for mask in _drawn(len(values)))


def _subset_sums(values: Sequence[int]) -> list[int]:
    """The sums of all subsets, by the mask of each."""
    sums = [0]
    for value in values:
        sums += [value + other for other in sums]
    return sums


@functools.cache
def _drawn(n: int) -> tuple[bytes, ...]:
    """DRAWS random subsets of `n` values, each as the bytes of a mask."""
    rng = random.Random(SEED)
    return tuple(rng.getrandbits(n).to_bytes(-(-n // 8), "little") for _ in range(DRAWS))
