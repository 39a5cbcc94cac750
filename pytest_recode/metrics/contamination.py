"""Snippets of papers dated after a model's knowledge cutoff, which it cannot have seen (ResearchCodeBench, arXiv 2506.02314)."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.intervals import Interval, of_difference
from pytest_recode.metrics.passing import FEW_PAPERS, Passed, passed, snippet_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Contamination:
    """Snippets of papers dated after a model's knowledge cutoff, against all others."""

    cutoff: str
    date: str  # name of the compared date
    after: Passed
    before: Passed
    undated: int  # snippets whose paper lacks that date; on neither side
    difference: float | None  # Scaled Pass@1 after minus before
    interval: Interval | None  # by papers; None with fewer than FEW_PAPERS on either side


def contamination(attempts: Sequence[Attempt], *, date: str = "first_commit_date") -> Contamination | None:
    """Compare snippets after and before the model's knowledge cutoff. None if the cutoff is unknown.

    A cutoff that names a month or a year means its last day. As in the paper, but with each model's own cutoff; the paper's
    "contamination-safe" papers are `safe_papers`.
    """
    cutoff = next((attempt.cutoff for attempt in attempts if attempt.cutoff), "")
    if not cutoff:
        return None
    end = last_day(cutoff)
    dated = [attempt for attempt in attempts if snippet_of(attempt).dates.get(date)]
    after = [attempt for attempt in dated if snippet_of(attempt).dates[date] > end]
    before = [attempt for attempt in dated if snippet_of(attempt).dates[date] <= end]
    one, other = passed(after), passed(before)
    few = any(
        len({snippet_of(attempt).paper for attempt in part if attempt.played}) < FEW_PAPERS for part in (after, before)
    )
    return Contamination(
        cutoff=cutoff,
        date=date,
        after=one,
        before=other,
        undated=len({attempt.task for attempt in attempts}) - len({attempt.task for attempt in dated}),
        difference=None if one.scaled is None or other.scaled is None else one.scaled - other.scaled,
        interval=None
        if few
        else of_difference(*((part.scaled or 0.0, part.scaled_interval or (0.0, 1.0)) for part in (other, one))),
    )


def last_day(cutoff: str) -> str:
    """The last day of "2024", "2024-7" or "2024-07-17", as an ISO date. Raises `ValueError` for anything else."""
    match = re.fullmatch(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", cutoff.strip())
    if match is not None:
        year, month = int(match[1]), int(match[2] or 12)
        with suppress(ValueError):
            return datetime.date(year, month, int(match[3] or calendar.monthrange(year, month)[1])).isoformat()
    raise ValueError(f"{cutoff!r} is not a date such as 2024-10 or 2024-10-17")


def safe_papers(attempts: Iterable[Attempt], *, date: str = "first_commit_date") -> tuple[str, ...]:
    """Papers dated after the known cutoffs of all models in `attempts` (13 of 20, by first commit, for the 32 published)."""
    everything = tuple(attempts)
    ends = [last_day(attempt.cutoff) for attempt in everything if attempt.cutoff]
    papers = {snippet_of(attempt).paper: snippet_of(attempt).dates.get(date, "") for attempt in everything}
    return tuple(paper for paper, day in papers.items() if ends and day > max(ends))
