"""How freely the inputs of a recorded call are varied, and the sizes that its arrays then have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_recode.drafting.recorded_values import RecordedCall, arrays_in

SMALL = 40  # the largest size that is drawn, whatever was recorded, unless sizes are near the recorded ones
_LETTERS = ("n", "m", "k", "p", "q", "r", "s", "t")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawingPlan:
    """`sizes`: "vary" (at most `SMALL`), "related" (sizes that are one more, one less or twice another stay so), "near" or "kept".

    `tied`: an int that equals a size stays equal to it. `scalars`: numbers are varied. `values`: "drawn", "scaled" (recorded arrays times a
    number) or "recorded".
    """

    sizes: str
    values: str = "drawn"
    tied: bool = True
    scalars: bool = True

    @property
    def words(self) -> str:
        """What a reader must know of inputs that are close to the recorded ones; "" for the freest plans."""
        if self.values == "recorded":
            return "the recorded arrays" if self.scalars else "the recorded inputs, which never change"
        if self.values == "scaled":
            return "the recorded arrays times a number"
        return "arrays of the recorded sizes" if self.sizes == "kept" else ""


PLANS = (
    DrawingPlan(sizes="vary"),
    DrawingPlan(sizes="vary", scalars=False),
    DrawingPlan(sizes="related"),
    DrawingPlan(sizes="related", scalars=False),
    DrawingPlan(sizes="vary", tied=False),
    DrawingPlan(sizes="vary", tied=False, scalars=False),
    DrawingPlan(sizes="near"),
    DrawingPlan(sizes="near", scalars=False),
    DrawingPlan(sizes="kept"),
    DrawingPlan(sizes="kept", scalars=False),
    DrawingPlan(sizes="kept", values="scaled"),
    DrawingPlan(sizes="kept", values="scaled", scalars=False),
    DrawingPlan(sizes="kept", values="recorded"),
    DrawingPlan(sizes="kept", values="recorded", scalars=False),
)
"""From the freest to the closest: the first that the function accepts is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """`lines`: statements that draw sizes. `names`: the expression for each recorded size; a size without one is kept."""

    lines: tuple[str, ...]
    names: dict[int, str]

    def of(self, size: int) -> str:
        return self.names.get(size, str(size))


def fixed_sizes(calls: Sequence[RecordedCall]) -> frozenset[int]:
    """Sizes up to 4 that an axis has in every call, although sizes of other axes differ: coordinates, channels, …"""
    axes: dict[tuple[str, int, int], set[int]] = {}
    for call in calls:
        for name, value in call.arguments:
            for number, array in enumerate(arrays_in(value)):
                for axis, size in enumerate(array.shape):
                    axes.setdefault((name, number, axis), set()).add(size)
    if all(len(sizes) == 1 for sizes in axes.values()):
        return frozenset()
    return frozenset(size for sizes in axes.values() if len(sizes) == 1 for size in sizes if size <= 4)


def drawn_sizes(call: RecordedCall, plan: DrawingPlan, fixed: frozenset[int]) -> Sizes:
    """Equal sizes stay equal; 0 and 1 stay what they are."""
    found = dict.fromkeys(size for _, value in call.arguments for array in arrays_in(value) for size in array.shape)
    varied = [size for size in found if size > 1 and size not in fixed]
    if plan.sizes == "kept" or not varied:
        return Sizes(lines=(), names={})
    taken = {name for name, _ in call.arguments}
    letters = [each for each in _LETTERS if each not in taken] + [f"size_{number}" for number in range(len(varied))]
    names: dict[int, str] = {}
    lines: list[str] = []
    for size in sorted(varied) if plan.sizes == "related" else varied:
        relation = _relation(size, names) if plan.sizes == "related" else ""
        if relation:
            names[size] = relation
            continue
        letter = letters[len(lines)]
        low, high = _bounds(size, plan.sizes)
        names[size] = letter
        lines.append(f"{letter} = size(rng, {low}, {high})")
    return Sizes(lines=tuple(lines), names=names)


def _relation(size: int, names: dict[int, str]) -> str:
    for other, name in names.items():
        if not name.isidentifier():
            continue
        if size == other + 1:
            return f"{name} + 1"
        if size == 2 * other:
            return f"2 * {name}"
        if size == 2 * other + 1:
            return f"2 * {name} + 1"
        if size == other * other:
            return f"{name} * {name}"
    for other, name in names.items():
        for third, factor in names.items():
            if size == other * third and name.isidentifier() and factor.isidentifier():
                return f"{name} * {factor}"
    return ""


def _bounds(size: int, how: str) -> tuple[int, int]:
    if how == "near":
        spread = max(1, size // 8)
        return max(2, size - spread), size + spread
    base = min(size, SMALL)
    spread = max(2, base // 4)
    return max(2, base - spread), base + spread
