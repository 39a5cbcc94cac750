"""Metrics of episodes with turns and feedback: those of RECODE-H (arXiv 2510.06186) and related ones.

"Played" attempts are solved or unsolved. Errors are in no share, and are counted separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_recode.metrics.attempt import Attempt, TurnScore
from pytest_recode.metrics.intervals import Interval, of_share, pass_all_k, pass_at_k
from pytest_recode.metrics.passing import FEW_PAPERS

LEVELS = ("none", "L0", "L1", "L2", "L3", "L4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Episodes:
    """The numbers of one Row. Shares are None if nothing was played.

    Tokens and dollars are sums over all episodes. They count a shared first turn for each episode that shares it; `paid_` counts
    it only for the episode that paid.
    """

    played: int
    solved: int
    errors: int
    tasks: int
    turns: int  # of the longest episode
    solved_within: tuple[int, ...]  # solved_within[n - 1]: number solved within n turns
    recall: tuple[float, ...]  # the same as shares of the played ones
    interval: Interval | None  # of the last recall
    mrr: float | None
    cases_best: float | None
    cases_last: float | None
    cases_by_turn: tuple[float, ...]
    mean_turns: float | None  # of solved episodes
    solved_at: tuple[int, ...]  # solved episodes by LEVELS
    tokens: int
    tokens_per_solved: float | None
    cost_usd: float | None  # None: a price is unknown
    cost_per_solved: float | None
    paid_tokens: int
    paid_usd: float | None
    tampering: int  # number of episodes
    flagged: tuple[str, ...]  # "task: finding" of each episode that is unsolved only because of findings
    isolation: tuple[str, ...]

    @property
    def share(self) -> float:
        """Solved share of the played episodes; 0 without any."""
        return self.solved / self.played if self.played else 0.0

    @property
    def mixed(self) -> bool:
        """Whether the row has verdicts of different kinds of isolation, which are not equal evidence."""
        return len(self.isolation) > 1

    def at_least(self, value: float | None) -> float | None:
        """Convert a mean over played episodes to one that counts errors as 0."""
        everything = self.played + self.errors
        return (value or 0.0) * self.played / everything if everything else None


def episodes(attempts: Sequence[Attempt]) -> Episodes:
    played = [attempt for attempt in attempts if attempt.played]
    solved = [attempt.solved_turn for attempt in played if attempt.solved_turn is not None]
    turns = max((len(attempt.turns) for attempt in played), default=0)
    tokens = sum(attempt.tokens or 0 for attempt in attempts)
    cost = _sum([attempt.cost_usd for attempt in attempts])
    shared = _sum([attempt.shared.cost_usd for attempt in attempts])
    within = tuple(sum(attempt.solved_within(turn) for attempt in played) for turn in range(1, turns + 1))
    return Episodes(
        played=len(played),
        solved=len(solved),
        errors=len(attempts) - len(played),
        tasks=len({attempt.task for attempt in attempts}),
        turns=turns,
        solved_within=within,
        recall=tuple(count / len(played) for count in within),
        interval=_interval(played),
        mrr=float(sum((Fraction(1, turn) for turn in solved), Fraction()) / len(played)) if played else None,
        cases_best=_mean([max(map(_cases, attempt.turns), default=0.0) for attempt in played]),
        cases_last=_mean([_cases(attempt.turns[-1]) if attempt.turns else 0.0 for attempt in played]),
        cases_by_turn=tuple(
            _mean(
                [_cases(attempt.turns[min(n, len(attempt.turns)) - 1]) if attempt.turns else 0.0 for attempt in played]
            )
            or 0.0
            for n in range(1, turns + 1)
        ),
        mean_turns=_mean(solved),
        solved_at=_solved_at(played),
        tokens=tokens,
        tokens_per_solved=tokens / len(solved) if solved else None,
        cost_usd=cost,
        cost_per_solved=cost / len(solved) if solved and cost is not None else None,
        paid_tokens=tokens - sum(attempt.shared.tokens for attempt in attempts),
        paid_usd=None if cost is None or shared is None else cost - shared,
        tampering=sum(bool(attempt.tampering) for attempt in attempts),
        flagged=tuple(f"{attempt.task}: {'; '.join(attempt.flagged)}" for attempt in attempts if attempt.flagged),
        isolation=tuple(sorted({attempt.isolation for attempt in attempts if attempt.isolation})),
    )


def recall(attempts: Sequence[Attempt], n: int) -> float:
    """Recall@n = played episodes solved within n turns / played episodes (RECODE-H)."""
    return _share([attempt for attempt in attempts if attempt.played], n)


def mrr(attempts: Sequence[Attempt]) -> float | None:
    """Mean over played episodes of 1 / solving turn, counted from 1, and 0 for unsolved episodes (RECODE-H)."""
    return episodes(attempts).mrr


def tries(
    attempts: Sequence[Attempt], *, within: int | None = None, errors_as_failed: bool = False
) -> tuple[tuple[int, int], ...]:
    """For each task, its number of played attempts, and of those that were solved within `within` turns (None: in any turn)."""
    outcomes: dict[str, list[bool]] = {}
    for attempt in attempts:
        if attempt.played or errors_as_failed:
            outcomes.setdefault(attempt.task, []).append(attempt.solved_within(within))
    return tuple((len(one), sum(one)) for one in outcomes.values())


def pass_at(tried: Sequence[tuple[int, int]], k: int) -> tuple[float, int] | None:
    """pass@k: mean over tasks of the unbiased estimate (`pass_at_k`), with the number of tasks that have k or more attempts in `tries`.

    None: no task has k attempts.
    """
    values = [pass_at_k(number, solved, k) for number, solved in tried if number >= k]
    return (sum(values) / len(values), len(values)) if values else None


def pass_all(tried: Sequence[tuple[int, int]], k: int) -> tuple[float, int] | None:
    """pass^k: mean over tasks of the unbiased estimate (`pass_all_k`), with the number of tasks that have k or more attempts in `tries`.

    None: no task has k attempts.
    """
    values = [pass_all_k(number, solved, k) for number, solved in tried if number >= k]
    return (sum(values) / len(values), len(values)) if values else None


def most_attempts(attempts: Sequence[Attempt]) -> int:
    """The largest number of played attempts at one task."""
    return max(Counter(attempt.task for attempt in attempts if attempt.played).values(), default=0)


def share_of(attempts: Sequence[Attempt], solved: Callable[[Attempt], bool]) -> tuple[float, Interval] | None:
    """The share of played attempts for which `solved` holds, with its interval; None if nothing was played."""
    played = [attempt for attempt in attempts if attempt.played]
    interval = _interval(played, solved)
    return None if interval is None else (sum(map(solved, played)) / len(played), interval)


def solved_level(attempt: Attempt) -> str | None:
    """The one of LEVELS with whose feedback the attempt was solved; None if it is unsolved or its turns are unknown."""
    if attempt.solved_turn is None or len(attempt.turns) < attempt.solved_turn:
        return None
    return attempt.turns[attempt.solved_turn - 1].level or LEVELS[0]


def _interval(played: Sequence[Attempt], solved: Callable[[Attempt], bool] = Attempt.solved_within) -> Interval | None:
    """The interval of the solved share, by tasks; by papers if the tasks are snippets of enough papers."""
    if not played:
        return None
    papers = {attempt.snippet.paper for attempt in played if attempt.snippet}
    by_papers = len(papers) >= FEW_PAPERS and all(attempt.snippet for attempt in played)
    sums: dict[str, tuple[int, int]] = {}
    for attempt in played:
        cluster = attempt.snippet.paper if by_papers and attempt.snippet else attempt.task
        known, total = sums.get(cluster, (0, 0))
        sums[cluster] = (known + solved(attempt), total + 1)
    return of_share(sums.values(), tasks=len({attempt.task for attempt in played}), attempts=len(played))


def _solved_at(played: Sequence[Attempt]) -> tuple[int, ...]:
    counts = Counter(map(solved_level, played))
    return tuple(counts[level] for level in LEVELS)


def _cases(turn: TurnScore) -> float:
    return turn.passed / turn.total if turn.total else 0.0


def _share(played: Sequence[Attempt], turn: int) -> float:
    return sum(attempt.solved_within(turn) for attempt in played) / len(played) if played else 0.0


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
