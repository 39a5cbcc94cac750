"""ResearchCodeBench's numbers: Pass@1 and Scaled Pass@1 of any choice of snippets (arXiv 2506.02314)."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_recode.metrics.attempt import Attempt, Row, Snippet
from pytest_recode.metrics.intervals import Interval, Sums, of_difference, of_share
from pytest_recode.metrics.paired import Difference, Unit, paired

FEW_PAPERS = 5
"""With fewer papers than this snippets are taken for independent: three papers tell little of the spread among papers."""

BANDS = ((1, 1), (2, 4), (5, 9), (10, 19), (20, None))
"""Snippets by code lines, both ends included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """One choice of snippets. Attempts that could not be played are in no share: `errors` counts them.

    A snippet's score is the share of its attempts that pass; with one attempt each, `solved` is a count of snippets.
    """

    snippets: int  # with at least one played attempt
    solved: float
    lines: int  # code lines of those snippets
    lines_solved: float
    errors: int  # attempts
    errors_only: int  # snippets of which no attempt could be played
    plain: float | None
    plain_interval: Interval | None
    scaled: float | None
    scaled_interval: Interval | None
    plain_at_least: float | None  # with what could not be played counted as not passed
    scaled_at_least: float | None


def passed(attempts: Iterable[Attempt], *, within: int | None = 1) -> Passed:
    """Pass@1 = mean over snippets of the score; Scaled Pass@1 = sum of lines x score / sum of lines.

    `within=1` is the first turn alone, before any feedback; None is the whole episode. Intervals, 95 %, of both numbers by papers
    (by snippets, with fewer than FEW_PAPERS of them): `intervals.of_share`.
    """
    everything = tuple(attempts)
    found = scored(everything, within)
    all_lines = {attempt.task: _snippet(attempt).lines for attempt in everything}
    solved = sum((score for _, score in found.values()), Fraction())
    lines_solved = sum((snippet.lines * score for snippet, score in found.values()), Fraction())
    lines = sum(snippet.lines for snippet, _ in found.values())
    return Passed(
        snippets=len(found),
        solved=float(solved),
        lines=lines,
        lines_solved=float(lines_solved),
        errors=sum(not attempt.played for attempt in everything),
        errors_only=len(all_lines) - len(found),
        plain=float(solved / len(found)) if found else None,
        plain_interval=_interval(found, everything, scaled=False),
        scaled=float(lines_solved / lines) if lines else None,
        scaled_interval=_interval(found, everything, scaled=True),
        plain_at_least=float(_with_errors(everything, within, plain=True) / len(all_lines)) if all_lines else None,
        scaled_at_least=float(_with_errors(everything, within, plain=False) / sum(all_lines.values()))
        if sum(all_lines.values())
        else None,
    )


def by_paper(attempts: Iterable[Attempt]) -> dict[str, Passed]:
    """The scores of every paper, in the order of the attempts."""
    return {paper: passed(group) for paper, group in _groups(attempts, lambda snippet: snippet.paper).items()}


def by_length(attempts: Iterable[Attempt]) -> dict[str, Passed]:
    """The scores of snippets of every length in BANDS that occurs."""
    groups = _groups(attempts, lambda snippet: band(snippet.lines))
    return {name: passed(groups[name]) for name in map(_band_name, BANDS) if name in groups}


