"""Gate: a run compared with a baseline, task by task, and whether that fails.

Tasks that changed, are new, are missing or have no verdict are listed, and excluded from all numbers. Called by `pytest-recode gate`, and by the
plugin at the end of a session with `--recode-baseline`, so that both give the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.baseline import AttemptOutcome, Outcomes, RowKey, RowOutcomes, TaskOutcomes, name
from pytest_recode.metrics.compare import Comparison, compare, tested
from pytest_recode.metrics.fail_on import Condition
from pytest_recode.metrics.gate_verdict import GateVerdict, sufficient, verdict
from pytest_recode.metrics.intervals import holm
from pytest_recode.records.task_set import task_set


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """A mean per episode before and now, over the compared tasks. None: the cost of an episode is unknown."""

    before: Fraction | None
    now: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGate:
    """A row of the run against the same row of the baseline, which is the second one of `compared`. That is None, and so are cost and turns, without a task to compare.

    `p`: adjusted for the number of rows. `enough`: the number of tasks that would suffice for another verdict than "too few tasks to
    tell"; None for other verdicts, and if it is above MOST_TASKS.
    """

    key: RowKey
    simulated: bool
    verdict: GateVerdict
    compared: Comparison | None
    p: float | None
    enough: int | None
    cost: Means | None
    turns: Means | None
    changed: tuple[str, ...]  # tasks with other files
    new: tuple[str, ...]  # tasks that the baseline lacks
    missing: tuple[str, ...]  # tasks that only the baseline has
    errors: tuple[str, ...]  # attempts of the run without a verdict
    errors_before: tuple[str, ...]  # tasks of which the baseline has no verdict
    reasons: Mapping[str, str]  # why, by the names in `lost` and `errors`: the first case that failed, or the error
    differs: tuple[str, ...]  # recorded values that differ, such as "version 0.1.0 / 0.2.0"

    @property
    def lost(self) -> tuple[str, ...]:
        """Tasks that the run solved less often than the baseline."""
        return self.compared.only_second if self.compared else ()

    @property
    def gained(self) -> tuple[str, ...]:
        return self.compared.only_first if self.compared else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The result. It fails if there are `failures`, each a sentence."""

    baseline: str
    conditions: tuple[Condition, ...]
    rows: tuple[RowGate, ...]
    new: tuple[RowKey, ...]  # rows that the baseline lacks
    missing: tuple[RowKey, ...]  # rows that only the baseline has
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.failures


def check_rows(keys: Collection[RowKey], baseline: Outcomes) -> None:
    """Raise `UserError` if the baseline has none of the rows `keys`."""
    known = [row.key for row in baseline.rows]
    if not set(keys) & set(known):
        has = "; ".join(map(name, known[:5])) or "none"
        raise UserError(
            f"{baseline.source}: has no row of this run ({'; '.join(map(name, sorted(keys)[:5])) or 'no episodes'}): its rows are"
            f" {has}; bless a run with these models and policies, or name another baseline"
        )


def check_settings(key: RowKey, settings: Sequence[tuple[str, str]], baseline: Outcomes) -> None:
    """Raise `UserError` if the row `key` of the baseline was played with other settings, so that a difference would mean nothing.

    Settings that only one of the two knows are of another version, and not compared.
    """
    now = dict(settings)
    for row in baseline.rows:
        if row.key == key and (
            other := [f"{fact} {was} / {now[fact]}" for fact, was in row.settings if fact in now and now[fact] != was]
        ):
            raise UserError(
                f"{baseline.source}: {name(key)} was played with other settings (baseline / now): {', '.join(other)}: give the"
                " baseline's settings, or bless a run with the new ones"
            )


def check_costs(keys: Collection[RowKey], conditions: Sequence[Condition], baseline: Outcomes) -> None:
    """Raise `UserError` if a condition needs costs that the baseline does not know."""
    if all(condition.kind != "cost" for condition in conditions):
        return
    for row in baseline.rows:
        played = [each for task in row.tasks.values() for each in task.attempts if each.outcome != "error"]
        if row.key in keys and any(each.cost_usd is None for each in played):
            raise UserError(
                f"{baseline.source}: has episodes of {name(row.key)} whose cost is unknown, so cost:+… cannot be decided: leave the"
                " condition out, or bless a run of models with known prices"
            )


def gate(
    run: Outcomes,
    baseline: Outcomes,
    conditions: Sequence[Condition],
    *,
    unplayed: int = 0,
    unmerged: Sequence[str] = (),
) -> Gate:
    """Compare `run` with `baseline`. Raises `UserError`.

    `unplayed`: episodes that should have ended and have no record. `unmerged`: shards that were missing when the run was merged;
    the run fails if it still lacks a task of the baseline.
    """
    keys = [row.key for row in run.rows]
    check_rows(keys, baseline)
    check_costs(keys, conditions, baseline)
    before = {row.key: row for row in baseline.rows}
    pairs = [(before[row.key], row) for row in run.rows if row.key in before]
    for _, row in pairs:
        check_settings(row.key, row.settings, baseline)
    compared = [_Pair(old, new) for old, new in pairs]
    tested_rows = [pair.compared.p for pair in compared if pair.compared]
    adjusted = iter(holm(tested_rows))
    rows = tuple(_row(pair, next(adjusted) if pair.compared else None, len(tested_rows)) for pair in compared)
    missing = tuple(key for key in before if key not in keys)
    without = (
        sum(attempt.outcome == "error" for row in run.rows for task in row.tasks.values() for attempt in task.attempts)
        + unplayed
    )
    return Gate(
        baseline=baseline.source,
        conditions=tuple(conditions),
        rows=rows,
        new=tuple(key for key in keys if key not in before),
        missing=missing,
        failures=(
            *(sentence for row in rows for condition in conditions if (sentence := _failure(row, condition))),
            *([f"{without} episode{'s have' if without > 1 else ' has'} no verdict"] if without else []),
            *(
                [f"tasks of the baseline are missing, and so was shard {', '.join(unmerged)} when the run was merged"]
                if unmerged and (missing or any(row.missing for row in rows))
                else []
            ),
        ),
    )


