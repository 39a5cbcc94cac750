"""Counts and shares of feedback categories T0 … T4, as the researcher chose them (docs/explanation/feedback.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt

CATEGORIES = ("T0", "T1", "T2", "T3", "T4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """Items of feedback that preceded a turn, one per failing interface. Turns of episodes with errors are included."""

    items: int
    none: int  # items without a category; in no share
    counts: tuple[int, ...]  # by CATEGORIES
    shares: tuple[float, ...] | None  # of the items with a category
    sources: tuple[tuple[str, int], ...]  # who chose the categories, most frequent first


def categories(attempts: Iterable[Attempt]) -> Sorted:
    """Share of a category = its items / items with a category (RECODE-H, table 3, which has no T0)."""
    items: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    for attempt in attempts:
        for turn in attempt.turns:
            items.update(turn.categories)
            sources[turn.source] += len(turn.categories)
    counts = tuple(items[name] for name in CATEGORIES)
    known = sum(counts)
    return Sorted(
        items=items.total(),
        none=items.total() - known,
        counts=counts,
        shares=tuple(count / known for count in counts) if known else None,
        sources=tuple((source, count) for source, count in sources.most_common() if count),
    )
