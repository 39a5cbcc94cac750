"""Dates of papers and knowledge cutoffs of models: ResearchCodeBench's timeline, and RECODE-H by publication year."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.metrics.attempt import DATES, Attempt
from pytest_recode.metrics.contamination import last_day


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperDates:
    """A paper, and for each of its dates the number of models whose knowledge ends before it. Unknown dates are missing."""

    name: str
    snippets: int
    lines: int
    dates: Mapping[str, str]  # of DATES, ISO
    ended: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoff:
    """A knowledge cutoff, with the models that have it, and the papers dated after it."""

    cutoff: str
    models: tuple[str, ...]
    after: Mapping[str, tuple[PaperDates, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Papers by their first commit, and cutoffs, both in chronological order."""

    papers: tuple[PaperDates, ...]
    cutoffs: tuple[Cutoff, ...]
    models: int  # with a known cutoff
    unknown: tuple[str, ...]  # models without a known cutoff


def timeline(attempts: Iterable[Attempt]) -> Timeline:
    """The timeline of attempts at snippets. A cutoff that names a month means its last day, so a paper of the same month is not later."""
    ends: dict[tuple[str, str], dict[str, None]] = {}
    unknown: dict[str, None] = {}
    lines: dict[str, dict[str, int]] = {}
    dates: dict[str, Mapping[str, str]] = {}
    for attempt in attempts:
        if attempt.snippet is None:
            continue
        lines.setdefault(attempt.snippet.paper, {})[attempt.task] = attempt.snippet.lines
        dates[attempt.snippet.paper] = attempt.snippet.dates
        if attempt.cutoff:
            cutoff = "-".join(part.zfill(2) for part in attempt.cutoff.strip().split("-"))
            ends.setdefault((last_day(cutoff), cutoff), {})[attempt.row.model] = None
        else:
            unknown[attempt.row.model] = None
    days = [day for (day, _), models in ends.items() for _ in models]
    papers = tuple(
        PaperDates(
            name=name,
            snippets=len(lines[name]),
            lines=sum(lines[name].values()),
            dates=known,
            ended={key: sum(day < known[key] for day in days) for key in DATES if key in known},
        )
        for name, known in sorted(dates.items(), key=lambda item: (item[1].get("first_commit_date", "9999"), item[0]))
    )
    return Timeline(
        papers=papers,
        cutoffs=tuple(
            Cutoff(
                cutoff=cutoff,
                models=tuple(models),
                after={key: tuple(one for one in papers if one.dates.get(key, "") > day) for key in DATES},
            )
            for (day, cutoff), models in sorted(ends.items())
        ),
        models=len(days),
        unknown=tuple(unknown),
    )


def by_year(attempts: Sequence[Attempt]) -> dict[int | None, list[Attempt]]:
    """Group attempts by the publication year of the task's paper, in chronological order; None (unknown) is last."""
    groups: dict[int | None, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda one: one.year or 9999):
        groups.setdefault(attempt.year, []).append(attempt)
    return groups