def band(lines: int) -> str:
    return next(_band_name(one) for one in BANDS if lines >= one[0] and (one[1] is None or lines <= one[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contamination:
    """Snippets of papers dated after the end of a model's knowledge against the rest."""

    cutoff: str
    date: str  # which date was compared
    after: Passed
    before: Passed
    undated: int  # snippets whose paper lacks that date: in neither
    difference: float | None  # Scaled Pass@1 after, less before
    interval: Interval | None  # by papers; None with fewer than FEW_PAPERS on either side


def contamination(attempts: Sequence[Attempt], *, date: str = "first_commit_date") -> Contamination | None:
    """None where the model's cutoff is not known. A cutoff that names a month ends with that month, one that names a year with that year.

    As the paper does, but with each model's own cutoff; its "contamination-safe" papers are `safe_papers`.
    """
    cutoff = next((attempt.cutoff for attempt in attempts if attempt.cutoff), "")
    if not cutoff:
        return None
    end = last_day(cutoff)
    dated = [attempt for attempt in attempts if _snippet(attempt).dates.get(date)]
    after = [attempt for attempt in dated if _snippet(attempt).dates[date] > end]
    before = [attempt for attempt in dated if _snippet(attempt).dates[date] <= end]
    one, other = passed(after), passed(before)
    few = any(
        len({_snippet(attempt).paper for attempt in part if attempt.played}) < FEW_PAPERS for part in (after, before)
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
    """Of "2024", "2024-7" or "2024-07-17", as an ISO date. Raises `ValueError` for anything else."""
    match = re.fullmatch(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", cutoff.strip())
    if match is None or not 1 <= int(match[2] or 12) <= 12:
        raise ValueError(f"{cutoff!r} is no date such as 2024-10 or 2024-10-17")
    year, month = int(match[1]), int(match[2] or 12)
    return f"{year}-{month:02}-{int(match[3] or calendar.monthrange(year, month)[1]):02}"


def safe_papers(attempts: Iterable[Attempt], *, date: str = "first_commit_date") -> tuple[str, ...]:
    """Papers dated after the known cutoff of every model here (13 of 20, by first commit, for the 32 published)."""
    everything = tuple(attempts)
    ends = [last_day(attempt.cutoff) for attempt in everything if attempt.cutoff]
    papers = {_snippet(attempt).paper: _snippet(attempt).dates.get(date, "") for attempt in everything}
    return tuple(paper for paper, day in papers.items() if ends and day > max(ends))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hard:
    """The HARD snippets, with how they were found."""

    tasks: frozenset[str]
    lines: int
    models: int  # that were asked
    threshold: float


THIRD = 1 / 3


def hard(published: Mapping[Row, Sequence[Attempt]], *, threshold: float = THIRD) -> Hard | None:
    """HARD: snippets that a smaller share of the published models than `threshold` passes. None without published results.

    The benchmark's authors name a HARD subset whose best model reaches 33 % and do not define it; of the shares of the 32
    models, a third gives that number (docs/reference/metrics.md).
    """
    if not published:
        return None
    scores: dict[str, list[Fraction]] = {}
    lines: dict[str, int] = {}
    for attempts in published.values():
        for task, (snippet, score) in scored(attempts, 1).items():
            scores.setdefault(task, []).append(score)
            lines[task] = snippet.lines
    tasks = frozenset(task for task, found in scores.items() if float(sum(found) / len(found)) < threshold)
    return Hard(tasks=tasks, lines=sum(lines[task] for task in tasks), models=len(published), threshold=threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """With the paper against without, over the snippets that were played both ways."""

    snippets: int
    unpaired: int  # snippets played one way only
    plain_with: float
    plain_without: float
    scaled_with: float
    scaled_without: float
    plain: Difference  # Pass@1 with, less without; paired, by papers
    scaled: Difference  # the same of Scaled Pass@1
    units: str  # of the test
    only_with: tuple[str, ...]  # passed with the paper alone, or more often
    only_without: tuple[str, ...]


def ablation(with_paper: Iterable[Attempt], without: Iterable[Attempt]) -> Ablation | None:
    """The difference that the paper in the prompt makes, paired by snippet. None: no snippet was played both ways."""
    one, other = scored(with_paper, 1), scored(without, 1)
    both = [task for task in one if task in other]
    if not both:
        return None
    lines = sum(one[task][0].lines for task in both)
    return Ablation(
        snippets=len(both),
        unpaired=len(one.keys() ^ other.keys()),
        plain_with=float(sum(one[task][1] for task in both) / len(both)),
        plain_without=float(sum(other[task][1] for task in both) / len(both)),
        scaled_with=float(sum(one[task][0].lines * one[task][1] for task in both) / lines),
        scaled_without=float(sum(one[task][0].lines * other[task][1] for task in both) / lines),
        plain=contrast(other, one, scaled=False),
        scaled=contrast(other, one, scaled=True),
        units=units(one[task][0] for task in both),
        only_with=tuple(task for task in both if one[task][1] > other[task][1]),
        only_without=tuple(task for task in both if one[task][1] < other[task][1]),
    )


Scored = Mapping[str, tuple[Snippet, Fraction]]
"""Task -> its snippet and the share of its played attempts that pass."""


def contrast(first: Scored, second: Scored, *, scaled: bool) -> Difference:
    """`second` less `first` on the snippets that both have, by papers (by snippets, with fewer than FEW_PAPERS of them)."""
    both = {task: first[task][0] for task in first if task in second}
    by_papers = len({snippet.paper for snippet in both.values()}) >= FEW_PAPERS
    changes: dict[str, tuple[Fraction, int]] = {}
    for task, snippet in both.items():
        weight = snippet.lines if scaled else 1
        key = snippet.paper if by_papers else task
        change, total = changes.get(key, (Fraction(), 0))
        changes[key] = (change + weight * (second[task][1] - first[task][1]), total + weight)
    whole = [Unit(change=change, weight=weight) for change, weight in changes.values()]
    return paired(whole, item=Fraction(sum(unit.weight for unit in whole), len(both)))


def units(snippets: Iterable[Snippet]) -> str:
    """What `contrast` takes for independent: "20 papers", "37 snippets"."""
    found = [snippet.paper for snippet in snippets]
    papers = len(set(found))
    return f"{papers} papers" if papers >= FEW_PAPERS else f"{len(found)} snippet{'' if len(found) == 1 else 's'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What the paper in the prompt did to one snippet: means over `pairs` of rows that differ in nothing else."""

    task: str
    lines: int
    pairs: int
    with_paper: float
    without: float


def impact(pairs: Iterable[tuple[Sequence[Attempt], Sequence[Attempt]]]) -> tuple[Impact, ...]:
    """Of every snippet that a pair of rows (with the paper, without) played both ways; what gained most stands first."""
    scores: dict[str, list[tuple[Snippet, Fraction, Fraction]]] = {}
    for with_paper, without in pairs:
        one, other = scored(with_paper, 1), scored(without, 1)
        for task in one.keys() & other.keys():
            scores.setdefault(task, []).append((one[task][0], one[task][1], other[task][1]))
    found = (
        Impact(
            task=task,
            lines=each[0][0].lines,
            pairs=len(each),
            with_paper=float(sum(score for _, score, _ in each) / len(each)),
            without=float(sum(score for _, _, score in each) / len(each)),
        )
        for task, each in scores.items()
    )
    return tuple(sorted(found, key=lambda one: (one.without - one.with_paper, one.task)))


def _snippet(attempt: Attempt) -> Snippet:
    if attempt.snippet is None:
        raise ValueError(f"{attempt.task} has no number of lines")
    return attempt.snippet


def scored(attempts: Iterable[Attempt], within: int | None) -> dict[str, tuple[Snippet, Fraction]]:
    """Of what was played; `within` as in `passed`."""
    found: dict[str, list[bool]] = {}
    snippets: dict[str, Snippet] = {}
    for attempt in attempts:
        if attempt.played:
            found.setdefault(attempt.task, []).append(attempt.solved_within(within))
            snippets[attempt.task] = _snippet(attempt)
    return {task: (snippets[task], Fraction(sum(outcomes), len(outcomes))) for task, outcomes in found.items()}


def _with_errors(attempts: Iterable[Attempt], within: int | None, *, plain: bool) -> Fraction:
    found: dict[str, list[bool]] = {}
    weights: dict[str, int] = {}
    for attempt in attempts:
        found.setdefault(attempt.task, []).append(attempt.solved_within(within))
        weights[attempt.task] = 1 if plain else _snippet(attempt).lines
    return sum((weights[task] * Fraction(sum(one), len(one)) for task, one in found.items()), Fraction())


def _sums(found: Scored, *, scaled: bool) -> list[Sums]:
    """Per cluster what it adds to the numerator and to the denominator."""
    papers = len({snippet.paper for snippet, _ in found.values()})
    sums: dict[str, Sums] = {}
    for task, (snippet, score) in found.items():
        weight = snippet.lines if scaled else 1
        key = snippet.paper if papers >= FEW_PAPERS else task
        solved, total = sums.get(key, (0.0, 0.0))
        sums[key] = (solved + float(weight * score), total + weight)
    return list(sums.values())


def _interval(found: Scored, attempts: Sequence[Attempt], *, scaled: bool) -> Interval | None:
    if not found:
        return None
    played = sum(attempt.played for attempt in attempts)
    lines = [snippet.lines if scaled else 1 for snippet, _ in found.values()]
    # Of unequal weights as many as equal ones would be that are worth the same (Kish 1965)
    return of_share(
        _sums(found, scaled=scaled), tasks=sum(lines) ** 2 / sum(line**2 for line in lines), attempts=played
    )


def _groups(attempts: Iterable[Attempt], key: Callable[[Snippet], str]) -> dict[str, list[Attempt]]:
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(key(_snippet(attempt)), []).append(attempt)
    return found


def _band_name(ends: tuple[int, int | None]) -> str:
    low, high = ends
    return f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}"
