"""ResearchCodeBench's metrics: Pass@1 and Scaled Pass@1 of any selection of snippets (arXiv 2506.02314)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_recode.metrics.attempt import Attempt, Row, Snippet
from pytest_recode.metrics.intervals import Interval, Sums, of_share
from pytest_recode.metrics.paired import PairedDifference, Unit, paired

FEW_PAPERS = 5
"""With fewer papers, snippets are treated as independent, because the spread between so few papers cannot be estimated."""

BANDS = ((1, 1), (2, 4), (5, 9), (10, 19), (20, None))
"""Ranges of code lines, both ends included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The numbers of one selection of snippets. Errors are in no share; `errors` counts them.

    A snippet's score is the share of its attempts that pass; with one attempt each, `solved` is a count of snippets.
    """

    snippets: int  # with at least one played attempt
    solved: float
    lines: int  # code lines of those snippets
    lines_solved: float
    errors: int  # number of attempts
    errors_only: int  # snippets whose attempts are all errors
    plain: float | None
    plain_interval: Interval | None
    scaled: float | None
    scaled_interval: Interval | None
    plain_at_least: float | None  # with errors counted as not passed
    scaled_at_least: float | None


def passed(attempts: Iterable[Attempt], *, within: int | None = 1) -> Passed:
    """Pass@1 = mean over snippets of the score; Scaled Pass@1 = sum of lines x score / sum of lines.

    `within=1` is only the first turn, before any feedback; None is the whole episode. The 95 % intervals of both numbers are by
    papers (with fewer than FEW_PAPERS papers, by snippets): `intervals.of_share`.
    """
    everything = tuple(attempts)
    scores = scored(everything, within)
    all_lines = {attempt.task: snippet_of(attempt).lines for attempt in everything}
    solved = sum((score for _, score in scores.values()), Fraction())
    lines_solved = sum((snippet.lines * score for snippet, score in scores.values()), Fraction())
    lines = sum(snippet.lines for snippet, _ in scores.values())
    return Passed(
        snippets=len(scores),
        solved=float(solved),
        lines=lines,
        lines_solved=float(lines_solved),
        errors=sum(not attempt.played for attempt in everything),
        errors_only=len(all_lines) - len(scores),
        plain=float(solved / len(scores)) if scores else None,
        plain_interval=_interval(scores, everything, scaled=False),
        scaled=float(lines_solved / lines) if lines else None,
        scaled_interval=_interval(scores, everything, scaled=True),
        plain_at_least=float(_with_errors(everything, within, plain=True) / len(all_lines)) if all_lines else None,
        scaled_at_least=float(_with_errors(everything, within, plain=False) / sum(all_lines.values()))
        if sum(all_lines.values())
        else None,
    )


def by_paper(attempts: Iterable[Attempt]) -> dict[str, Passed]:
    """The numbers of each paper, in the order of the attempts."""
    return {paper: passed(group) for paper, group in _groups(attempts, lambda snippet: snippet.paper).items()}


def by_length(attempts: Iterable[Attempt]) -> dict[str, Passed]:
    """The numbers of the snippets in each length range of BANDS that occurs."""
    groups = _groups(attempts, lambda snippet: band(snippet.lines))
    return {name: passed(groups[name]) for name in map(_band_name, BANDS) if name in groups}


def band(lines: int) -> str:
    return next(_band_name(one) for one in BANDS if lines >= one[0] and (one[1] is None or lines <= one[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hard:
    """The HARD snippets, and the models and threshold that define them."""

    tasks: frozenset[str]
    lines: int
    models: int  # number of models that vote
    threshold: float


THIRD = 1 / 3


def votes(published: Mapping[Row, Sequence[Attempt]]) -> dict[Row, Scored]:
    """The scores of each published model, for `hard`."""
    return {row: scored(attempts, 1) for row, attempts in published.items()}


def hard(voters: Mapping[Row, Scored], *, threshold: float = THIRD) -> Hard | None:
    """HARD: snippets that less than `threshold` of the published models pass, by their `votes`. None without published results.

    The benchmark's authors mention a HARD subset whose best model reaches 33 % and do not define it. A threshold of one third
    gives that number (docs/reference/metrics.md).
    """
    if not voters:
        return None
    scores: dict[str, list[Fraction]] = {}
    lines: dict[str, int] = {}
    for found in voters.values():
        for task, (snippet, score) in found.items():
            scores.setdefault(task, []).append(score)
            lines[task] = snippet.lines
    tasks = frozenset(task for task, given in scores.items() if float(sum(given) / len(given)) < threshold)
    return Hard(tasks=tasks, lines=sum(lines[task] for task in tasks), models=len(voters), threshold=threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """Results with and without the paper, over the snippets that were played both ways."""

    snippets: int
    unpaired: int  # snippets played only one way
    plain_with: float
    plain_without: float
    scaled_with: float
    scaled_without: float
    plain: PairedDifference  # Pass@1 with minus without; paired, by papers
    scaled: PairedDifference  # the same for Scaled Pass@1
    units: str  # units of the test
    only_with: tuple[str, ...]  # passed only with the paper, or more often
    only_without: tuple[str, ...]


def ablation(with_paper: Iterable[Attempt], without: Iterable[Attempt]) -> Ablation | None:
    """The effect of the paper in the prompt, paired by snippet. None if no snippet was played both ways."""
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
        plain=contrast(one, other, scaled=False),
        scaled=contrast(one, other, scaled=True),
        units=units(one[task][0] for task in both),
        only_with=tuple(task for task in both if one[task][1] > other[task][1]),
        only_without=tuple(task for task in both if one[task][1] < other[task][1]),
    )


Scored = Mapping[str, tuple[Snippet, Fraction]]
"""Task -> its snippet, and the share of its played attempts that pass."""


def contrast(first: Scored, second: Scored, *, scaled: bool) -> PairedDifference:
    """`first` minus `second` on the snippets that both have, by papers (with fewer than FEW_PAPERS papers, by snippets)."""
    whole, item = contrast_units(first, second, scaled=scaled)
    return paired(whole, item=item)


def contrast_units(first: Scored, second: Scored, *, scaled: bool) -> tuple[list[Unit], Fraction]:
    """The units of `contrast`, and the weight of the additional items of its interval: the mean weight of a snippet."""
    both = {task: first[task][0] for task in first if task in second}
    unit = unit_names(both)
    changes: dict[str, tuple[Fraction, int]] = {}
    for task, snippet in both.items():
        weight = snippet.lines if scaled else 1
        change, total = changes.get(unit[task], (Fraction(), 0))
        changes[unit[task]] = (change + weight * (first[task][1] - second[task][1]), total + weight)
    whole = [Unit(change=change, weight=weight) for change, weight in changes.values()]
    return whole, Fraction(sum(unit.weight for unit in whole), len(both))


def unit_names(snippets: Mapping[str, Snippet]) -> dict[str, str]:
    """Task -> the unit that `contrast` treats as independent: its paper, or itself."""
    by_papers = len({snippet.paper for snippet in snippets.values()}) >= FEW_PAPERS
    return {task: snippet.paper if by_papers else task for task, snippet in snippets.items()}


def units(snippets: Iterable[Snippet]) -> str:
    """The units that `contrast` treats as independent: "20 papers", "37 snippets"."""
    found = [snippet.paper for snippet in snippets]
    papers = len(set(found))
    return f"{papers} papers" if papers >= FEW_PAPERS else f"{len(found)} snippet{'' if len(found) == 1 else 's'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """Effect of the paper on one snippet: means over `pairs` of rows with equal other settings."""

    task: str
    lines: int
    pairs: int
    with_paper: float
    without: float


def impact(pairs: Iterable[tuple[Sequence[Attempt], Sequence[Attempt]]]) -> tuple[Impact, ...]:
    """The impact on each snippet that a pair of rows (with the paper, without) played both ways, largest gain first."""
    scores: dict[str, list[tuple[Snippet, Fraction, Fraction]]] = {}
    for with_paper, without in pairs:
        one, other = scored(with_paper, 1), scored(without, 1)
        for task in one.keys() & other.keys():
            scores.setdefault(task, []).append((one[task][0], one[task][1], other[task][1]))
    impacts = (
        Impact(
            task=task,
            lines=triples[0][0].lines,
            pairs=len(triples),
            with_paper=float(sum(score for _, score, _ in triples) / len(triples)),
            without=float(sum(score for _, _, score in triples) / len(triples)),
        )
        for task, triples in scores.items()
    )
    return tuple(sorted(impacts, key=lambda one: (one.without - one.with_paper, one.task)))


def snippet_of(attempt: Attempt) -> Snippet:
    """The snippet that an attempt was asked for. Raises `ValueError` if the task has no number of lines."""
    if attempt.snippet is None:
        raise ValueError(f"{attempt.task} has no number of lines")
    return attempt.snippet


def scored(attempts: Iterable[Attempt], within: int | None) -> dict[str, tuple[Snippet, Fraction]]:
    """The scores of played attempts, by task; `within` as in `passed`."""
    outcomes_of: dict[str, list[bool]] = {}
    snippets: dict[str, Snippet] = {}
    for attempt in attempts:
        if attempt.played:
            outcomes_of.setdefault(attempt.task, []).append(attempt.solved_within(within))
            snippets[attempt.task] = snippet_of(attempt)
    return {task: (snippets[task], Fraction(sum(outcomes), len(outcomes))) for task, outcomes in outcomes_of.items()}


def _with_errors(attempts: Iterable[Attempt], within: int | None, *, plain: bool) -> Fraction:
    outcomes_of: dict[str, list[bool]] = {}
    weights: dict[str, int] = {}
    for attempt in attempts:
        outcomes_of.setdefault(attempt.task, []).append(attempt.solved_within(within))
        weights[attempt.task] = 1 if plain else snippet_of(attempt).lines
    return sum((weights[task] * Fraction(sum(one), len(one)) for task, one in outcomes_of.items()), Fraction())


def _sums(scores: Scored, *, scaled: bool) -> list[Sums]:
    """Each cluster's contribution to numerator and denominator."""
    papers = len({snippet.paper for snippet, _ in scores.values()})
    sums: dict[str, Sums] = {}
    for task, (snippet, score) in scores.items():
        weight = snippet.lines if scaled else 1
        key = snippet.paper if papers >= FEW_PAPERS else task
        solved, total = sums.get(key, (0.0, 0.0))
        sums[key] = (solved + float(weight * score), total + weight)
    return list(sums.values())


def _interval(scores: Scored, attempts: Sequence[Attempt], *, scaled: bool) -> Interval | None:
    if not scores:
        return None
    played = sum(attempt.played for attempt in attempts)
    lines = [snippet.lines if scaled else 1 for snippet, _ in scores.values()]
    # The number of equal weights that is worth as much as these unequal ones (Kish 1965)
    return of_share(
        _sums(scores, scaled=scaled), tasks=sum(lines) ** 2 / sum(line**2 for line in lines), attempts=played
    )


def _groups(attempts: Iterable[Attempt], key: Callable[[Snippet], str]) -> dict[str, list[Attempt]]:
    groups: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        groups.setdefault(key(snippet_of(attempt)), []).append(attempt)
    return groups


def _band_name(ends: tuple[int, int | None]) -> str:
    low, high = ends
    return f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}"
