"""Solved shares of single tasks with each feedback policy: whether feedback makes a difference on a task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_recode.metrics.attempt import Attempt, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskShares:
    """One task of the rows that differ only in their feedback policy. A policy without a played attempt has no share."""

    row: Row  # without its policy
    task: str
    solved: Mapping[str, float]  # policy -> solved attempts / played ones
    played: int  # attempts with all policies
    errors: int

    @property
    def flat(self) -> bool:
        """Whether several policies were played, and all have the same share."""
        return len(self.solved) > 1 and len(set(self.solved.values())) == 1


def by_task(rows: Mapping[Row, Sequence[Attempt]]) -> list[TaskShares]:
    """Each group of rows that differ only in their policy, in the order of the rows, and its tasks by name.

    Rows of several runs form a group, unless runs repeat a policy: then each run has groups of its own.
    """
    groups: dict[Row, list[Row]] = {}
    for row in rows:
        groups.setdefault(replace(row, feedback="", source="", differs=""), []).append(row)
    shares = []
    for key, group in groups.items():
        repeated = len({row.feedback for row in group}) < len(group)
        parts = [
            [row for row in group if row.source == source] for source in dict.fromkeys(row.source for row in group)
        ]
        for part in parts if repeated else [group]:
            whole = replace(
                key, source=_joined(row.source for row in part), differs=_joined(row.differs for row in part)
            )
            shares += _tasks(whole, [attempt for row in part for attempt in rows[row]])
    return shares


def policies(rows: Mapping[Row, Sequence[Attempt]]) -> list[str]:
    return list(dict.fromkeys(row.feedback for row in rows))


def _joined(texts: Iterable[str]) -> str:
    return " + ".join(dict.fromkeys(filter(None, texts)))


def _tasks(row: Row, attempts: Sequence[Attempt]) -> list[TaskShares]:
    tasks: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        tasks.setdefault(attempt.task, []).append(attempt)
    return [_shares(row, task, tasks[task]) for task in sorted(tasks)]


def _shares(row: Row, task: str, attempts: Sequence[Attempt]) -> TaskShares:
    by_policy: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        by_policy.setdefault(attempt.row.feedback, []).append(attempt)
    shares = {policy: _solved(group) for policy, group in by_policy.items()}
    played = sum(attempt.played for attempt in attempts)
    return TaskShares(
        row=row,
        task=task,
        solved={policy: share for policy, share in shares.items() if share is not None},
        played=played,
        errors=len(attempts) - played,
    )


def _solved(attempts: Sequence[Attempt]) -> float | None:
    played = [attempt for attempt in attempts if attempt.played]
    return sum(attempt.solved_within() for attempt in played) / len(played) if played else None
