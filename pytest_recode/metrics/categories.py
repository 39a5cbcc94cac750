"""What was wrong, as the researcher sorted it: T0 … T4 of RECODE-H (docs/explanation/feedback.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt

CATEGORIES = ("T0", "T1", "T2", "T3", "T4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """Items of feedback that a turn began with, one for each interface that failed before it. Turns of episodes with errors are in it."""

    items: int
    none: int  # without a category: in no share
    counts: tuple[int, ...]  # by CATEGORIES
    shares: tuple[float, ...] | None  # of those with a category
    sources: tuple[tuple[str, int], ...]  # who sorted them, commonest first


def categories(attempts: Iterable[Attempt]) -> Sorted:
    """share of a category = items of it / items that have one (RECODE-H, table 3, which has no T0)."""
    found: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    for attempt in attempts:
        for turn in attempt.turns:
            found.update(turn.categories)
            sources[turn.source] += len(turn.categories)
    counts = tuple(found[name] for name in CATEGORIES)
    known = sum(counts)
    return Sorted(
        items=found.total(),
        none=found.total() - known,
        counts=counts,
        shares=tuple(count / known for count in counts) if known else None,
        sources=tuple((source, count) for source, count in sources.most_common() if count),
    )