class _Pair:
    """The tasks of a row of the baseline and of the run, sorted by whether they can be compared."""

    def __init__(self, before: RowOutcomes, now: RowOutcomes) -> None:
        self.before, self.now = before, now
        self.old, self.fresh = before.tasks, now.tasks
        common = [task for task in self.old if task in self.fresh]
        self.changed = tuple(task for task in common if _other_files(self.old[task], self.fresh[task]))
        same = [task for task in common if task not in self.changed]
        self.tasks = [task for task in same if _played(self.old[task]) and _played(self.fresh[task])]
        self.errors_before = tuple(task for task in same if not _played(self.old[task]))
        self.first = [one for task in self.tasks for one in _attempts(now, task)]
        self.second = [one for task in self.tasks for one in _attempts(before, task)]
        self.compared = compare(self.first, self.second)

    def means(self, value: Callable[[AttemptOutcome], Fraction | None]) -> Means | None:
        """The mean over the compared tasks of the mean over their played attempts."""
        if not self.tasks:
            return None
        return Means(
            before=_mean([self.old[task] for task in self.tasks], value),
            now=_mean([self.fresh[task] for task in self.tasks], value),
        )

    def reason(self, task: str) -> str:
        """Why the run's first unsolved attempt at the task is unsolved."""
        return next((each.reason for each in _played(self.fresh[task]) if each.outcome == "unsolved"), "")


def _row(pair: _Pair, p: float | None, rows: int) -> RowGate:
    result, conclusion, enough = pair.compared, GateVerdict.FEW, None
    if result is not None and p is not None:
        conclusion = verdict(result.difference, result.interval, p)
        if conclusion is GateVerdict.FEW:
            test = tested(pair.first, pair.second, within=None)
            enough = sufficient(test.units, test.item, tasks=result.pairs, rows=rows)
    errors = {
        f"{task}, attempt {attempt.attempt}": attempt
        for task, outcomes in pair.fresh.items()
        for attempt in outcomes.attempts
        if attempt.outcome == "error"
    }
    was, is_now = (
        dict([*side.recorded, ("task set", task_set((task, each.digest) for task, each in side.tasks.items()))])
        for side in (pair.before, pair.now)
    )
    return RowGate(
        key=pair.now.key,
        simulated=pair.now.simulated,
        verdict=conclusion,
        compared=result,
        p=p,
        enough=enough,
        cost=pair.means(lambda one: None if one.cost_usd is None else Fraction(str(one.cost_usd))),
        turns=pair.means(lambda one: Fraction(one.turns)),
        changed=pair.changed,
        new=tuple(task for task in pair.fresh if task not in pair.old),
        missing=tuple(task for task in pair.old if task not in pair.fresh),
        errors=tuple(errors),
        errors_before=pair.errors_before,
        reasons={task: pair.reason(task) for task in (result.only_second if result else ())}
        | {name: attempt.reason for name, attempt in errors.items()},
        differs=tuple(
            f"{fact} {was[fact] or 'unknown'} / {is_now[fact] or 'unknown'}"
            for fact in was
            if fact in is_now and was[fact] != is_now[fact]
        ),
    )


def _failure(row: RowGate, condition: Condition) -> str:
    """Why the row fails under this condition, as a sentence; "" if it does not."""
    of = name(row.key)
    if condition.kind == "worse":
        return f"{of} is worse than the baseline" if row.verdict is GateVerdict.WORSE else ""
    if condition.kind == "any-lost-task":
        count = len(row.lost)
        return f"{of} lost {count} task{'s' * (count > 1)}" if count else ""
    means = row.cost if condition.kind == "cost" else row.turns
    if means is None:
        return ""
    if means.before is None or means.now is None:
        return f"{of}: {condition} cannot be decided, because the cost of an episode is unknown"
    allowed = means.before * (1 + condition.limit) if condition.kind == "cost" else means.before + condition.limit
    what = "costs more" if condition.kind == "cost" else "takes more turns"
    return f"{of} {what} than {condition} allows" if means.now > allowed else ""


def _other_files(old: TaskOutcomes, new: TaskOutcomes) -> bool:
    return bool(old.digest and new.digest and old.digest != new.digest)


def _played(task: TaskOutcomes) -> list[AttemptOutcome]:
    return [each for each in task.attempts if each.outcome != "error"]


def _attempts(row: RowOutcomes, task: str) -> list[Attempt]:
    key, outcomes = row.key, row.tasks[task]
    of = Row(source="", model=key.model, agent=key.agent, feedback=key.policy, paper=key.paper, format=key.format)
    return [
        Attempt(
            row=of,
            task=task,
            number=outcome.attempt,
            outcome=outcome.outcome,
            solved_turn=outcome.solved_turn,
            snippet=outcomes.snippet,
        )
        for outcome in _played(outcomes)
    ]


def _mean(tasks: Sequence[TaskOutcomes], value: Callable[[AttemptOutcome], Fraction | None]) -> Fraction | None:
    means = []
    for task in tasks:
        values = [value(each) for each in _played(task)]
        known = [one for one in values if one is not None]
        if len(known) < len(values):
            return None
        means.append(sum(known, Fraction()) / len(known))
    return sum(means, Fraction()) / len(means)
