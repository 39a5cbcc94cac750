"""When papers appeared and models' knowledge ends: ResearchCodeBench's timeline, and RECODE-H by publication year."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.metrics.attempt import DATES, Attempt
from pytest_recode.metrics.passing import last_day


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper, and how many models' knowledge ends before each of its dates; what is not known is left out of both mappings."""

    name: str
    snippets: int
    lines: int
    dates: Mapping[str, str]  # of DATES, ISO
    ended: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoff:
    """One end of knowledge, with the models that have it, and the papers dated after it, by their dates."""

    cutoff: str
    models: tuple[str, ...]
    after: Mapping[str, tuple[Paper, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Papers by their first commit, and cutoffs, both from the earliest on."""

    papers: tuple[Paper, ...]
    cutoffs: tuple[Cutoff, ...]
    models: int  # of which a cutoff is known
    unknown: tuple[str, ...]  # models of which none is


def timeline(attempts: Iterable[Attempt]) -> Timeline:
    """Of attempts at snippets. A cutoff that names a month ends with that month, so that a paper of the same month is not after it."""
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
        Paper(
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
    """By the year in which the task's paper appeared, the earliest first; what is not known is the last."""
    found: dict[int | None, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda one: one.year or 9999):
        found.setdefault(attempt.year, []).append(attempt)
    return found
