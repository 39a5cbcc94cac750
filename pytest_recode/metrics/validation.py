"""From the checks of `--recode-validate` to the findings of each task. Pure functions of the data that items attach to reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Check = Mapping[str, Any]
"""`ValidationData` of `plugin/reports/report_data.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFindings:
    """What the checks of one task found together.

    `checks`: those that were run, in their order in the task. `not_run`: names of the others. `never_failed`: the cases that failed for no
    mutant and no wrong answer; None if that is not known, because not all of these were graded. `detects`: whether any of them was.

    `mutants`: how many were detected, and of how many; `wrong`: the same of the wrong answers; `seeds`: under how many seeds the reference
    and all right and wrong answers got the verdict that they must get; `unquoted`: the sentences of the instruction that no wrong answer quotes. Each is None if a check that it needs has not ended, or if the
    task has none.
    """

    task: str
    checks: tuple[Check, ...]
    not_run: tuple[str, ...]
    never_failed: tuple[str, ...] | None
    detects: bool
    mutants: tuple[int, int] | None
    wrong: tuple[int, int] | None
    seeds: int | None
    unquoted: tuple[str, ...] | None


def by_task(checks: Sequence[Check]) -> list[TaskFindings]:
    """The findings of each task, sorted by its id."""
    groups: dict[str, list[Check]] = {}
    for check in checks:
        groups.setdefault(check["task"], []).append(check)
    return [_findings(task, groups[task]) for task in sorted(groups)]


def _findings(task: str, checks: Sequence[Check]) -> TaskFindings:
    names: list[str] = checks[0]["checks"]
    run = {check["check"]: check for check in checks}
    mutated = _ended(run, [name for name in names if name.startswith("mutants-")], "failed")
    wrong = _ended(run, [name for name in names if name == "wrong"], "failed")
    seeded = _ended(run, [name for name in names if name in ("reference", "right", "wrong")], "seeds")
    graded = [*(mutated or ()), *(wrong or ())]
    return TaskFindings(
        task=task,
        checks=tuple(run[name] for name in names if name in run),
        not_run=tuple(name for name in names if name not in run),
        never_failed=None if mutated is None or wrong is None else _never_failed(graded),
        detects=any(check.get("failed") is not None and check["answers"] for check in checks),
        mutants=(_sum(mutated, "noticed"), _sum(mutated, "tried")) if mutated else None,
        wrong=(_sum(wrong, "right"), _sum(wrong, "answers")) if wrong else None,
        seeds=min((check["seeds"] for check in seeded), default=None) if seeded and _right(seeded) else None,
        unquoted=next((tuple(check["unquoted"]) for check in checks if check.get("unquoted") is not None), None),
    )


def _ended(run: Mapping[str, Check], names: Sequence[str], key: str) -> list[Check] | None:
    """The checks of these names; None if one of them has no value of `key`, because it was not run or did not end."""
    found = [run[name] for name in names if name in run and run[name].get(key) is not None]
    return found if len(found) == len(names) else None


def _sum(checks: Sequence[Check], key: str) -> int:
    return sum(check[key] for check in checks)


def _right(checks: Sequence[Check]) -> bool:
    return not any(check["problem"] for check in checks)


def _never_failed(checks: Sequence[Check]) -> tuple[str, ...]:
    failed = {case for check in checks for case in check["failed"]}
    cases = dict.fromkeys(case for check in checks for case in check["cases"])
    return tuple(case for case in cases if case not in failed)
